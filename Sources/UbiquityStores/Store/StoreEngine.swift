internal import Foundation
internal import GRDB
internal import Synchronization
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Moves logs between a store and its container: publishes what is sealed, joins what is ready.
///
/// Its state is only what can be found again: the store file and the container hold the truth.
actor StoreEngine {
    private let file: StoreFile
    private let container: UbiquityContainer
    private let layout: ContentLayout
    private let contentName: String
    private let sealer: Sealer
    private let notices: StoreNotices.Hub
    private let files: any FileLayer
    private let conflictRetention: ConflictRetention
    private let now: @Sendable () -> Date
    private let executor = QueueExecutor(label: "Ubiquity store engine")

    private var peer: PeerIdentifier
    private var epoch: Int64 = 1
    private var suspended: ContainerAttachment.Reason?
    private var inventory: ContentInventory?
    private var waiting: [WaitingPeer] = []
    private var lastReceipt: Knowledge?
    private var failure: String?
    private var watchFault: String?
    /// The writer's `PRAGMA data_version` when last looked at: another value means that another process has committed.
    private var dataVersion: Int64?
    private let isStopping = Mutex(false)

    /// How long an exchange waits for one of another process, which lasts as long as an import.
    private static let patience = Duration.seconds(60)

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(
        file: StoreFile, container: UbiquityContainer, contentName: String, sealer: Sealer, notices: StoreNotices.Hub, state: StoreState,
        conflictRetention: ConflictRetention, now: @escaping @Sendable () -> Date
    ) {
        self.file = file
        self.container = container
        self.contentName = contentName
        self.sealer = sealer
        self.notices = notices
        self.conflictRetention = conflictRetention
        self.now = now
        files = container.files
        layout = ContentLayout(container: container.path, contentName: contentName)
        peer = state.peer
        epoch = state.epoch
    }

    /// Finds or makes this peer's place in the content, before anything else.
    ///
    /// A store that had its place and does not find it is suspended; nothing is made then. Where another process exchanges for this store
    /// there is nothing to do.
    func start() throws {
        try leased(waiting: false) { state in
            publisher.removeDrafts(of: state.peer, epoch: state.epoch)
        }
    }

    /// Makes waits for other processes end at once, for the store closes.
    nonisolated func stopWaiting() { isStopping.withLock { $0 = true } }

    /// Takes in what the watcher saw below the container.
    func note(_ batch: TreeChangeBatch) {
        guard inventory != nil else { return }
        for change in batch {
            switch change.kind {
            case _ where change.path.starts(with: layout.logs(of: peer, epoch: epoch)):
                // Our own; but a log that we did not write is looked into.
                if change.kind == .created || change.kind == .moved, layout.log(at: change.path) != nil { inventory = nil }
            case .created, .modified, .moved:
                if change.kind == .moved, let from = change.from, let log = layout.log(at: from) { inventory!.remove(log.name, of: log.peer) }
                if change.isDirectory {
                    // A directory moved in, or a peer's first: what lies in it is told too, but a rename of a whole tree is one change.
                    if change.kind == .moved { inventory = nil }
                } else if let log = layout.log(at: change.path), log.epoch == epoch, log.peer != peer {
                    inventory!.insert(log.name, of: log.peer)
                }
            case .removed:
                if let log = layout.log(at: change.path) { inventory!.remove(log.name, of: log.peer) }
            case .ready, .overflow, .rescanned, .rootLost, .rootBack: inventory = nil
            case .attributes: break
            }
            if inventory == nil { return }
        }
    }

    /// Publishes, imports, and tells what has been read: once, as far as it goes now.
    func exchange() throws {
        try leased { _ in
            try publish()
            try recheck()
            try importAll()
            try publishReceipt()
        }
    }

    /// Says why changes are not noticed by themselves, nil where they are.
    func setWatchFault(_ fault: String?) { watchFault = fault }

    /// Exchanges without anybody who waits: a failure stands in the status, and the next reason to exchange tries again.
    ///
    /// - Returns: whether it went well.
    func exchangeInBackground() -> Bool {
        do {
            try exchange()
            failure = nil
        } catch {
            failure = String(describing: error)
        }
        return failure == nil
    }

    /// The same with everything listed anew, until nothing is left to do.
    func settle() throws {
        inventory = nil
        try exchange()
        if let suspended {
            throw UbiquitousStoreError(
                .suspended, "\(container.path): \(ContainerAttachment.detached(suspended)). The store keeps everything and goes on when it is back.",
                path: container.path)
        }
    }

    /// Publishes what is sealed or noted, and imports nothing.
    func publishOnly() throws {
        try leased { _ in try publish() }
    }

    func status() throws -> StoreStatus {
        try file.pool.read { db in
            let state = try StoreState.read(db)
            var knowledge = try StoreKnowledge.others(db)
            let unpublished = try Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_outbox")!
            knowledge.positions[state.peer] = try Self.published(state, db)
            let quarantined = try Row.fetchAll(db, sql: "SELECT peer, file, reason FROM ubiquity_quarantine ORDER BY peer, file")
                .map { QuarantinedLog(peer: $0["peer"], file: $0["file"], reason: $0["reason"]) }
            return StoreStatus(
                suspended: suspended, peer: state.peer, epoch: state.epoch, knowledge: knowledge, unpublished: unpublished, waiting: waiting,
                quarantined: quarantined, broken: try CheckInspector.list(db), failure: failure ?? watchFault)
        }
    }
}

