package import Foundation
public import GRDB
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
    /// How a store is opened.
    public struct Options: Sendable {
        /// The name of the store's content inside the container.
        public var contentName: String
        /// Whether changes of other peers are imported as they arrive, and saves published as they are made.
        ///
        /// Without it, both wait for `publish()` and `settled()`.
        public var exchangesAutomatically: Bool
        /// How long values that lost a conflict are kept.
        public var conflictRetention = ConflictRetention()
        /// How saves wait for each other, to go out as one log; nil, as it is at first, for one log a save.
        public var coalescing: Coalescing?
        /// The app's plain database from before it synced: where it is there and the store is new, the store begins with a copy of it.
        ///
        /// The plain database stays as it is, and later openings do not look at it.
        public var existingDatabase: FilePath?
        /// Files whose tables are joined with the store's, and never sync.
        public var attachedDatabases: [AttachedDatabase] = []
        /// In bytes: a larger text or blob goes out in a file of its own, which its log names.
        public var largeValueSize = 1 << 20

        /// Options.
        ///
        /// - Parameters:
        ///   - contentName: the name of the store's content inside the container, a plain directory name.
        ///   - exchangesAutomatically: whether changes come and go by themselves.
        public init(contentName: String, exchangesAutomatically: Bool = true) {
            self.contentName = contentName
            self.exchangesAutomatically = exchangesAutomatically
        }
    }

    /// The SQLite file in use.
    public let file: FilePath
    /// What observers hear: one sequence for each, from when it begins to iterate.
    public let notices: StoreNotices
    /// How far imports have come.
    public let importProgress: ImportProgressSequence

    private let storeFile: StoreFile
    var pool: DatabasePool { storeFile.pool }
    private let sealer: Sealer
    let engine: StoreEngine
    let runner: StoreRunner?

    private init(file: StoreFile, sealer: Sealer, engine: StoreEngine, runner: StoreRunner?, notices: StoreNotices) {
        self.file = file.path
        storeFile = file
        self.sealer = sealer
        self.engine = engine
        self.runner = runner
        self.notices = notices
        importProgress = ImportProgressSequence(broadcast: engine.progress)
    }

    deinit {
        runner?.cancel()
        notices.broadcast.close()
        importProgress.broadcast.close()
    }

    /// Opens a store, and creates it if it is new.
    ///
    /// The app's migrator runs first: on a store that has content as <doc:SchemaVersions> says, whole or not at all. Rows that are in the synced tables before these are synced, by a migration or in
    /// ``Options/existingDatabase``, are taken over behind the open call as insertions that never beat an edit; `didAdopt` tells how many. A container or content that is gone does not hinder opening: the store is suspended then, and
    /// keeps everything.
    ///
    /// - Parameters:
    ///   - path: where the app wants its store. The file itself lies beside it, below `CoreDataUbiquitySupport`, one for each account.
    ///   - options: the content's name, and how it is exchanged.
    ///   - container: the container that holds the content.
    ///   - schema: the app's migrator and synced tables.
    /// - Returns: the store, ready for reads and writes.
    /// - Throws: `UbiquitousStoreError`; the schema's violations, and what a migration may not do, come all at once. Errors of the app's own migrations
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
        copying: (@Sendable (StoreMigration) -> Void)? = nil
    ) async throws -> UbiquitousStore {
        if let fault = PathComponentRule.fault(in: options.contentName) {
            throw UbiquitousStoreError(.invalidSchema, "The content name \(options.contentName.debugDescription) \(fault); use one like Notes.")
        }
        if let fault = AttachedDatabase.fault(in: options.attachedDatabases) { throw UbiquitousStoreError(.invalidSchema, fault) }
        guard path.lastComponent != nil else {
            throw UbiquitousStoreError(.fileSystem, "“\(path)” names no store file; name one like Notes.sqlite.", path: path)
        }
        let storePath = StoreFile.path(for: path, peer: container.peer, contentName: options.contentName)
        let newState = StoreState(
            account: container.account.description, container: container.identifier.description, content: options.contentName, peer: container.peer,
            epoch: 1, sequence: 0, predecessor: nil, clock: .least, attached: false, receipt: 0)
        let file = try await blocking {
            try StoreFile.open(
                storePath, schema: schema, newState: newState, plain: options.existingDatabase, attached: options.attachedDatabases,
                files: container.files, copying: copying)
        }
        let state = try await file.pool.read { db in try StoreState.read(db) }
        let sealer = Sealer(
            shapes: file.shapes, schemaVersion: file.migrations.last ?? "", now: now, coalesces: options.coalescing != nil,
            largeValueSize: options.largeValueSize,
            elections: schema.tables.reduce(into: [:]) { $0[$1.name] = $1.election })
        let broadcast = Broadcast<StoreNotice>()
        let engine = StoreEngine(
            file: file, container: container, contentName: options.contentName, sealer: sealer, notices: broadcast, state: state,
            options: options, now: now)
        try await engine.start()
        let runner: StoreRunner? =
            if options.exchangesAutomatically {
                try await blocking { StoreRunner(engine: engine, container: container.path, storeDirectory: storePath.removingLastComponent()) }
            } else {
                nil
            }
        return UbiquitousStore(file: file, sealer: sealer, engine: engine, runner: runner, notices: StoreNotices(broadcast: broadcast))
    }

    /// Writes in one transaction, and seals the changes of synced tables with it.
    ///
    /// - Parameter updates: gets the database; an error that it throws undoes everything. In a task that is cancelled, GRDB interrupts it.
    /// - Returns: what the closure returns, once it is committed.
    /// - Throws: the closure's error, or GRDB's.
    public func write<Result: Sendable>(_ updates: @Sendable (Database) throws -> Result) async throws -> Result {
        let (result, isMarked) = try await pool.write { db in
            let result = try updates(db)
            return (result, try seal(db))
        }
        Waypoint.saveCommitted.pass()
        if isMarked { try? await blocking { self.resolve() } }
        runner?.wake()
        return result
    }

    /// Seals what is noted; whether records are marked by that.
    private func seal(_ db: Database) throws -> Bool {
        let isSealed = try sealer.seal(db) != nil
        Waypoint.saveSealed.pass()
        return try isSealed && RelatedTables.hasUnresolved(storeFile.shapes, db)
    }

    /// Finds out what marked records show.
    ///
    /// The save is done, whatever comes of this; what is still marked is looked at again before anything goes out or comes in.
    private func resolve() { _ = try? storeFile.resolve(by: sealer) }

    /// Seals what GRDB's own ways of writing leave, in a transaction of its own.
    ///
    /// Where that fails, or the body has left a transaction open, the notes are sealed before anything goes out or comes in.
    func sealNoted(_ db: Database) {
        guard !db.isInsideTransaction, (try? sealer.hasNotes(db)) == true else { return }
        try? db.inTransaction(.immediate) {
            _ = try seal(db)
            return .commit
        }
    }

    /// The same for what marked records show, outside of the database's threads.
    func resolveSealed() {
        resolve()
        runner?.wake()
    }

    /// Reads from a snapshot; never waits for a write or an import.
    ///
    /// - Parameter value: gets the database.
    /// - Returns: what the closure returns.
    /// - Throws: the closure's error, or GRDB's.
    public func read<Result: Sendable>(_ value: @Sendable (Database) throws -> Result) async throws -> Result {
        try await pool.read(value)
    }

    /// The store's connections that only read: `ValueObservation` sees saves and imports alike, here as in the store itself.
    ///
    /// Do not write through it.
    public var reader: any DatabaseReader { pool }

    /// Publishes every save made so far, and imports nothing.
    ///
    /// - Throws: `UbiquitousStoreError`. A store that is suspended keeps its saves and does not throw.
    public func publish() async throws {
        try await engine.publishOnly()
    }

    /// Publishes every save made so far, and imports every log that is in the container and ready.
    ///
    /// - Throws: `UbiquitousStoreError` with `suspended` where the container is gone; nothing is lost by that.
    public func settled() async throws {
        try await engine.settle()
    }

    /// The values that lost against others, written apart from them, oldest first.
    ///
    /// Each device lists for itself what it sees lose.
    ///
    /// Of a deletion, only a device that still had the record lists what else it held.
    ///
    /// - Returns: the conflicts that are kept.
    /// - Throws: GRDB's errors.
    public func conflicts() async throws -> [Conflict] {
        try await pool.read { db in try ConflictHistory(db).list() }
    }

    /// The records that are alive and not shown, since what they refer to is not; they are back when that is.
    ///
    /// - Returns: the records, by table and key.
    /// - Throws: GRDB's errors.
    public func held() async throws -> [HeldRecord] {
        try await pool.read { db in try RelationListing(db).held() }
    }

    /// The records that have become one with others, and what each of them holds.
    ///
    /// - Returns: each class of two and more, by table and the key that is shown.
    /// - Throws: GRDB's errors.
    public func duplicates() async throws -> [DuplicateRecords] {
        try await pool.read { db in try RelationListing(db).duplicates() }
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
        try await engine.status()
    }

    /// Ends the exchange and closes the file.
    ///
    /// Saves that are not published go out at the next opening.
    ///
    /// - Throws: GRDB's error where statements are still running.
    public func close() async throws {
        await runner?.stop()
        notices.broadcast.close()
        importProgress.broadcast.close()
        try pool.close()
    }
}
