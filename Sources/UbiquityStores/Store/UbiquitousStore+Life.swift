package import Foundation
internal import GRDB
package import Logging
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
public import SystemPackage
internal import TreeWatching
public import UbiquityContainers

extension UbiquitousStore: FollowingStore {}

extension UbiquitousStore {
    /// Opens a store that follows the account: whoever is signed in, it keeps reading and writing, from and to a file of theirs.
    ///
    /// It returns at once, also where the container's file system does not answer: with the account's file, where its content has been read before; with a fallback file, until it has been; with a
    /// file of this device, while nobody is signed in. What is saved to the fallback file goes out with the account's, and so does what was saved while nobody was signed in, by ``StoreOptions/joiningPolicy``. The
    /// states and how one follows another stand in <doc:StoreLife>.
    ///
    /// - Parameters:
    ///   - path: where the app wants its store, outside of containers. The files themselves lie beside it, below `CoreDataUbiquitySupport`.
    ///   - options: the content's name, and how it is exchanged.
    ///   - container: the container's identifier, such as `org.example.notes`; nil for that of ``StoreOptions/containerIdentifier``, else the first that is declared.
    ///   - home: the user's own unless given.
    ///   - schema: the app's migrator and synced tables.
    /// - Returns: the store, ready for reads and writes.
    /// - Throws: `UbiquitousStoreError`, or an error of the app's own migrations, as ``open(at:options:in:schema:)`` does; `ContainerError` where the device home cannot be read.
    public static func open(
        at path: FilePath, options: Options, container: String? = nil, home: DeviceHome? = nil, schema: SyncedSchema
    ) async throws -> UbiquitousStore {
        try await open(at: path, options: options, container: container, home: home, schema: schema, now: { Date() })
    }

    /// Opens a store that follows the account, with the given clock, files and log, and calls `moments` at each moment of its way from file to file.
    @concurrent
    package static func open(
        at path: FilePath, options: Options, container: String? = nil, home: DeviceHome? = nil, schema: SyncedSchema,
        now: @escaping @Sendable () -> Date, files: any FileLayer = LinuxFileLayer(), logger: Logger = .ubiquity,
        moments: (@Sendable (KeeperMoment) async -> Void)? = nil,
        fileSystem: @Sendable (FilePath) -> FileSystemFacts? = { FileSystemFacts(at: $0) }
    ) async throws -> UbiquitousStore {
        let path = try checked(path, options, logger: logger, fileSystem: fileSystem)
        let home = try home ?? DeviceHome.standard()
        let identifier = try UbiquityContainer.identifier(options.container(or: container), in: home)
        if let root = try home.containersRoot, let account = try home.account, path.starts(with: root) {
            try StorePlace.check(path, in: UbiquityContainer(recorded: identifier, of: account, home: home, files: files))
        }
        let context = StoreContext(options: options, schema: schema, now: now, files: files, logger: logger)
        let places = StoreFiles(path: path, identifier: identifier, home: home, context: context, moments: moments)
        let (base, life) = try await places.begin()
        let keeper = StoreKeeper(life, places)
        let store = UbiquitousStore(base, context, keeper: keeper)
        if options.exchangesAutomatically {
            // A file system that does not answer holds up nobody.
            Task { [weak base] in await base?.begin() }
        }
        await keeper.start(store)
        return store
    }

    /// Where the store keeps its records now, and whose they are; nil of a store that was opened for one container.
    public var place: StoreTransition.Place? {
        get async { await keeper?.place }
    }

    /// Copies what an account has on this device into the file of this device, while nobody is signed in.
    ///
    /// Signing out copies nothing by itself. What is copied is saved anew, as the device's own: whoever signs in next is given it, by ``StoreOptions/joiningPolicy``. A record whose key is there already, or that a rule of the schema refuses beside what
    /// is there, is left out; where another refers to one that is left out, nothing is copied. Columns and tables that never leave the device do not go along.
    ///
    /// - Parameter account: an account that has been signed in to on this device.
    /// - Returns: how many records have been copied; in one save.
    /// - Throws: `UbiquitousStoreError` with `unsupported` where somebody is signed in, or there is no file of the account; GRDB's errors.
    @discardableResult
    public func copyRecords(of account: AccountName) async throws -> Int {
        let refusal = UbiquitousStoreError(
            .unsupported, "Records of \(account) can be copied to this device's own while nobody is signed in; sign out first.", path: file)
        guard let keeper, await keeper.place == .local, try keeper.files.home.account == nil else { throw refusal }
        // One that has not been filled yet is not what has been seen.
        let isGathered = try await keeper.files.isGathered(account)
        let places: [StoreTransition.Place] = isGathered ? [.account(account)] : [.fallback(account), .account(account)]
        for place in places where try await keeper.files.exists(place) {
            let source = try await keeper.files.muted.open(place)
            defer { try? source.pool.close() }
            let shapes = source.file.shapes
            return try await write { db in
                // Somebody may have signed in meanwhile.
                guard try StoreState.read(db).place == .local else { throw refusal }
                try db.execute(sql: "PRAGMA defer_foreign_keys = 1")
                return try source.pool.read { origin in try shapes.reduce(0) { try $0 + $1.copyRows(from: origin, to: db) } }
            }
        }
        throw UbiquitousStoreError(.unsupported, "There is no file of \(account) on this device.", path: file)
    }

    /// Tells a handler before the store changes files, and waits for it up to ``StoreOptions/transitionDeadline``.
    ///
    /// It may read and save to the old file: what it saves is of the old account. Each runs in a task of its own, on the global concurrent executor unless the closure has an actor of its own, beside the others. What one that was not waited for any longer saves is refused once the file has changed.
    ///
    /// - Parameter handler: is told of each transition, once; its task is cancelled when the deadline has passed.
    /// - Returns: keep it for as long as the handler is to be called.
    public func onWillChange(_ handler: @escaping @Sendable (StoreTransition) async -> Void) -> TransitionHandler { handlers.add(handler) }
}

extension TableShape {
    /// Inserts the rows of another file's table that fit beside those that are here.
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
