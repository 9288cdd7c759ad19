internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import Synchronization
internal import SystemPackage
internal import UbiquityContainers

extension StoreEngine {
    var publisher: Publisher { Publisher(layout: layout, storeFile: file.path, files: files, log: log) }

    /// How long an exchange waits for one of another process, which lets it in between two batches.
    private static let patience = Duration.seconds(60)

    /// Does something while no other process of this device exchanges for this store; the lock ends with its process.
    ///
    /// The body runs only while the store has its place in the container, and has taken over what was in it before. Where the lock is taken
    /// and nobody wants to wait, it does not run, and nothing is taken over. Where it gives way to another process it is run again, from its beginning.
    func leased(waiting: Bool = true, _ body: (StoreState) throws -> Void) throws {
        while true {
            do {
                _ = try locked(waiting: waiting) { try placed(waiting: waiting, body) }
                return
            } catch is GivesWay {
                log.detail("gives way to another process")
            }
        }
    }

    /// Ends what is done under the lease where another process waits, so that it is begun again after that one.
    ///
    /// It is called between two batches, when what was done so far is done for good.
    func giveWay() throws {
        if lease?.isAwaited == true { throw GivesWay() }
    }

    /// Does something while no other process of this device exchanges for this store; nil where another does and nobody wants to wait.
    func locked<Result>(waiting: Bool = true, _ body: () throws -> Result) throws -> Result? {
        guard !isReadOnly else { throw UbiquitousStoreError.readOnly(file.path) }
        let lock = ExchangeLease.lock(of: file.path)
        lease = try ExchangeLease.take(file.path, within: waiting ? Self.patience : .zero, unless: { isStopping.withLock { $0 } })
        guard lease != nil else {
            log.detail("another process\(StoreLock.holder(of: lock)) exchanges for this store")
            if !waiting { return nil }
            throw UbiquitousStoreError(
                .timedOut,
                "Another process\(StoreLock.holder(of: lock)) has been exchanging for \(file.path) for a minute; see whether it is stopped.",
                path: lock)
        }
        defer { lease = nil }
        return try body()
    }

