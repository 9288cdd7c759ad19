package import Foundation
public import GRDB
package import Logging
internal import Synchronization
public import SystemPackage
internal import TreeWatching
public import UbiquityContainers

/// An SQLite store whose synced tables are kept in step with the account's other devices.
///
/// Reads and writes are plain GRDB. Each write is one transaction with its log, which is published behind it; changes of other peers
/// arrive by themselves and are announced by `notices`.
///
/// ```swift
/// let store = try await UbiquitousStore.open(
///     at: support.appending("Notes.sqlite"), options: .init(contentName: "Notes"), in: container, schema: schema)
/// try await store.write { db in try Note(title: "Milk").insert(db) }
/// for await notice in store.notices { … }
/// ```
public final class UbiquitousStore: Sendable {
    /// What observers hear: one sequence for each, from when it begins to iterate.
    public let notices: StoreNotices
    /// How far imports have come.
    public let importProgress: ImportProgressSequence

    let context: StoreContext
    private let base: Mutex<StoreBase>
    let observations = ObservationRelay()
    let handlers = TransitionHandlers()
    /// Follows the account; nil of a store that stays with its container's.
    let keeper: StoreKeeper?

    init(_ base: StoreBase, _ context: StoreContext, keeper: StoreKeeper? = nil) {
        self.context = context
        self.base = Mutex(base)
        self.keeper = keeper
        notices = StoreNotices(broadcast: context.notices)
        importProgress = ImportProgressSequence(broadcast: context.progress)
    }

    /// The file in use, and what goes with it.
    var current: StoreBase { base.withLock { $0 } }
    var engine: ExchangeRunner { current.engine }
    /// What exchanges with other devices, for the file in use or for the one that is being filled.
    var exchanging: ExchangeRunner { get async { await keeper?.gatheringEngine ?? engine } }

    /// The SQLite file in use.
    public var file: FilePath { current.file.path }

    deinit {
        keeper?.cancel()
        current.runner?.cancel()
        notices.broadcast.close()
        importProgress.broadcast.close()
    }

    /// Opens a store of one account's container, and creates it if it is new.
    ///
    /// The app's migrator runs first: on a store that has content as <doc:SchemaVersions> says, whole or not at all. Rows that are in the synced tables before these are synced, by a migration or in
    /// ``Options/existingDatabase``, are taken over behind the open call as insertions that never beat an edit; `didAdopt` tells how many. A container or content that is gone does not hinder opening: the store is suspended then, and
    /// keeps everything.
    ///
    /// - Parameters:
    ///   - path: where the app wants its store: outside of containers, or in a `.nosync` folder of this one. The file itself lies beside it, below
    ///     `CoreDataUbiquitySupport`, one for each account.
    ///   - options: the content's name, and how it is exchanged.
    ///   - container: the container that holds the content.
    ///   - schema: the app's migrator and synced tables.
    /// - Returns: the store, ready for reads and writes.
    /// - Throws: `UbiquitousStoreError`: `unsupported` for a file in a wrong place; the schema's violations, and what a migration may not do, come all at once. Errors of the app's own migrations
    ///   pass through. Where it throws, a store that was there is as it was.
    public static func open(at path: FilePath, options: Options, in container: UbiquityContainer, schema: SyncedSchema) async throws
        -> UbiquitousStore
    {
        try await open(at: path, options: options, in: container, schema: schema, now: { Date() })
    }

    /// The same with a clock of the caller's, who is told how far the copy of an existing database has come.
    @concurrent
    package static func open(
        at path: FilePath, options: Options, in container: UbiquityContainer, schema: SyncedSchema, now: @escaping @Sendable () -> Date,
        copying: (@Sendable (StoreMigration) -> Void)? = nil, logger: Logger = .ubiquity,
        fileSystem: @Sendable (FilePath) -> FileSystemFacts? = { FileSystemFacts(at: $0) }
    ) async throws -> UbiquitousStore {
        let path = try checked(path, options, logger: logger, fileSystem: fileSystem)
        _ = try options.container(or: container.identifier.description)
        for file in options.writtenFiles(at: path) { try StorePlace.check(file, in: container) }
        let context = StoreContext(options: options, schema: schema, now: now, files: container.files)
        let file = StoreFile.path(for: path, peer: container.peer, contentName: options.contentName)
        let base = try await open(file, in: container, context, copying: copying)
        container.home.note(KnownStore(path: path, content: options.content, container: container.identifier))
        return UbiquitousStore(base, context)
    }