extension StoreEngine {
    private var publisher: Publisher { Publisher(layout: layout, storeFile: file.path, files: files) }

    /// Does something while no other process of this device exchanges for this store; the lock ends with its process.
    ///
    /// The body runs only while the store has its place in the container. Where the lock is taken and nobody wants to wait, it does not run.
    private func leased(waiting: Bool = true, _ body: (StoreState) throws -> Void) throws {
        let lock = FilePath(file.path.string + "-exchange")
        guard let lease = try StoreLock.take(lock, within: waiting ? Self.patience : .zero, unless: { isStopping.withLock { $0 } }) else {
            if !waiting { return }
            throw UbiquitousStoreError(
                .timedOut,
                "Another process\(StoreLock.holder(of: lock)) has been exchanging for \(file.path) for a minute; see whether it is stopped.",
                path: lock)
        }
        defer { withExtendedLifetime(lease) {} }
        try noteOtherProcesses()
        var state = try file.pool.read { db in try StoreState.read(db) }
        guard isExchanging(state) else { return }
        do {
            if !state.attached { state = try attach(state) }
            (peer, epoch) = (state.peer, state.epoch)
            if inventory == nil { try checkIdentity(state) }
            try body(state)
        } catch let error as Errno {
            // Something went while we looked. If it is the attachment, that is the reason; else it is a person's to repair.
            guard isExchanging(state) else { return }
            throw UbiquitousStoreError(
                .fileSystem,
                "The store cannot exchange with \(layout.directory); check owner, mode and free space there. Saves are kept until it can.",
                path: layout.directory, cause: error)
        }
    }

    /// Tells observers when another process of this device has written to the store file since we last looked.
    private func noteOtherProcesses() throws {
        let before = dataVersion
        let now = try file.pool.write { db in
            let version = try Int64.fetchOne(db, sql: "PRAGMA data_version")
            if let before, version != before {
                for shape in file.shapes { try db.notifyChanges(in: Table(shape.name)) }
            }
            return version
        }
        dataVersion = now
        if let before, now != before { notices.post(.didChangeInAnotherProcess) }
    }

    /// Refuses to go on under an identifier that another copy of this store uses: a cloned home, or a restored backup.
    private func checkIdentity(_ state: StoreState) throws {
        guard let log = try publisher.foreignLog(state, in: file.pool) else { return }
        throw UbiquitousStoreError(
            .foreignStore,
            "\(layout.logs(of: state.peer, epoch: state.epoch)) holds \(log), which this store did not write: it is a copy of another device's, or an old backup. "
                + "It keeps everything and exchanges nothing. Export what only it holds, move \(file.path) aside, and open again.",
            path: file.path)
    }

    private func attach(_ given: StoreState) throws -> StoreState {
        let state = try PeerPlace(layout: layout, container: container, files: files).settle(given)
        try file.pool.write { db in
            try state.update(db)
            try db.execute(sql: "UPDATE ubiquity_state SET epoch = ?", arguments: [state.epoch])
        }
        return state
    }

    /// Whether the attachment is there; tells observers when that changes.
    private func isExchanging(_ state: StoreState) -> Bool {
        var found = container.attachment(of: state.peer)
        if !state.attached { found = container.attachment() }
        if found == .attached, state.attached {
            do {
                if try files.kind(of: layout.logs(of: state.peer, epoch: state.epoch)) != .directory { found = .detached(.contentGone) }
            } catch {
                found = .detached(.unreadable(error))
            }
        }
        switch (found, suspended) {
        case (.attached, nil): return true
        case (.attached, .some):
            suspended = nil
            inventory = nil
            notices.post(.didResume)
            return true
        case (.detached(let reason), let before):
            suspended = reason
            if before != reason { notices.post(.didSuspend(reason)) }
            return false
        }
    }

