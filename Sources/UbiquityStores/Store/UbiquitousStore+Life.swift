package import Foundation
internal import GRDB
package import Logging
package import StoreExchange
internal import StoreFormat
internal import StoreRecords
public import SystemPackage
internal import TreeWatching
public import UbiquityContainers

extension UbiquitousStore: FollowingStore {}

extension UbiquitousStore {
    /// Opens a store, and creates it if it is new.
    ///
    /// The store follows the account: whichever account is signed in, it reads and writes a file of that account. It
    /// returns at once, even if the container's file system does not respond. It uses the account's file if the
    /// account's content has been read before, a fallback file until then, and a local file while nobody is signed in.
    /// Saves to the fallback file are published with the account's. By ``StoreOptions/joiningPolicy``, saves that were
    /// made while nobody was signed in are published too. <doc:StoreLife> describes the states and their transitions.
    /// With ``StoreOptions/Container/fixed(_:)`` the store stays with one container instead.
    ///
    /// The app's migrator runs first. On a store that has content it runs completely or not at all, as
    /// <doc:SchemaVersions> describes. If synced tables contain rows from before they were synced, from a migration or
    /// from ``StoreOptions/existingDatabase``, the store adopts them after the open call, as insertions that never win
    /// over an edit; `didAdopt` reports their number. The log warns of tables that the schema declares neither as synced
    /// nor as local.
    ///
    /// - Parameters:
    ///   - path: the path at which the app wants its store, outside of containers, or in a `.nosync` folder of the fixed
    ///     one. The files themselves lie beside it, below `CoreDataUbiquitySupport`, one for each account.
    ///   - options: the content's name, and how it is exchanged.
    ///   - container: the container's identifier, such as `org.example.notes`. Nil means
    ///     ``StoreOptions/containerIdentifier``, or else the first declared one.
    ///   - home: the device home; nil for the user's own, or that of the fixed container.
    ///   - schema: the app's migrator and synced tables.
    /// - Returns: the store, ready for reads and writes.
    /// - Throws: `UbiquitousStoreError`: `unsupported` for a file in a wrong place, or a container or home that
    ///   contradicts the options. One error lists all violations of the schema and all forbidden changes of a migration.
    ///   Errors of the app's own migrations pass through. If it throws, an existing store does not change.
    ///   `ContainerError` if the device home cannot be read.
    public static func open(
        at path: FilePath, options: Options, container: String? = nil, home: DeviceHome? = nil, schema: SyncedSchema
    ) async throws -> UbiquitousStore {
        try await open(at: path, options: options, container: container, home: home, schema: schema, now: { Date() })
    }

    /// Opens a store with the given clock, files and log; `moments` is called at each step of its way with the account.
    @concurrent
    package static func open(
        at path: FilePath, options: Options, container: String? = nil, home: DeviceHome? = nil, schema: SyncedSchema,
        now: @escaping @Sendable () -> Date, files: any FileLayer = LinuxFileLayer(), logger: Logger = .ubiquity,
        moments: (@Sendable (KeeperMoment) async -> Void)? = nil, pollingClock: any Clock<Duration> = ContinuousClock(),
        placeSource: (any PlaceSource)? = nil,
        fileSystem: @Sendable (FilePath) -> FileSystemFacts? = { FileSystemFacts(at: $0) }
    ) async throws -> UbiquitousStore {
        if case .fixed(let fixed) = options.container {
            _ = try (options.identifier(or: container), options.home(or: home))
            return try await open(at: path, options: options, in: fixed, schema: schema, now: now, logger: logger, fileSystem: fileSystem)
        }
        let path = try checked(path, options, logger: logger, fileSystem: fileSystem)
        let home = try home ?? DeviceHome.standard()
        if let scope = options.scope {
            return try await open(
                at: path, options: options, in: scope, home: home, schema: schema, now: now, files: files, logger: logger, clock: pollingClock,
                source: placeSource)
        }
        let identifier = try UbiquityContainer.identifier(options.identifier(or: container), in: home)
        if let root = try home.containersRoot, let account = try home.account, path.starts(with: root) {
            try StorePlace.check(path, in: UbiquityContainer(recorded: identifier, of: account, home: home, files: files))
        }
        let context = StoreContext(options: options, schema: schema, now: now, files: files, logger: logger)
        let places = StoreFiles(path: path, identifier: identifier, home: home, context: context, moments: moments)
        let (base, life) = try await places.begin()
        let keeper = StoreKeeper(life, places)
        let store = UbiquitousStore(base, context, keeper: keeper)
        if options.advanced.exchangesAutomatically {
            // Not awaited: the file system may not respond.
            Task { [weak base] in await base?.begin() }
        }
        await keeper.start(store)
        return store
    }