    /// Sees that a store can be opened so, and warns where its file had better lie elsewhere.
    ///
    /// - Returns: the path, absolute.
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
        if let path = options.contentPath, let fault = UbiquitousStore.Options.fault(inContentPath: path) {
            throw UbiquitousStoreError(.unsupported, "The contentPath “\(path)” \(fault); name one like CoreData/Shared/Notes.", path: path)
        }
        for file in options.writtenFiles(at: path) { StorePlace.warn(of: file, fileSystem: fileSystem, logger: logger) }
        return path
    }

    /// Opens a file of a container's account, and begins to exchange.
    private static func open(
        _ path: FilePath, in container: UbiquityContainer, _ context: StoreContext, copying: (@Sendable (StoreMigration) -> Void)? = nil
    ) async throws -> StoreBase {
        let newState = StoreState(
            account: container.account.description, container: container.identifier.description, content: context.options.content,
            peer: container.peer, epoch: 1, sequence: 0, predecessor: nil, clock: .least, attached: false, receipt: 0)
        let base = try await StoreBase.open(
            path, newState: newState, in: container, plain: context.options.existingDatabase, context, copying: copying)
        try await base.engine.start()
        if context.options.exchangesAutomatically { try await base.run() }
        return base
    }

    /// Goes over to another file of the same content, which is made where it is not there.
    ///
    /// Reads, writes and observations go on. The one moment at which the file is another comes between two writes to the old one; what those left that has not gone
    /// out goes out before this returns.
    ///
    /// - Parameter path: the other file.
    /// - Throws: what opening throws, and the store stays with its file; or what publishing throws, and the other file is in use.
    package func change(to path: FilePath) async throws {
        let old = current
        let new = try await Self.open(path, in: old.engine.context.container!, context)
        try await old.pool.writeWithoutTransaction { _ in use(new) }
        await old.stop()
        try await old.engine.run(.publish)
        new.runner?.wake()
    }

    /// Uses another file from now on, and observes that; it is called on the writer's queue of the old one, to which so nothing is written meanwhile.
    func use(_ new: StoreBase) {
        base.withLock { $0 = new }
        observations.move(to: new.pool)
    }

    /// Does something with the file in use; once more where that is another by the time that the body could have begun.
    func onCurrent<Result>(_ body: (StoreBase) throws -> Result?) rethrows -> Result {
        while true {
            if let result = try body(current) { return result }
        }
    }

    /// The same with a body that waits.
    func onCurrent<Result: Sendable>(_ body: (StoreBase) async throws -> Result?) async rethrows -> Result {
        while true {
            if let result = try await body(current) { return result }
        }
    }

    /// Whether a file is still in use: on its writer's queue this stays so until the queue is left.
    func isCurrent(_ candidate: StoreBase) -> Bool { current === candidate }

    /// Writes in one transaction, and seals the changes of synced tables with it.
    ///
    /// - Parameter updates: gets the database; an error that it throws undoes everything. In a task that is cancelled, GRDB interrupts it.
    /// - Returns: what the closure returns, once it is committed.
    /// - Throws: the closure's error, or GRDB's.
    public func write<Result: Sendable>(_ updates: @Sendable (Database) throws -> Result) async throws -> Result {
        if context.isReadOnly { throw UbiquitousStoreError.readOnly(file) }
        return try await onCurrent { base in
            if let old = TransitionHandlers.base, old !== base {
                throw UbiquitousStoreError(
                    .suspended, "The store has changed files since this handler of will-change was called: what it saves would be another account's.",
                    path: old.file.path)
            }
            let outcome: (Result, Bool)? = try await base.pool.write { db in
                guard isCurrent(base) else { return nil }
                let result = try base.watching { try updates(db) }
                return (result, try base.seal(db))
            }
            guard let (result, isMarked) = outcome else { return nil }
            Waypoint.saveCommitted.pass()
            if isMarked { try? await blocking { base.resolve() } }
            base.runner?.wake()
            return result
        }
    }

    /// Reads from a snapshot; never waits for a write or an import.
    ///
    /// - Parameter value: gets the database.
    /// - Returns: what the closure returns.
    /// - Throws: the closure's error, or GRDB's.
    public func read<Result: Sendable>(_ value: @Sendable (Database) throws -> Result) async throws -> Result {
        try await onCurrent { base in
            let result = try await base.pool.read(value)
            // A file that has been left may be empty by now.
            return isCurrent(base) ? result : nil
        }
    }

    /// Publishes every save made so far, and imports nothing.
    ///
    /// - Throws: `UbiquitousStoreError`. A store that is suspended keeps its saves and does not throw.
    public func publish() async throws {
        try await engine.run(.publish)
    }

    /// Publishes every save made so far, and imports every log that is in the container and ready.
    ///
    /// A store that is on its way to another file arrives there first, or does what can be done towards it. While nobody is signed in there is nothing to do.
    ///
    /// - Throws: `UbiquitousStoreError` with `suspended` where the container is gone, or `paused`; nothing is lost by that.
    public func settled() async throws {
        try await keeper?.settle()
        try await engine.settleByPolicy()
    }

    /// Makes the synced tables anew from the container's content.
    ///
    /// It is one transaction: readers see what was there until it is done, and keep it where it fails or the process ends. Saves wait meanwhile;
    /// `importProgress` tells how far it has come. Columns that stay on the device, and the lists of what lost or is broken, are kept.
    ///
    /// - Throws: `UbiquitousStoreError`: `contentIncomplete` where the content does not hold all that the store does, `suspended` where there is none.
    public func rebuildFromUbiquitousContent() async throws {
        try await engine.rebuild()
    }

    /// Writes down all that the store holds as a baseline, whatever ``Options/baselines`` says.
    ///
    /// - Returns: the baseline's number, or nil where saves came in between.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    @discardableResult
    public func rollBaseline() async throws -> Int64? {
        try await engine.rollNow()
    }

    /// The other peers of the content.
    ///
    /// - Returns: each that has a directory of this epoch, by identifier; none where the content is not there.
    /// - Throws: `Errno` where the container cannot be read, or GRDB's errors.
    public func peers() async throws -> [StorePeer] { try await exchanging.peers() }

    /// Says to all devices that a peer is not expected back: nobody keeps logs for it any more.
    ///
    /// Where it returns it is active again by itself, joins a baseline instead of logs that have gone, and loses nothing that it had not sent.
    ///
    /// - Parameters:
    ///   - peer: another peer of the content.
    ///   - sequence: where logs of that peer are lost for good, the last of them: logs that follow these are joined without them. They stay named in
    ///     ``StoreStatus/knowledge`` as holes, which close when a log or a baseline that holds it turns up after all. 0 for none.
    /// - Throws: `UbiquitousStoreError`: `unsupported` where nobody has heard of that peer, or it is this store's own; `suspended` where the container is gone.
    public func retire(_ peer: PeerIdentifier, at sequence: Int64 = 0) async throws { try await exchanging.retire(peer, at: sequence) }

    /// The values that lost against others, written apart from them, oldest first.
    ///
    /// Each device lists for itself what it sees lose.
    ///
    /// Of a deletion, only a device that still had the record lists what else it held.
    ///
    /// - Returns: the conflicts that are kept.
    /// - Throws: GRDB's errors.
    public func conflicts() async throws -> [Conflict] {
        try await current.pool.read { db in try ConflictHistory(db).list() }
    }

    /// The records that are alive and not shown, since what they refer to is not; they are back when that is.
    ///
    /// - Returns: the records, by table and key.
    /// - Throws: GRDB's errors.
    public func held() async throws -> [HeldRecord] {
        try await current.pool.read { db in try RelationListing(db).held() }
    }

    /// The records that have become one with others, and what each of them holds.
    ///
    /// - Returns: each class of two and more, by table and the key that is shown.
    /// - Throws: GRDB's errors.
    public func duplicates() async throws -> [DuplicateRecords] {
        try await current.pool.read { db in try RelationListing(db).duplicates() }
    }

    /// The records that show another value in a column than was written, since another record holds that.
    ///
    /// - Returns: one for each such column, by table and key.
    /// - Throws: GRDB's errors.
    public func moved() async throws -> [MovedRecord] {
        try await current.pool.read { db in try RelationListing(db).moved() }
    }

    /// Writes back what lost, as a save of its own, and takes the conflict off this device's list.
    ///
    /// - Parameter conflict: one that `conflicts()` listed.
    /// - Throws: `UbiquitousStoreError` with `unsupported` where the schema, or a column's policy, does not take the value.
    public func restore(_ conflict: Conflict) async throws {
        try await write { db in try ConflictHistory(db).restore(conflict) }
    }

    /// How the store stands now.
    ///
    /// - Returns: a snapshot of the store's own account of things.
    /// - Throws: GRDB's errors.
    public func status() async throws -> StoreStatus {
        var status = try await engine.status()
        if let gathering = await keeper?.gatheringEngine {
            // What holds up the account's file.
            let other = try await gathering.status()
            status.isPaused = other.isPaused
            (status.suspended, status.waiting, status.quarantined) = (other.suspended, other.waiting, other.quarantined)
            status.failure = status.failure ?? other.failure
        }
        if status.failure == nil { status.failure = await keeper?.obstacle }
        if let keeper { status.locations = try await keeper.locations(besides: file) }
        return status
    }

    /// Whether the store holds everything that is known to be there: each log that lies in the container, and each that a receipt in it names.
    ///
    /// The container is looked at now. What has not arrived there nobody here can know of; ``StoreStatus/syncedAsOf`` says how old the newest word is.
    ///
    /// - Parameter peer: everything that this peer has written, or says that it holds; nil for all peers that are not retired.
    /// - Returns: false while anything of that is to come, or waits for something else.
    /// - Throws: `UbiquitousStoreError`: `suspended` where the container is gone, `unsupported` where there is no such peer.
    public func isCaughtUp(to peer: PeerIdentifier? = nil) async throws -> Bool { try await exchanging.isCaughtUp(to: peer) }

    /// Ends the exchange and closes the file.
    ///
    /// Saves that are not published go out at the next opening.
    ///
    /// - Throws: GRDB's error where statements are still running.
    public func close() async throws {
        await keeper?.stop()
        await current.stop()
        notices.broadcast.close()
        importProgress.broadcast.close()
        try current.pool.close()
    }
}
