package import Foundation
public import GRDB
package import Logging
package import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import Synchronization
public import SystemPackage
internal import TreeWatching
public import UbiquityContainers

/// An SQLite store whose synced tables are kept in step with the account's other devices.
///
/// Reads and writes are plain GRDB. Each write is one transaction with its log, which is published after it. Changes of
/// other peers arrive by themselves, and `notices` announces them.
///
/// ```swift
/// let store = try await UbiquitousStore.open(
///     at: support.appending("Notes.sqlite"), options: .init(contentName: "Notes"), container: "org.example.notes", schema: schema)
/// try await store.write { db in try Note(title: "Milk").insert(db) }
/// for await notice in store.notices { … }
/// ```
///
/// A program that ends soon calls ``finish(within:)`` as its last step.
public final class UbiquitousStore: Sendable {
    /// The notices of the store: each observer has its own sequence, from the moment it begins to iterate.
    public let notices: StoreNotices
    /// The progress of imports.
    public let importProgress: ImportProgressSequence

    let context: StoreContext
    private let base: Mutex<StoreBase>
    let observations = ObservationRelay()
    let handlers = TransitionHandlers()
    let authors = AuthorNames()
    /// The object that follows the account; nil if the store stays with its container's account.
    let keeper: StoreKeeper?
    /// Asks the public place that the store reads for news; nil if it reads none.
    let poller: PlacePoller?

    init(_ base: StoreBase, _ context: StoreContext, keeper: StoreKeeper? = nil, poller: PlacePoller? = nil) {
        self.context = context
        self.poller = poller
        self.base = Mutex(base)
        self.keeper = keeper
        notices = StoreNotices(broadcast: context.notices)
        importProgress = ImportProgressSequence(broadcast: context.progress)
        context.notices.relay { [weak self] notice in
            guard case .didImport(let imported) = notice, let self else { return }
            NotificationCenter.default.post(name: .ubiquitousStoreDidImport, object: self, userInfo: ["import": imported])
        }
    }

    /// The file in use, with the parts that belong to it.
    var current: StoreBase { base.withLock { $0 } }
    package var runner: ExchangeRunner { current.runner }
    /// The runner that exchanges with other devices, for the file in use or for the one that is being filled.
    var exchanging: ExchangeRunner { get async { await keeper?.gatheringRunner ?? runner } }

    /// The SQLite file in use.
    public var file: FilePath { current.file.path }

    deinit {
        keeper?.cancel()
        poller?.cancel()
        current.trigger?.cancel()
        notices.broadcast.close()
        importProgress.broadcast.close()
    }

    /// Opens a store of one account's container, and creates it if it is new.
    ///
    /// A container or content that is gone does not prevent opening: the store is then suspended, and keeps everything.
    package static func open(at path: FilePath, options: Options, in container: UbiquityContainer, schema: SyncedSchema) async throws
        -> UbiquitousStore
    {
        try await open(at: path, options: options, in: container, schema: schema, now: { Date() })
    }

    /// Opens a store with the given clock; `copying` receives the progress of copying an existing database.
    @concurrent
    package static func open(
        at path: FilePath, options: Options, in container: UbiquityContainer, schema: SyncedSchema, now: @escaping @Sendable () -> Date,
        copying: (@Sendable (StoreMigration) -> Void)? = nil, logger: Logger = .ubiquity,
        fileSystem: @Sendable (FilePath) -> FileSystemFacts? = { FileSystemFacts(at: $0) }
    ) async throws -> UbiquitousStore {
        let path = try checked(path, options, logger: logger, fileSystem: fileSystem)
        _ = try options.identifier(or: container.identifier.description)
        for file in options.writtenFiles(at: path) { try StorePlace.check(file, in: container) }
        let context = StoreContext(options: options, schema: schema, now: now, files: container.files, logger: logger)
        let file = StoreFile.path(for: path, peer: container.peer, contentName: options.contentName)
        let base = try await open(file, in: container, context, copying: copying)
        container.home.note(KnownStore(path: path, content: options.content, container: container.identifier))
        return UbiquitousStore(base, context)
    }

