package import Foundation
package import Logging
internal import SystemPackage
internal import TreeWatching
package import UbiquityContainers

/// Carries the files of one account between this device and a store.
///
/// It looks, plans and acts; whatever it is about to do is in the index first. A crash between any two lines is therefore
/// followed by the same plan: an upload is done again with the same bytes, a draft is published under the same name, and a
/// file that has arrived under its final name is found there.
package actor TransferRunner {
    /// What a pass looks at on this device.
    package enum Look: Hashable, Sendable {
        /// All files.
        case everything
        /// Some files and documents.
        case paths(Set<TransferPath>, documents: Set<DocumentPath> = [])
    }

    /// What a pass has led to.
    package struct Outcome: Hashable, Sendable {
        /// Whether anything was sent, fetched, published or removed.
        package var isBusy = false
        /// Whether more can be done at once: a pass sends and fetches only so much, so that changes here do not wait for long.
        package var hasMore = false
        /// Why some or all of it stands still.
        package var block: TransferBlock?
        /// Why the remote cannot be reached, in words; nil if it can.
        package var failure: String?

        package init() {}
    }

    /// Why a file does not get on.
    package struct Fault: Hashable, Sendable {
        package var reason: String
        package var attempts: Int
        /// Whether it is of reading the document here.
        var isOfReading = false
    }

    /// What a runner acts on, and where chance and time come from.
    struct Edges {
        var store: any ObjectStore
        var disk: any TransferDisk
        var documents: DocumentDisk?
        var memory: any TransferMemory
        var log: Logger?
        var now: @Sendable () -> Date
        var newIdentifier: @Sendable () -> UUID
    }

    package nonisolated let account: AccountName
    package nonisolated let board: TransferBoard
    let edges: Edges
    let options: TransferOptions
    package internal(set) var book: TransferBook
    var situation: TransferSituation
    /// The files that do not get on, with their reasons.
    package internal(set) var faults: [String: Fault] = [:]
    /// The containers in which a person decides on removals, with the number of files.
    package private(set) var guarded: [String: Int] = [:]
    /// The bulletins that cannot be read, with the reasons.
    package internal(set) var quarantine: [BulletinName: Bulletin.Fault] = [:]
    /// What the remote held before this device had published anything.
    enum FoundObjects {
        case notNeeded
        case needed
        case listed(Set<String>)
    }

    var foundObjects: FoundObjects
    /// Whether another look at this device decides what missing files mean.
    package private(set) var awaitsLook = false
    /// The files that have failed in this pass.
    var failed: Set<String> = []
    /// The number of passes, and the bulletins that were of no use, with the number of passes in which they were.
    var suspicion = (passes: 0, bulletins: [BulletinName: Int]())
    /// The generation of the book for which there was nothing to do.
    var idleGeneration = -1
    /// What is being done with documents.
    var desk = DocumentDesk()

    /// Creates a runner, with what the index has kept.
    ///
    /// - Throws: the errors of the memory.
    package init(
        account: AccountName, store: any ObjectStore, disk: any TransferDisk, documents: DocumentDisk? = nil, memory: any TransferMemory,
        situation: TransferSituation,
        options: TransferOptions = TransferOptions(), board: TransferBoard = TransferBoard(), log: Logger? = .ubiquity,
        now: @escaping @Sendable () -> Date = { Date() }, newIdentifier: @escaping @Sendable () -> UUID = { UUID() }
    ) throws {
        edges = Edges(
            store: MeteredObjectStore(store), disk: disk, documents: documents, memory: memory, log: log, now: now, newIdentifier: newIdentifier)
        (self.account, self.situation, self.options, self.board) = (account, situation, options, board)
        if let kept = try memory.load(account) {
            book = kept
        } else {
            book = TransferBook(account: account, device: TransferDevice(newIdentifier()))
        }
        foundObjects = book.number == 0 ? .needed : .notNeeded
    }

    var store: any ObjectStore { edges.store }
    var disk: any TransferDisk { edges.disk }
    /// The documents here; nil if only the files of stores are carried.
    var documents: DocumentDisk? { edges.documents }
    var log: Logger? { edges.log }

    /// The time.
    func now() -> Date { edges.now() }

    func newIdentifier() -> UUID { edges.newIdentifier() }

    /// Sets the facts about the device.
    package func set(_ situation: TransferSituation) {
        guard self.situation != situation else { return }
        self.situation = situation
        idleGeneration = -1
    }

    // MARK: A pass

    /// Looks at the remote and at this device, and does whatever can be done now.
    ///
    /// - Parameter look: what to look at here.
    /// - Returns: the outcome. Faults of single files are in ``faults``.
    /// - Throws: `CancellationError`; the errors of the memory, after which nothing can go on.
    @discardableResult
    package func pass(_ look: Look) async throws -> Outcome {
        var outcome = Outcome()
        failed = []
        suspicion.passes += 1
        do {
            // An empty mount point has no staging directory.
            let hasFiles = book.files.values.contains(where: \.isHere) || book.documents.records.values.contains(where: \.isHere)
            let isMounted = await disk.hasStaging() || !hasFiles
            guard await disk.isThere(), isMounted else {
                outcome.block = .rootGone
                return outcome
            }
            // It is made before any file is known, so that from then on its absence means an empty mount point.
            if !hasFiles { _ = try await disk.stage() }
            // What waits here is known also where the remote does not answer.
            try await scan(look)
            guard try await readNews(&outcome) else { return outcome }
            try await matchPlaceholders()
            try await act(&outcome)
            awaitsLook = book.awaitsLook(peers: situation.peers) || book.documents.awaitsLook || desk.awaitsCopies
        } catch let error as ObjectStoreError {
            try keep()
            note(error, &outcome)
        } catch let error as Errno {
            try keep()
            // The files here cannot be read or written.
            outcome.block = error == .noSpace || error == .diskQuotaExceeded ? .diskFull(free: await disk.free() ?? 0) : nil
            outcome.failure = "the containers root: \(error)"
        }
        return outcome
    }

    func note(_ error: ObjectStoreError, _ outcome: inout Outcome) {
        log?.info(
            "\(account): \(error.kind): \(error.reason)",
            metadata: .facts([
                .event: "transferFailed", .account: account.description, .reason: error.kind.rawValue, .error: error.reason,
            ]))
        switch error.kind {
        case .authorization: outcome.block = .authorization(error.reason)
        case .quota: outcome.block = .quota(error.reason)
        case .wrongPassword: outcome.block = .wrongPassword
        case .unusable: outcome.block = .unusable(error.reason)
        case .diskFull: outcome.block = .diskFull(free: 0)
        case .unreachable, .timedOut, .notFound, .other: outcome.failure = error.reason
        }
    }

    /// Writes what has changed to the index.
    func keep() throws {
        guard let changes = book.takeChanges() else { return }
        do {
            try edges.memory.save(changes)
        } catch {
            book.putBack(changes)
            throw error
        }
    }

    // MARK: This device

    /// Notes which files are here, and hashes the new ones.
    private func scan(_ look: Look) async throws {
        var present: [TransferPath: Int64] = [:]
        var gone: [TransferPath] = []
        switch look {
        case .everything:
            present = try await disk.scan()
            gone = book.files.compactMap { $0.value.isHere && present[$0.key] == nil ? $0.key : nil }
        case .paths(let paths, _):
            for path in paths.sorted() {
                if let size = try await disk.size(of: path) { present[path] = size } else { gone.append(path) }
            }
        }
        // A root that went away meanwhile is no reason to say that files are gone.
        guard await disk.isThere() else { throw ObjectStoreError(.unreachable, "The containers root went away.") }
        book.missed(gone, peers: situation.peers, isWhole: look == .everything)
        let new = present.filter { path, size in
            guard let record = book.files[path], record.isHere else { return true }
            return record.local?.size != size
        }
        try await hash(new.keys.sorted())
        try await scanDocuments(look)
        try keep()
    }

    /// Notes the bytes of files that are new here, a few at a time.
    private func hash(_ paths: [TransferPath]) async throws {
        try await withThrowingTaskGroup(of: (TransferPath, FileDigest?).self) { [disk] group in
            var rest = paths[...]
            func begin() {
                guard let path = rest.popFirst() else { return }
                group.addTask { (path, try await disk.version(of: path)) }
            }
            for _ in 0..<options.width { begin() }
            while let (path, version) = try await group.next() {
                if let version { book.found(path, version) }
                try Task.checkCancellation()
                begin()
            }
        }
    }

    // MARK: What is to be done

    private func act(_ outcome: inout Outcome) async throws {
        if book.generation != idleGeneration || book.draft != nil || book.lacksBulletin {
            let generation = book.generation
            desk.hasMovedPart = false
            let plan = book.plan(situation)
            guarded = plan.guarded
            for path in plan.collisions { setFault(path, "other devices vouch for other bytes under its name; nothing is changed") }
            for path in plan.withdrawals { book.withdraws(path) }
            try keep()
            let work = documentWork()
            guarded.merge(work.guarded) { $0 + $1 }
            try await removeDocuments(work)
            for path in plan.removals {
                try await disk.remove(path)
                TransferStep.removed.pass()
                book.removed(path)
                try keep()
            }
            let quota = try await sendAndPublish(plan, work)
            var isFull = try await download(Array(untroubled(first: plan.fetches).prefix(options.filesInOneBulletin)))
            if try await fetchDocuments() { isFull = true }
            // What fails again and again changes nothing.
            outcome.isBusy = outcome.isBusy || book.generation != generation
            if isFull { outcome.block = .diskFull(free: await disk.free() ?? 0) }
            if let quota { outcome.block = .quota(quota.reason) }
            let rest = book.plan(situation)
            let isDone =
                rest.withdrawals.isEmpty && rest.removals.isEmpty && book.untold == 0
                && (rest.uploads + rest.fetches).allSatisfy { failed.contains($0.path.description) } && documentWork().isDone(but: failed)
            outcome.isBusy = outcome.isBusy || desk.hasMovedPart
            outcome.hasMore = outcome.block == nil && !isDone && (book.generation != generation || desk.hasMovedPart)
            // What has a fault is tried again in the next pass.
            idleGeneration = isDone && failed.isEmpty && outcome.block == nil ? book.generation : -1
        }
        try await deleteDoomed()
        try await deletePieces()
    }

    /// Sends as many files as a bulletin names, and the bulletin; returns the fault of a store without room for more.
    private func sendAndPublish(_ plan: TransferPlan, _ work: DocumentWork) async throws -> ObjectStoreError? {
        var quota: ObjectStoreError?
        do {
            try await upload(batch(untroubled(first: plan.uploads)))
            try await sendDocuments(work)
        } catch let error as ObjectStoreError where error.kind == .quota {
            quota = error
        }
        do {
            try await publish()
        } catch let error as ObjectStoreError where error.kind == .quota {
            quota = error
        }
        return quota
    }

    func setFault(_ path: some CustomStringConvertible, _ reason: String) {
        let key = path.description
        let attempts = (faults[key]?.attempts ?? 0) + 1
        if faults[key]?.reason != reason {
            log?.warning(
                "\(key): \(reason)",
                metadata: .facts([.event: "transferFault", .account: account.description, .path: key, .error: reason]))
        }
        faults[key] = Fault(reason: reason, attempts: attempts)
        failed.insert(key)
    }

    /// Puts the files that have failed before behind the others, so that they hold nothing up.
    private func untroubled(first moves: [TransferPlan.Move]) -> [TransferPlan.Move] {
        guard !faults.isEmpty else { return moves }
        return moves.filter { faults[$0.path.description] == nil } + moves.filter { faults[$0.path.description] != nil }
    }

    /// The first uploads, as many as a bulletin names.
    private func batch(_ uploads: [TransferPlan.Move]) -> [TransferPlan.Move] {
        var size: Int64 = 0
        var batch: [TransferPlan.Move] = []
        for move in uploads.prefix(options.filesInOneBulletin) {
            if !batch.isEmpty, size + move.version.size > options.bytesInOneBulletin { break }
            size += move.version.size
            batch.append(move)
        }
        return batch
    }
}

