internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Finds, creates and watches a store's place in its content, under the exchange lease.
struct PlaceKeeper {
    let context: ExchangeContext

    /// The time for which an exchange waits for one of another process, which gives way between two batches.
    private static let patience = Duration.seconds(60)

    /// The place in the content; valid only if there is a container.
    private var place: PeerPlace { PeerPlace(layout: context.layout, container: context.container!, files: context.files) }
    private var identity: PeerIdentity {
        PeerIdentity(layout: context.layout, container: context.container!, pool: context.file.pool, scope: context.scope)
    }

    /// Takes the exchange lease, which ends with its process.
    ///
    /// - Parameter waiting: whether to wait for another process.
    /// - Returns: the lease; nil if another process has it and the call does not wait.
    /// - Throws: `UbiquitousStoreError` with `timedOut` if another process keeps it.
    func lease(waiting: Bool) throws -> ExchangeLease? {
        guard !context.isReadOnly else { throw UbiquitousStoreError.readOnly(context.file.path) }
        let lock = ExchangeLease.lock(of: context.file.path)
        let lease = try ExchangeLease.take(context.file.path, within: waiting ? Self.patience : .zero, unless: { context.stop.isSet })
        guard lease == nil else { return lease }
        context.log.detail("another process\(StoreLock.holder(of: lock)) exchanges for this store")
        if !waiting { return nil }
        throw UbiquitousStoreError(
            .timedOut,
            "Another process\(StoreLock.holder(of: lock)) has been exchanging for \(context.file.path) for a minute; see whether it is stopped.",
            path: lock)
    }

    /// Reads the store's state, and tells observers if another process of this device has written since the last look.
    func look(_ content: inout KnownContent, _ machine: ExchangeStateMachine) throws -> ExchangeOutcome.Standing {
        try ScopeKeeper(context: context)?.identify()
        let before = content.dataVersion
        // There is no transaction, which would wait for writers. One call does all of it, because each call changes
        // threads.
        let (now, state, isAdopting, last, changes) = try context.file.pool.writeWithoutTransaction { db in
            // It is read first: a change that comes in between changes the version too.
            let last = try before == nil ? history(db).last() ?? 0 : nil
            let version = try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA data_version"))
            if let before, version != before {
                try db.inTransaction(.immediate) {
                    for shape in context.file.shapes { try db.notifyChanges(in: Table(shape.name)) }
                    return .commit
                }
                let (last, changes) = try foreignChanges(since: content.lastChange ?? 0, db)
                return (version, try StoreState.read(db), try Adopter.isPending(db), last, changes)
            }
            return (version, try StoreState.read(db), try Adopter.isPending(db), last, nil as StoreChanges?)
        }
        (content.dataVersion, content.state) = (now, state)
        if let last { content.lastChange = last }
        if let before, now != before { context.post(.didChangeInAnotherProcess(changes)) }
        let log = context.log
        if state.paused != machine.isPaused {
            log.transition(
                state.paused ? "paused: nothing goes out or in" : "resumed: everything goes out and in again",
                [.event: state.paused ? "paused" : "unpaused"])
        }
        if let asked = state.request, asked != machine.request, asked != .finishRepublishing {
            log.transition("somebody has asked to \(asked.rawValue)")
        }
        return ExchangeOutcome.Standing(
            hasContainer: context.container != nil, isPaused: state.paused, request: state.request, isAdopting: isAdopting,
            isAttached: state.attached, epoch: state.epoch)
    }

    private func history(_ db: Database) -> ChangeHistory { ChangeHistory(db, process: context.sealer.journal.process) }

    /// Returns the changes that other processes have made, and the number of the last change.
    ///
    /// Changes by another program, such as `sqlite3`, are listed once they are sealed, so they are sealed here.
    private func foreignChanges(since start: Int64, _ db: Database) throws -> (last: Int64?, StoreChanges?) {
        if try context.sealer.hasNotes(db) {
            // If it fails, the next step seals, and says why it cannot.
            try? db.inTransaction(.immediate) {
                try context.sealer.seal(db)
                return .commit
            }
        }
        var found: (Int64?, StoreChanges?) = (nil, nil)
        try db.inTransaction(.deferred) {
            found = (try history(db).last(), try? history(db).foreignChanges(since: start))
            return .commit
        }
        return found
    }