    /// Takes records off the list of the broken that a save has put right.
    private func recheck() throws {
        guard try file.pool.read({ db in try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_broken)")! }) else { return }
        try file.pool.write { db in
            for broken in try CheckInspector.list(db) {
                guard let shape = file.shapes.first(where: { $0.name == broken.record.table }) else { continue }
                _ = try CheckInspector(shape, db)?.inspect(broken.record)
            }
        }
    }

    private func publish() throws {
        try file.pool.write { db in _ = try sealer.seal(db) }
        _ = try publisher.publish(from: file.pool)
    }

    private func importAll() throws {
        var planner = ImportPlanner(
            layout: layout, contentName: contentName, epoch: epoch, own: peer, shapes: file.shapes, files: files, clock: try clock())
        let importer = LogImporter(shapes: file.shapes, sealer: sealer, conflictRetention: conflictRetention)
        var isFull = true
        while isFull {
            let knowledge = try knowledge()
            if inventory == nil {
                inventory = try ContentInventory(listing: layout, epoch: epoch, knowledge: knowledge, except: peer, files: files)
                try forgetQuarantined()
            }
            for (peer, position) in knowledge.positions { inventory!.forget(through: position.sequence, of: peer) }
            let plan = planner.plan(knowledge: knowledge, inventory: &inventory!)
            waiting = plan.waiting
            isFull = plan.isFull
            try quarantine(plan.quarantined)
            guard !plan.ready.isEmpty else { break }
            let outcome = try join(plan.ready, by: importer)
            Waypoint.importCommitted.pass()
            if !outcome.notice.isEmpty { notices.post(.didImport(outcome.notice)) }
            if !outcome.broken.isEmpty { notices.post(.didBreakChecks(outcome.broken)) }
            if outcome.conflicts > 0 { notices.post(.didFindConflicts(outcome.conflicts)) }
            if let (log, reason) = outcome.refused {
                inventory!.markFaulty(log.name, of: log.peer)
                try quarantine([QuarantinedLog(peer: log.peer.description, file: log.name.description, reason: reason)])
                isFull = true
            }
        }
        // An import seals foreign writes: out with them.
        _ = try publisher.publish(from: file.pool)
    }

    /// Joins logs in one transaction; where one is refused, once more with each by itself.
    private func join(_ logs: [ReadyLog], by importer: LogImporter) throws -> LogImporter.Outcome {
        do {
            return try file.importing { db in try importer.join(logs, isolating: false, db) }
        } catch is LogImporter.Refusal {
            return try file.importing { db in try importer.join(logs, isolating: true, db) }
        }
    }

    private func quarantine(_ logs: [QuarantinedLog]) throws {
        for log in logs {
            let isNew = try file.pool.write { db in
                try db.execute(
                    sql: "INSERT INTO ubiquity_quarantine VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
                    arguments: [log.peer, log.file, log.reason, now().timeIntervalSince1970])
                return db.changesCount > 0
            }
            if isNew { notices.post(.didQuarantine(log)) }
        }
    }

    /// Takes files off the list of the unusable that are no longer there.
    private func forgetQuarantined() throws {
        let listed = try file.pool.read { db in
            try Row.fetchAll(db, sql: "SELECT peer, file FROM ubiquity_quarantine").map { ($0["peer"] as String, $0["file"] as String) }
        }
        for (peer, name) in listed {
            guard let identifier = PeerIdentifier(peer), try files.kind(of: layout.logs(of: identifier, epoch: epoch).appending(name)) == nil else {
                continue
            }
            try file.pool.write { db in try db.execute(sql: "DELETE FROM ubiquity_quarantine WHERE peer = ? AND file = ?", arguments: [peer, name]) }
        }
    }

    private func clock() throws -> HybridTime { try file.pool.read { db in try StoreState.read(db).clock } }

    /// What has been taken in, with this peer's own logs as far as they are sealed.
    private func knowledge() throws -> Knowledge {
        try file.pool.read { db in
            let state = try StoreState.read(db)
            var knowledge = try StoreKnowledge.others(db)
            if let hash = state.predecessor { knowledge.positions[state.peer] = .init(sequence: state.sequence, hash: hash) }
            return knowledge
        }
    }

    private func publishReceipt() throws {
        let (state, knowledge) = try file.pool.read { db in
            let state = try StoreState.read(db)
            var knowledge = try StoreKnowledge.others(db)
            knowledge.positions[state.peer] = try Self.published(state, db)
            return (state, knowledge)
        }
        guard lastReceipt != knowledge else { return }
        let receipts = layout.receipts(of: peer, epoch: epoch)
        let there = try files.names(in: receipts).compactMap(Receipt.number(ofFile:)).max()
        if lastReceipt == nil, let there, let bytes = try? files.read(receipts.appending(String(there)), limit: 16 << 20),
            Receipt(decoding: bytes)?.stated == knowledge
        {
            lastReceipt = knowledge
            return
        }
        try files.makeDirectory(receipts)
        let number = max(state.receipt, there ?? 0) + 1
        try file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET receipt = ?", arguments: [number]) }
        let receipt = Receipt(peer: peer, epoch: epoch, knowledge: knowledge, migrations: file.migrations, time: now())
        try publisher.publish(receipt, number: number, of: peer, epoch: epoch)
        lastReceipt = knowledge
    }

    /// This peer's last log that is in the container.
    private static func published(_ state: StoreState, _ db: Database) throws -> Knowledge.Position? {
        if let first = try Row.fetchOne(db, sql: "SELECT sequence, bytes FROM ubiquity_outbox ORDER BY sequence LIMIT 1") {
            // The first log that is not out names the one before it.
            guard let before = try LogFile(decoding: [UInt8](first["bytes"] as Data)).header.predecessor else { return nil }
            return .init(sequence: (first["sequence"] as Int64) - 1, hash: before)
        }
        return state.predecessor.map { .init(sequence: state.sequence, hash: $0) }
    }
}