    private func placed(waiting: Bool, _ body: (StoreState) throws -> Void) throws {
        var (state, isAdopting) = try noteOtherProcesses()
        if state.paused != isPaused { log.transition(state.paused ? "paused: nothing goes out or in" : "resumed: everything goes out and in again") }
        if let asked = state.request, asked != request, asked != .finishRepublishing { log.transition("somebody has asked to \(asked.rawValue)") }
        (isPaused, request) = (state.paused, state.request)
        guard container != nil, !isPaused else {
            // Nothing goes out or in; what is in the tables becomes saves, as elsewhere.
            if isAdopting, waiting { _ = try adoptAll() }
            return
        }
        do {
            // Before the look at this peer's own directory, which anybody may remove once its epoch has ended.
            let marked = try markedEpoch(state)
            if let marked, marked > state.epoch {
                guard try !isAdopting || waiting && adoptAll() else { return }
                (state, isAdopting) = (try enter(marked).state, false)
            }
            guard isExchanging(state) else { return }
            // The others, too, learn of an epoch whose mark has been lost.
            if let marked, marked < state.epoch { try place.write(lostMark(state), of: state.peer, placedIn: state.epoch) }
            let isNew = !state.attached
            if isNew { state = try findPlace() }
            guard try !isAdopting || waiting && adoptAll() else { return }
            if isNew { state = try attach() }
            state = try settleIdentity(state)
            begin(state)
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

    /// The epoch that the marks say is present; nil where this peer is not attached.
    private func markedEpoch(_ state: StoreState) throws -> Int64? {
        guard state.attached, container?.attachment(of: state.peer) == .attached else { return nil }
        // A link, which a synchroniser may have brought, leads to another's marks.
        guard try (layout.way + [layout.epochs]).allSatisfy({ try files.kind(of: $0) == .directory }) else { return nil }
        return try EpochMarks(of: layout, files: files).present
    }

    /// A mark of the epoch that the store remembers, where there is none: what its writer had taken in is not known any more.
    func lostMark(_ state: StoreState) -> EpochMark {
        EpochMark(epoch: state.epoch, peer: state.peer, knowledge: nil, time: now())
    }

    /// Tells observers when another process of this device has written to the store file since we last looked.
    ///
    /// - Returns: the store's state, and whether something is to be taken over, for each look is a way to another thread and back.
    private func noteOtherProcesses() throws -> (state: StoreState, isAdopting: Bool) {
        let before = dataVersion
        // Outside a transaction, which would wait for whoever writes.
        let (now, state, isAdopting) = try file.pool.writeWithoutTransaction { db in
            let version = try Int64.fetchOne(db, sql: "PRAGMA data_version")
            if let before, version != before {
                try db.inTransaction(.immediate) {
                    for shape in file.shapes { try db.notifyChanges(in: Table(shape.name)) }
                    return .commit
                }
            }
            return (version, try StoreState.read(db), try Adopter.isPending(db))
        }
        dataVersion = now
        if let before, now != before { post(.didChangeInAnotherProcess) }
        return (state, isAdopting)
    }

    /// Takes a new identifier where another copy of this store uses this one, and goes on with one that a crash cut short.
    private func settleIdentity(_ given: StoreState) throws -> StoreState {
        var state = given
        let identity = identity
        var names = inventory == nil ? nil : arrivals
        while try state.successor != nil || identity.stranger(state, among: names) != nil {
            state = try renewed(identity)
            names = nil
        }
        arrivals = []
        return state
    }

    /// Only where there is a container.
    private var identity: PeerIdentity { PeerIdentity(layout: layout, container: container!, pool: file.pool) }

    private func renewed(_ identity: PeerIdentity) throws -> StoreState {
        let state = try identity.renew()
        (peer, inventory, lastReceipt) = (state.peer, nil, nil)
        post(.didTakeNewIdentifier(state.peer))
        return state
    }

    /// Finds or makes the store's place in the content.
    ///
    /// A store file that is new while the content holds anything under its identifier has lost its past: it takes a new identifier, as
    /// a copy does.
    private func findPlace() throws -> StoreState {
        let found = try place.prepare()
        var state = try file.pool.write { db in
            var state = try StoreState.read(db)
            guard found > state.epoch else { return state }
            // What is there has been in no epoch: it goes into the present one, what a crash has left sealed included.
            (state.epoch, state.sequence, state.predecessor) = (found, 0, nil)
            try Outbox.reissue(from: state.peer, as: &state, db)
            try state.update(db)
            return state
        }
        if try state.successor != nil || place.isTaken(state.peer) {
            state = try renewed(identity)
        }
        try place.makeDirectories(of: state.peer, epoch: state.epoch)
        if found < state.epoch { try place.write(lostMark(state), of: state.peer, placedIn: state.epoch) }
        return state
    }

    /// Takes over what was in the tables before they were synced; whether all is.
    ///
    /// It goes before everything else: an import would meet rows that it does not know, and a save's log would name records that no log begins.
    private func adoptAll() throws -> Bool {
        let adopter = Adopter(sealer: sealer)
        while !isStopping.withLock({ $0 }) {
            let progress = try file.pool.write { db in try adopter.adoptBatch(db) }
            Waypoint.adoptBatch.pass()
            post(.didAdopt(progress.rows, of: progress.total, isDone: progress.isDone))
            if progress.isDone { return true }
            try giveWay()
        }
        return false
    }

    /// From now on the store's place is never made again where it is missing, and what is sealed goes out.
    private func attach() throws -> StoreState {
        try file.pool.write { db in
            var state = try StoreState.read(db)
            state.attached = true
            try state.update(db)
            log.transition("has its place in the container as \(state.peer), epoch \(state.epoch)")
            return state
        }
    }

    /// Whether the store's place in the container is there, and what is missing if not.
    func attachment(_ state: StoreState) -> ContainerAttachment {
        guard let container else { return .detached(.rootGone) }
        guard state.attached else { return container.attachment() }
        let found = container.attachment(of: state.peer)
        guard found == .attached else { return found }
        do {
            // Each directory on the way: a link, which a synchroniser may have brought, leads who knows where.
            let logs = layout.logs(of: state.peer, epoch: state.epoch)
            let own = [layout.epochs, logs.removingLastComponent(), logs, layout.receipts(of: state.peer, epoch: state.epoch)]
            for directory in layout.way + own where try files.kind(of: directory) != .directory {
                return .detached(.contentGone)
            }
            return .attached
        } catch {
            return .detached(.unreadable(error))
        }
    }

    /// Whether the attachment is there; tells observers when that changes.
    private func isExchanging(_ state: StoreState) -> Bool {
        guard container != nil else { return false }
        let found = attachment(state)
        switch (found, suspended) {
        case (.attached, nil): return true
        case (.attached, .some):
            (suspended, wipeAnswer, inventory) = (nil, nil, nil)
            post(.didResume)
            return true
        case (.detached(let reason), let before):
            suspended = reason
            if before != reason { post(.didSuspend(reason)) }
            return false
        }
    }

    /// Takes a new identifier because somebody has read a log under this one that this store does not remember.
    func takeNewIdentifier() throws {
        epoch = try renewed(identity).epoch
    }
}