extension TransferRunner {
    /// What a status says of the runner.
    package struct Facts: Sendable {
        package var device: String
        package var bulletin: Int64
        package var others: [String]
        package var toSend: (files: Int, bytes: Int64)
        package var toFetch: (files: Int, bytes: Int64)
        package var inCloud: Int
        /// The documents that the cloud has and this device has not.
        package var elsewhere: Int
        package var faults: [String: Fault]
        package var quarantine: [String: String]
        package var guarded: [String: Int]
    }

    package var facts: Facts {
        let plan = book.plan(situation)
        func sum(_ moves: [TransferPlan.Move]) -> (Int, Int64) { (moves.count, moves.reduce(0) { $0 + $1.version.size }) }
        let work = documentWork()
        func total(_ moves: [(path: DocumentPath, version: DocumentVersion)]) -> (Int, Int64) {
            (moves.count, moves.reduce(0) { $0 + ($1.version.content?.size ?? 0) })
        }
        func both(_ first: (Int, Int64), _ second: (Int, Int64)) -> (Int, Int64) { (first.0 + second.0, first.1 + second.1) }
        let records = book.documents.records.values
        return Facts(
            device: book.device.description, bulletin: book.number,
            others: book.seen.keys.filter { $0 != book.device }.map(\.description).sorted(),
            toSend: both(sum(plan.uploads), total(work.sends)), toFetch: both(sum(plan.fetches), total(work.fetches + work.copies)),
            inCloud: book.files.values.count { $0.isHere && !$0.vouches.isEmpty } + records.count(where: \.isCurrent),
            elsewhere: records.count { !$0.isItemHere && $0.shown != nil },
            faults: faults.merging(desk.refused.mapValues { Fault(reason: $0, attempts: 1) }) { first, _ in first },
            quarantine: Dictionary(uniqueKeysWithValues: quarantine.map { ($0.description, $1.description) }), guarded: guarded)
    }

    /// Returns the files below a directory that the cloud has and this device has not.
    ///
    /// - Parameter directory: a path below the account's containers, without a slash at its end; empty for all.
    /// - Returns: the states of the files, by their paths.
    package func elsewhere(below directory: String) -> [String: ItemState] {
        let prefix = directory.isEmpty ? "" : directory + "/"
        var states: [String: ItemState] = [:]
        for (path, record) in book.files where !record.isHere && !record.vouches.isEmpty && !book.isGone(path) && !book.isEnded(path) {
            if path.description.hasPrefix(prefix) { states[path.description] = state(of: path) }
        }
        return states
    }
}