    /// Validates the path and the options, and warns if the file should lie elsewhere.
    ///
    /// - Returns: the absolute path.
    static func checked(
        _ path: FilePath, _ options: Options, logger: Logger = .ubiquity,
        fileSystem: (FilePath) -> FileSystemFacts? = { FileSystemFacts(at: $0) }
    ) throws(UbiquitousStoreError) -> FilePath {
        if let fault = PathComponentRule.fault(in: options.contentName) {
            throw UbiquitousStoreError(.invalidSchema, "The content name \(options.contentName.debugDescription) \(fault); use one like Notes.")
        }
        if let fault = AttachedDatabase.fault(in: options.attachedDatabases) { throw UbiquitousStoreError(.invalidSchema, fault) }
        guard path.lastComponent != nil else {
            throw UbiquitousStoreError(.fileSystem, "“\(path)” names no store file; name one like Notes.sqlite.", path: path)
        }
        let path = PathFacts.absolute(path)
        if let path = options.advanced.contentPath, let fault = UbiquitousStore.Options.fault(inContentPath: path) {
            throw UbiquitousStoreError(.unsupported, "The contentPath “\(path)” \(fault); name one like CoreData/Shared/Notes.", path: path)
        }
        for file in options.writtenFiles(at: path) { StorePlace.warn(of: file, fileSystem: fileSystem, logger: logger) }
        return path
    }

    /// Opens a file of a container's account, and begins to exchange.
    static func open(
        _ path: FilePath, in container: UbiquityContainer, _ context: StoreContext, copying: (@Sendable (StoreMigration) -> Void)? = nil
    ) async throws -> StoreBase {
        let newState = StoreState(
            account: container.account.description, container: container.identifier.description, content: context.options.content,
            peer: container.peer, epoch: 1, sequence: 0, predecessor: nil, clock: .least, attached: false, receipt: 0)
        let base = try await StoreBase.open(
            path, newState: newState, in: container, plain: context.options.existingDatabase, context, copying: copying)
        try await base.runner.start()
        if context.options.advanced.exchangesAutomatically { try await base.run() }
        return base
    }

    /// Changes to another file of the content, which is created if it does not exist.
    ///
    /// Reads, writes and observations go on. The file changes at one moment between two writes to the old one.
    /// Unpublished saves of the old file are published before this method returns.
    ///
    /// - Parameter path: the other file.
    /// - Throws: an error of opening, and the store stays with its file; or an error of publishing, and the other file
    ///   is in use.
    package func change(to path: FilePath) async throws {
        let old = current
        let new = try await Self.open(path, in: old.runner.context.container!, context)
        try await old.pool.writeWithoutTransaction { _ in use(new) }
        await old.stop()
        try await old.runner.run(.publish)
        new.trigger?.wake()
    }

    /// Uses and observes another file from now on.
    ///
    /// It is called on the writer's queue of the old file, so nothing writes to that file at this moment.
    func use(_ new: StoreBase) {
        base.withLock { $0 = new }
        observations.move(to: new.pool)
    }

    /// Runs a body with the file in use, and repeats it if the file changed before the body could begin.
    func onCurrent<Result>(_ body: (StoreBase) throws -> Result?) rethrows -> Result {
        while true {
            if let result = try body(current) { return result }
        }
    }

    /// Runs an asynchronous body with the file in use, and repeats it if the file changed before the body could begin.
    func onCurrent<Result: Sendable>(_ body: (StoreBase) async throws -> Result?) async rethrows -> Result {
        while true {
            if let result = try await body(current) { return result }
        }
    }

    /// Returns whether a file is still in use; on its writer's queue the answer stays true until the queue is left.
    func isCurrent(_ candidate: StoreBase) -> Bool { current === candidate }

    /// Writes in one transaction, and seals the changes of synced tables with it.
    ///
    /// - Parameter updates: receives the database; an error that it throws rolls everything back. If the task is
    ///   cancelled, GRDB interrupts it.
    /// - Returns: the result of the closure, after the commit.
    /// - Throws: the closure's error, or GRDB's.
    public func write<Result: Sendable>(_ updates: @Sendable (Database) throws -> Result) async throws -> Result {
        if context.isReadOnly { throw UbiquitousStoreError.readOnly(file) }
        return try await onCurrent { base in
            if let leaving = TransitionHandlers.leaving, leaving.handlers === handlers, leaving.base !== base {
                throw UbiquitousStoreError(
                    .suspended, "The store has changed files since this handler of will-change was called: it would save to another account.",
                    path: leaving.base.file.path)
            }
            let outcome: (Result, Bool)? = try await base.pool.write { db in
                guard isCurrent(base) else { return nil }
                try base.sealForeign(db)
                let result = try base.watching { try updates(db) }
                return (result, try base.seal(db))
            }
            guard let (result, isMarked) = outcome else { return nil }
            Waypoint.saveCommitted.pass()
            if isMarked { try? await blocking { base.resolve() } }
            base.trigger?.wake()
            return result
        }
    }

