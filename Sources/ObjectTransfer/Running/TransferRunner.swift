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
        /// Some files.
        case paths(Set<TransferPath>)
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
    }

    /// What a runner acts on, and where chance and time come from.
    private struct Edges {
        var store: any ObjectStore
        var disk: any TransferDisk
        var memory: any TransferMemory
        var log: Logger?
        var now: @Sendable () -> Date
        var newIdentifier: @Sendable () -> UUID
    }

    package nonisolated let account: AccountName
    package nonisolated let board: TransferBoard
    private let edges: Edges
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
    private var failed: Set<TransferPath> = []
    private var passes = 0
    /// Bulletins that were of no use, with the number of passes in which they were.
    private var suspects: [BulletinName: Int] = [:]
    /// The generation of the book for which there was nothing to do.
    var idleGeneration = -1

    /// Creates a runner, with what the index has kept.
    ///
    /// - Throws: the errors of the memory.
    package init(
        account: AccountName, store: any ObjectStore, disk: any TransferDisk, memory: any TransferMemory, situation: TransferSituation,
        options: TransferOptions = TransferOptions(), board: TransferBoard = TransferBoard(), log: Logger? = .ubiquity,
        now: @escaping @Sendable () -> Date = { Date() }, newIdentifier: @escaping @Sendable () -> UUID = { UUID() }
    ) throws {
        edges = Edges(store: store, disk: disk, memory: memory, log: log, now: now, newIdentifier: newIdentifier)
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
    private var log: Logger? { edges.log }

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
        passes += 1
        do {
            // An empty mount point has no staging directory.
            let hasFiles = book.files.values.contains(where: \.isHere)
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
            try await act(&outcome)
            awaitsLook = book.awaitsLook(peers: situation.peers)
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

    private func note(_ error: ObjectStoreError, _ outcome: inout Outcome) {
        log?.info("\(account): \(error.kind): \(error.reason)")
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
        guard let (files, state) = book.takeChanges() else { return }
        do {
            try edges.memory.save(files, state)
        } catch {
            book.putBack(files.keys, hasState: state != nil)
            throw error
        }
    }

    // MARK: News

    /// Reads the bulletins that are new; returns false if the remote is not the known one, or cannot be used.
    private func readNews(_ outcome: inout Outcome) async throws -> Bool {
        let names = Set(try await store.list(RemoteLayout.news).compactMap { BulletinName($0.path) })
        guard try await connect(names, &outcome) else { return false }
        if book.isCloned(names) {
            let former = book.device
            book.rename(TransferDevice(newIdentifier()))
            try keep()
            log?.warning("\(account): another home publishes as \(former); this one is \(book.device) from now on")
        }
        book.noteOwn(names)
        for name in names.filter(book.isNews).sorted(by: { ($0.number, $0) < ($1.number, $1) }) where isDue(name) {
            guard book.isNews(name) else { continue }
            // It is sent again: a listing does not say whether all of it is there.
            if name == book.draft?.name { continue }
            do {
                let bytes = try await fetch(RemoteLayout.path(of: name), limit: Bulletin.limit)
                TransferStep.bulletinFetched.pass()
                let bulletin = try Bulletin(decoding: bytes, named: name, of: account)
                // A listing may be early with one and late with the one before it.
                guard book.follows(bulletin) else { continue }
                book.take(bulletin, name)
                (suspects[name], quarantine[name]) = (nil, nil)
                try keep()
                TransferStep.bulletinTaken.pass()
                outcome.isBusy = true
            } catch let fault as Bulletin.Fault {
                if case .newerFormat = fault {
                    outcome.block = .newerFormat("the bulletin \(name): \(fault)")
                    return false
                }
                suspect(name, fault)
            } catch let error as ObjectStoreError where error.kind == .other {
                suspect(name, .malformed(error.reason))
            } catch let error as ObjectStoreError where error.kind == .notFound {
                // An inventory has replaced it meanwhile, or the listing was early.
                continue
            }
        }
        return true
    }

    private func suspect(_ name: BulletinName, _ fault: Bulletin.Fault) {
        suspects[name, default: 0] += 1
        if quarantine[name] == nil { log?.warning("\(account): the bulletin \(name) is of no use: \(fault)") }
        // A store can show a file before all of it is there.
        if fault != .incomplete || suspects[name]! >= 3 { quarantine[name] = fault }
    }

    /// Whether a bulletin is read in this pass: one that was incomplete again and again is, in each eighth.
    private func isDue(_ name: BulletinName) -> Bool {
        guard let fault = quarantine[name] else { return true }
        return fault == .incomplete && passes % 8 == 0
    }

    /// Makes sure that the remote is the known one; begins it if it is new.
    private func connect(_ names: Set<BulletinName>, _ outcome: inout Outcome) async throws -> Bool {
        // An unchanged remote is recognised by its newest bulletin, without a request.
        if book.canary != nil, book.number > 0, book.recognises(names, book.canary) { return true }
        var found = try await readCanary()
        if case .newerFormat(let fault) = found {
            outcome.block = .newerFormat(fault)
            return false
        }
        if case .none = found, book.recognises(names, nil) {
            try await send(Canary(identifier: book.canary ?? newIdentifier()).encoded, to: RemoteLayout.canary)
            found = try await readCanary()
        }
        // Where another home has published an inventory under this device's identifier, its newest bulletin is gone.
        guard case .found(let canary) = found,
            book.recognises(names, canary.identifier) || canary.identifier == book.canary && book.isCloned(names)
        else {
            outcome.block = .remoteReplaced
            return false
        }
        book.connected(canary.identifier)
        if case .needed = foundObjects { foundObjects = .listed(Set(try await store.list(RemoteLayout.files).map(\.path))) }
        try keep()
        TransferStep.connected.pass()
        return true
    }

    private enum FoundCanary {
        case none
        case found(Canary)
        case newerFormat(String)
    }

    private func readCanary() async throws -> FoundCanary {
        do {
            return .found(try Canary(decoding: try await fetch(RemoteLayout.canary, limit: Canary.limit)))
        } catch let error as ObjectStoreError where error.kind == .notFound {
            return .none
        } catch .newerFormat(let format) as Bulletin.Fault {
            return .newerFormat("\(RemoteLayout.canary) has format \(format), which a newer version of this package reads; update it")
        } catch is Bulletin.Fault {
            return .none
        }
    }

    func fetch(_ path: String, limit: Int) async throws -> [UInt8] {
        let staged = try await disk.stage()
        do {
            let size = try await store.stat(path)?.size
            if let size, size > Int64(limit) {
                throw ObjectStoreError(.other, "\(path) has \(size) bytes, more than the \(limit) that it may have.")
            }
            try await store.get(path, size: size, to: staged) { _ in }
            let bytes = try await disk.read(staged: staged, limit: limit)
            await disk.discard(staged)
            return bytes
        } catch Errno.fileTooLarge {
            await disk.discard(staged)
            throw ObjectStoreError(.other, "\(path) has more bytes than the \(limit) that it may have.")
        } catch {
            await disk.discard(staged)
            throw error
        }
    }

    func send(_ bytes: [UInt8], to path: String) async throws {
        let staged = try await disk.stage()
        do {
            try await disk.write(bytes, staged: staged)
            try await store.put(staged, at: path) { _ in }
            await disk.discard(staged)
        } catch {
            await disk.discard(staged)
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
        case .paths(let paths):
            for path in paths.sorted() {
                if let size = try await disk.size(of: path) { present[path] = size } else { gone.append(path) }
            }
        }
        // A root that went away meanwhile is no reason to say that files are gone.
        guard await disk.isThere() else { throw ObjectStoreError(.unreachable, "The containers root went away.") }
        book.missed(gone, peers: situation.peers, isWhole: look == .everything)
        for (path, size) in present.sorted(by: { $0.key < $1.key }) {
            try Task.checkCancellation()
            if let record = book.files[path], record.isHere, record.local?.size == size { continue }
            guard let version = try await disk.version(of: path) else { continue }
            book.found(path, version)
        }
        try keep()
    }

    // MARK: What is to be done

    private func act(_ outcome: inout Outcome) async throws {
        if book.generation != idleGeneration || book.draft != nil || book.lacksBulletin {
            let generation = book.generation
            let plan = book.plan(situation)
            guarded = plan.guarded
            for path in plan.collisions { setFault(path, "other devices vouch for other bytes under its name; nothing is changed") }
            for path in plan.withdrawals { book.withdraws(path) }
            try keep()
            for path in plan.removals {
                try await disk.remove(path)
                TransferStep.removed.pass()
                book.removed(path)
                try keep()
            }
            let quota = try await sendAndPublish(plan)
            let isFull = try await download(Array(untroubled(first: plan.fetches).prefix(options.filesInOneBulletin)))
            // What fails again and again changes nothing.
            outcome.isBusy = outcome.isBusy || book.generation != generation
            if isFull { outcome.block = .diskFull(free: await disk.free() ?? 0) }
            if let quota { outcome.block = .quota(quota.reason) }
            let rest = book.plan(situation)
            let isDone =
                rest.withdrawals.isEmpty && rest.removals.isEmpty && book.untold == 0
                && (rest.uploads + rest.fetches).allSatisfy { failed.contains($0.path) }
            outcome.hasMore = outcome.block == nil && !isDone && book.generation != generation
            // What has a fault is tried again in the next pass.
            idleGeneration = isDone && failed.isEmpty && outcome.block == nil ? book.generation : -1
        }
        try await deleteDoomed()
    }

    /// Sends as many files as a bulletin names, and the bulletin; returns the fault of a store without room for more.
    private func sendAndPublish(_ plan: TransferPlan) async throws -> ObjectStoreError? {
        var quota: ObjectStoreError?
        do {
            try await upload(batch(untroubled(first: plan.uploads)))
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

    func setFault(_ path: TransferPath, _ reason: String) {
        let attempts = (faults[path.description]?.attempts ?? 0) + 1
        if faults[path.description]?.reason != reason { log?.warning("\(path): \(reason)") }
        faults[path.description] = Fault(reason: reason, attempts: attempts)
        failed.insert(path)
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
        package var faults: [String: Fault]
        package var quarantine: [String: String]
        package var guarded: [String: Int]
    }

    package var facts: Facts {
        let plan = book.plan(situation)
        func sum(_ moves: [TransferPlan.Move]) -> (Int, Int64) { (moves.count, moves.reduce(0) { $0 + $1.version.size }) }
        return Facts(
            device: book.device.description, bulletin: book.number,
            others: book.seen.keys.filter { $0 != book.device }.map(\.description).sorted(), toSend: sum(plan.uploads), toFetch: sum(plan.fetches),
            inCloud: book.files.values.count { $0.isHere && !$0.vouches.isEmpty },
            faults: faults,
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