    /// The place where the store keeps its records now; nil if the store was opened for one container.
    public var place: StoreTransition.Place? {
        get async { await keeper?.place }
    }

    /// Copies an account's records on this device into the local file, while nobody is signed in.
    ///
    /// Signing out copies nothing by itself. The copies are saved as the device's own records: the account that signs
    /// in next receives them, by ``StoreOptions/joiningPolicy``. A record is left out if its key exists already, or if
    /// a rule of the schema rejects it beside the present records. If another record refers to one that is left out,
    /// nothing is copied. Columns and tables that never leave the device are not copied.
    ///
    /// - Parameter account: an account that has been signed in on this device.
    /// - Returns: the number of copied records; they are copied in one save.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if an account is signed in, or the account has no file;
    ///   GRDB's errors.
    @discardableResult
    public func copyRecords(of account: AccountName) async throws -> Int {
        let refusal = UbiquitousStoreError(
            .unsupported, "Records of \(account) can be copied only while nobody is signed in; sign out first.", path: file)
        guard let keeper, await keeper.place == .local, try keeper.files.home.account == nil else { throw refusal }
        // A file that has not been filled yet does not hold what the user has seen.
        let isGathered = try await keeper.files.isGathered(account)
        let places: [StoreTransition.Place] = isGathered ? [.account(account)] : [.fallback(account), .account(account)]
        for place in places where try await keeper.files.exists(place) {
            let source = try await keeper.files.withoutObservers.open(place)
            defer { try? source.pool.close() }
            let shapes = source.file.shapes
            return try await write { db in
                // An account may have signed in in the meantime.
                guard try StoreState.read(db).place == .local else { throw refusal }
                try db.execute(sql: "PRAGMA defer_foreign_keys = 1")
                return try source.pool.read { origin in try shapes.reduce(0) { try $0 + $1.copyRows(from: origin, to: db) } }
            }
        }
        throw UbiquitousStoreError(.unsupported, "There is no file of \(account) on this device.", path: file)
    }

    /// Tells a handler before the store changes files, and waits for it up to ``StoreOptions/Advanced/transitionDeadline``.
    ///
    /// The handler may read and save to the old file; its saves belong to the old account. Each handler runs in a task
    /// of its own, beside the others, on the global concurrent executor unless the closure has an actor. If a handler
    /// exceeds the deadline, its saves fail once the file has changed.
    ///
    /// - Parameter handler: receives each transition once; its task is cancelled when the deadline has passed.
    /// - Returns: the registration; keep it for as long as the handler should be called.
    public func onWillChange(_ handler: @escaping @Sendable (StoreTransition) async -> Void) -> TransitionHandler { handlers.add(handler) }
}

extension TableShape {
    /// Inserts the rows of another file's table that fit beside the present ones.
    fileprivate func copyRows(from origin: Database, to db: Database) throws -> Int {
        let columns = (keyColumns + self.columns).map(\.quotedIdentifier).joined(separator: ", ")
        let places = Array(repeating: "?", count: keyColumns.count + self.columns.count).joined(separator: ",")
        let insert = try RawStatement("INSERT OR IGNORE INTO main.\(name.quotedIdentifier) (\(columns)) VALUES (\(places))", db)
        let row = try RawStatement("SELECT \(columns) FROM main.\(name.quotedIdentifier)", origin)
        var count = 0
        while try row.step() {
            for index in 0..<(keyColumns.count + self.columns.count) { insert.bind(index + 1, row.value(index)) }
            try insert.run()
            count += db.changesCount
        }
        return count
    }
}