    /// Reads from a snapshot; never waits for a write or an import.
    ///
    /// - Parameter value: receives the database.
    /// - Returns: the result of the closure.
    /// - Throws: the closure's error, or GRDB's.
    public func read<Result: Sendable>(_ value: @Sendable (Database) throws -> Result) async throws -> Result {
        try await onCurrent { base in
            do {
                let result = try await base.pool.read(value)
                // A file that the store has left may be empty by now.
                return isCurrent(base) ? result : nil
            } catch {
                // Or it is closed.
                if isCurrent(base) { throw error }
                return nil
            }
        }
    }

    /// Publishes every save made so far, and imports nothing.
    ///
    /// - Throws: `UbiquitousStoreError`. A store that is suspended keeps its saves and does not throw.
    public func publish() async throws {
        let context = runner.context
        if try await blocking({ context.silence }) != nil { return }
        try await runner.run(.publish)
    }

    /// Publishes every save made so far, and imports every log that is in the container and ready.
    ///
    /// If the store is changing files, it finishes the change first, or runs every step that can run now. While nobody
    /// is signed in, there is nothing to do.
    ///
    /// A store that reads a public place asks the place for news first.
    ///
    /// - Throws: `UbiquitousStoreError` with `suspended` if the container is gone, or `paused`; nothing is lost then. With
    ///   `unreachable` if the public place cannot be read.
    public func settled() async throws {
        try await exchanging.context.requireAnswer()
        if let poller {
            do {
                try await poller.poll()
            } catch let error as PlaceSourceError {
                throw UbiquitousStoreError(.unreachable, "The public place cannot be read: \(error). The store is as it was.")
            }
        }
        try await keeper?.settle()
        // Without automatic exchange, nothing else removes the drafts that a killed process has left.
        if keeper != nil, !context.options.advanced.exchangesAutomatically { try? await runner.startOnce() }
        try await runner.settleByPolicy()
    }

    /// Rebuilds the synced tables from the container's content.
    ///
    /// It is one transaction: readers see the old rows until it is done, and still after a failure or the end of the
    /// process. Saves wait for it; `importProgress` reports its progress. Columns that stay on the device are kept, as
    /// are the lists of conflicts and of broken rows.
    ///
    /// - Throws: `UbiquitousStoreError`: `contentIncomplete` if the content does not hold everything that the store
    ///   does, `suspended` if there is none.
    public func rebuildFromUbiquitousContent() async throws {
        try await runner.rebuild()
    }

    /// Writes down all that the store holds as a baseline, whatever ``StoreOptions/Advanced/baselines`` says.
    ///
    /// - Returns: the baseline's number, or nil if saves were made in the meantime.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    @discardableResult
    public func rollBaseline() async throws -> Int64? {
        try await runner.rollNow()
    }

    /// Returns the other peers of the content.
    ///
    /// - Returns: each peer that has a directory of this epoch, by identifier; none if the content does not exist.
    /// - Throws: `Errno` if the container cannot be read, or GRDB's errors.
    public func peers() async throws -> [StorePeer] { try await exchanging.peers() }

    /// Tells all devices that a peer is not expected back, so that nobody keeps logs for it any more.
    ///
    /// A peer that returns becomes active again by itself, joins a baseline instead of logs that were removed, and
    /// loses none of its unpublished saves.
    ///
    /// - Parameters:
    ///   - peer: another peer of the content.
    ///   - sequence: the last lost log, if logs of that peer are lost for good: the logs after it are joined without
    ///     the lost ones. Those stay in ``StoreStatus/knowledge`` as holes; a hole closes if its log, or a baseline
    ///     that contains the log, arrives after all. 0 for none.
    /// - Throws: `UbiquitousStoreError`: `unsupported` if the peer is unknown or is this store's own; `suspended` if
    ///   the container is gone.
    public func retire(_ peer: PeerIdentifier, at sequence: Int64 = 0) async throws { try await exchanging.retire(peer, at: sequence) }