    /// Returns whether the store file holds something that waits for an exchange, or that another process has committed
    /// since the data version of an earlier look.
    ///
    /// A commit writes its frames, which the watcher reports, and then shows them in an index in shared memory, which
    /// nothing reports (sqlite.org/walformat.html). The write lock is held until then, so this waits for it: a look
    /// without it can come in between, and no event follows.
    func hasUnexchanged(since dataVersion: Int64?) throws -> Bool {
        try context.file.pool.writeWithoutTransaction { db in
            var isReason = false
            try db.inTransaction(.immediate) {
                let isChanged = try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA data_version")) != dataVersion
                // A request that cannot be fulfilled yet is tried again at every opportunity.
                isReason = try isChanged || StoreState.read(db).request != nil || Adopter.isPending(db)
                if !isReason, case .outbox(_, hasLogs: true) = try LogExchange.outbox(context, db) { isReason = true }
                return .rollback
            }
            return isReason
        }
    }

    /// Returns the present epoch of the marks; nil if this peer is not attached.
    ///
    /// It is read before this peer's own directory, which any peer may remove after its epoch has ended.
    func markedEpoch(_ state: StoreState) throws -> Int64? {
        let (layout, files) = (context.layout, context.files)
        guard state.attached, context.container?.attachment(of: state.peer) == .attached else { return nil }
        // A link, which a synchroniser may have brought, leads to the marks of another content.
        guard try (layout.way + [layout.epochs]).allSatisfy({ try files.kind(of: $0) == .directory }) else { return nil }
        return try EpochMarks(of: layout, files: files).present
    }

    /// Writes a missing mark of the store's epoch, without knowledge: what the first writer had joined is not known any
    /// more.
    func restoreMark(_ state: StoreState) throws {
        let mark = EpochMark(epoch: state.epoch, peer: state.peer, knowledge: nil, time: context.now())
        try place.write(mark, of: state.peer, placedIn: state.epoch)
    }

    /// Adopts the rows from before the tables were synced, and returns whether all are adopted.
    ///
    /// Adoption comes before everything else: an import would meet rows without registers, and a save's log would name
    /// records that no log begins.
    func adoptAll(_ giveWay: () throws -> Void) throws -> Bool {
        let adopter = Adopter(sealer: context.sealer)
        while !context.stop.isSet {
            let progress = try context.file.pool.write { db in try adopter.adoptBatch(db) }
            Waypoint.adoptBatch.pass()
            context.post(.didAdopt(progress.rows, of: progress.total, isDone: progress.isDone))
            if progress.isDone { return true }
            try giveWay()
        }
        return false
    }

    /// Returns whether the store's place in the container is there, and what is missing if not.
    func attachment(_ state: StoreState) -> ContainerAttachment {
        guard let container = context.container else { return .detached(.rootGone) }
        if let keeper = ScopeKeeper(context: context) { return keeper.attachment(state) }
        guard state.attached else { return container.attachment() }
        let found = container.attachment(of: state.peer)
        guard found == .attached else { return found }
        do {
            // Each directory on the way is checked, because a synchroniser may have brought a link to any place.
            let layout = context.layout
            let logs = layout.logs(of: state.peer, epoch: state.epoch)
            let own = [layout.epochs, logs.removingLastComponent(), logs, layout.receipts(of: state.peer, epoch: state.epoch)]
            for directory in layout.way + own where try context.files.kind(of: directory) != .directory {
                return .detached(.contentGone)
            }
            return .attached
        } catch {
            return .detached(.unreadable(error))
        }
    }