    /// Returns the values that lost to concurrent writes, oldest first.
    ///
    /// Each device keeps its own list of the values that it sees lose. If a record was deleted, only a device that
    /// still had the record lists its other values.
    ///
    /// - Returns: the conflicts that are kept.
    /// - Throws: GRDB's errors.
    public func conflicts() async throws -> [Conflict] {
        try await current.pool.read { db in try ConflictHistory(db).list() }
    }

    /// Returns the records that are alive but not shown, because their parents are not shown; they return with those.
    ///
    /// - Returns: the records, by table and key.
    /// - Throws: GRDB's errors.
    public func held() async throws -> [HeldRecord] {
        try await current.pool.read { db in try RelationListing(db).held() }
    }

    /// Returns the records that have become one with others, with the values of each.
    ///
    /// - Returns: each class of two or more records, by table and the shown key.
    /// - Throws: GRDB's errors.
    public func duplicates() async throws -> [DuplicateRecords] {
        try await current.pool.read { db in try RelationListing(db).duplicates() }
    }

    /// Returns the records that show another value in a column than the one written, because another record holds that
    /// value.
    ///
    /// - Returns: one entry for each such column, by table and key.
    /// - Throws: GRDB's errors.
    public func moved() async throws -> [MovedRecord] {
        try await current.pool.read { db in try RelationListing(db).moved() }
    }

    /// Restores the value that lost a conflict, as a save of its own, and removes the conflict from this device's list.
    ///
    /// - Parameter conflict: a conflict that `conflicts()` returned.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the schema or a column's policy rejects the value.
    public func restore(_ conflict: Conflict) async throws {
        try await write { db in try ConflictHistory(db).restore(conflict) }
    }

    /// Returns the state of the store.
    ///
    /// - Returns: a snapshot.
    /// - Throws: GRDB's errors.
    public func status() async throws -> StoreStatus {
        let context = await exchanging.context
        if let status = try await blocking({ try context.silentStatus() }) { return status }
        var status = try await runner.status()
        if let gathering = await keeper?.gatheringRunner {
            // These values show what delays the account's file.
            let other = try await gathering.status()
            status.isPaused = other.isPaused
            (status.suspended, status.waiting, status.quarantined) = (other.suspended, other.waiting, other.quarantined)
            status.failure = status.failure ?? other.failure
        }
        if status.failure == nil { status.failure = await keeper?.obstacle }
        if status.suspended == nil { status.delivery = try? await exchanging.context.delivery(status) }
        if let keeper { status.locations = try await keeper.locations(besides: file) }
        if let poller {
            status.place = try await self.context.placeStatus(current.pool)
            status.place?.fault = poller.fault
        }
        return status
    }

    /// Returns whether the store holds everything that is known to exist: each log in the container, and each log that
    /// a receipt in it names.
    ///
    /// The method reads the container now. Logs that have not arrived there cannot be known here;
    /// ``StoreStatus/syncedAsOf`` tells the age of the newest information.
    ///
    /// - Parameter peer: the peer whose logs, and whose stated knowledge, count; nil for all peers that are not
    ///   retired.
    /// - Returns: false while a log is missing or waits for another file.
    /// - Throws: `UbiquitousStoreError`: `suspended` if the container is gone, `unsupported` if there is no such peer.
    public func isCaughtUp(to peer: PeerIdentifier? = nil) async throws -> Bool { try await exchanging.isCaughtUp(to: peer) }

    /// Ends the exchange and closes the file.
    ///
    /// The next opening publishes the unpublished saves; ``finish(within:)`` publishes them before it closes.
    ///
    /// - Throws: GRDB's error if statements are still running.
    public func close() async throws {
        poller?.cancel()
        await keeper?.stop()
        await current.stop()
        // A program may end after this call.
        await runner.context.toldTransport(within: .seconds(2))
        runner.context.endRecording()
        notices.broadcast.close()
        importProgress.broadcast.close()
        // It waits for reads and writes in progress.
        try await blocking { [base = current] in try base.pool.close() }
    }
}