    /// Finds or creates the store's place in the content.
    ///
    /// If the store file is new but the content has files under its identifier, the file has lost its past. It then
    /// takes a new identifier, as a copy does.
    ///
    /// - Returns: whether the store has taken a new identifier.
    func findPlace(_ content: inout KnownContent) throws -> Bool {
        if let keeper = ScopeKeeper(context: context) {
            let isRenewed = try content.state.successor != nil || keeper.isWriting(content.state) && place.isTaken(content.state.peer)
            if isRenewed { content.state = try renew(&content) }
            try keeper.makePlace(content.state)
            return isRenewed
        }
        let found = try place.prepare()
        var state = try context.file.pool.write { db in
            var state = try StoreState.read(db)
            guard found > state.epoch else { return state }
            // The changes were in no epoch before, so they go into the present one, including logs that a crash left
            // sealed.
            (state.epoch, state.sequence, state.predecessor) = (found, 0, nil)
            try Outbox.reissue(from: state.peer, as: &state, db)
            try state.update(db)
            return state
        }
        let isRenewed = try state.successor != nil || place.isTaken(state.peer)
        if isRenewed { state = try renew(&content) }
        try place.makeDirectories(of: state.peer, epoch: state.epoch)
        if found < state.epoch { try restoreMark(state) }
        content.state = state
        return isRenewed
    }

    /// Notes the place: from now on it is never created again if it is missing, and sealed logs are published.
    func attach(_ content: inout KnownContent) throws {
        content.state = try context.file.pool.write { db in
            var state = try StoreState.read(db)
            state.attached = true
            try state.update(db)
            context.log.transition(
                "has its place in the container as \(state.peer), epoch \(state.epoch)",
                [.event: "attached", .peer: state.peer.description, .epoch: "\(state.epoch)"])
            return state
        }
    }

    /// Returns whether a copy of this store uses its identifier, or a crash interrupted taking a new identifier.
    func findStranger(_ content: inout KnownContent, amongAll: Bool) throws -> Bool {
        let state = content.state
        guard ScopeKeeper(context: context)?.isWriting(state) != false else { return false }
        if try state.successor != nil || identity.stranger(state, among: amongAll ? nil : content.arrivals) != nil { return true }
        content.arrivals = []
        return false
    }

    /// Takes a new identifier.
    @discardableResult
    func renew(_ content: inout KnownContent) throws -> StoreState {
        let keeper = ScopeKeeper(context: context)
        content.state = try identity.renew { peer, old in try keeper?.enrol(peer, as: old) }
        context.post(.didTakeNewIdentifier(content.state.peer))
        return content.state
    }

    /// Removes the files of ended epochs as far as possible; a failure is not reported.
    func removeEnded(_ content: KnownContent, _ machine: ExchangeStateMachine) {
        guard machine.epoch > 1, !machine.isPaused, machine.suspended == nil, context.scope == nil else { return }
        try? EndedEpochs(layout: context.layout, files: context.files, own: content.state.peer).remove(below: machine.epoch)
    }

    /// Explains an error of the file system while the place is there: a person must repair something.
    func explained(_ error: any Error) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .fileSystem,
            "The store cannot exchange with \(context.layout.directory); check owner, mode and free space there. Saves are kept until it can.",
            path: context.layout.directory, cause: error)
    }

    /// Returns the reason why the store cannot exchange now.
    func suspension(_ machine: ExchangeStateMachine) -> UbiquitousStoreError {
        let path = context.file.path
        if machine.isPaused {
            return UbiquitousStoreError(
                .paused,
                "\(path) is paused: nothing goes out or in, and nothing is discarded, until it is resumed, by the app or with: ubcontrol store resume \(path)",
                path: path)
        }
        guard let container = context.container else {
            return UbiquitousStoreError(
                .suspended,
                "\(path) is in use, from which nothing goes out: nobody is signed in, or the account's content has not been read yet.", path: path)
        }
        let reason = machine.suspended.map { ContainerAttachment.detached($0).description } ?? "the store has no place in it yet"
        return UbiquitousStoreError(
            .suspended, "\(container.path): \(reason). The store keeps everything and goes on when it is back.", path: container.path)
    }
}
