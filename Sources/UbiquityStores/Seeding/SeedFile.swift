public import GRDB
public import SystemPackage
internal import UbiquityContainers

/// An SQLite database that a store is filled from; it is only ever read.
///
/// It has the tables of the app's schema, made by the same migrator, in a rollback journal mode where its directory cannot be written.
public struct SeedFile: Sendable, Hashable {
    /// The file.
    public var path: FilePath
    /// The tables to take; nil for all that sync.
    public var tables: [String]?
    /// Whether the file is removed once all of it is in the store, durably, or the store had it already.
    public var isRemovedAfterwards: Bool

    /// A file to seed from.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - tables: the tables to take, in their order; nil for all that sync.
    ///   - isRemovedAfterwards: whether it is removed once the seeding is complete.
    public init(_ path: FilePath, tables: [String]? = nil, isRemovedAfterwards: Bool = false) {
        self.path = path
        self.tables = tables
        self.isRemovedAfterwards = isRemovedAfterwards
    }

    /// Reads what is in it.
    ///
    /// - Parameter value: gets the database, to which nothing can be written.
    /// - Returns: what the closure returns.
    /// - Throws: `UbiquitousStoreError` with `unsupported` where the closure writes, and where the file cannot be read; the closure's errors.
    public func read<Result: Sendable>(_ value: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await blocking {
            let queue = try open()
            defer { try? queue.close() }
            return try explaining { try queue.unsafeRead(value) }
        }
    }

    func open() throws -> DatabaseQueue {
        try explaining {
            var configuration = Configuration()
            configuration.label = "Ubiquity seed"
            configuration.readonly = true
            // One transaction lasts as long as the connection, so that the file is read as it is at one moment.
            configuration.allowsUnsafeTransactions = true
            let queue = try DatabaseQueue(path: path.string, configuration: configuration)
            try queue.unsafeRead { db in try db.execute(sql: "BEGIN; SELECT count(*) FROM sqlite_master") }
            return queue
        }
    }

    /// Says of SQLite's errors which file they are about.
    func explaining<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            switch error.fault {
            case .access(.readOnly):
                throw UbiquitousStoreError(.unsupported, "\(path) is a seed, which is only read: write to the store.", path: path, cause: error)
            case .file, .virtualTable:
                throw UbiquitousStoreError(
                    .notADatabase, "The seed \(path) is not a whole SQLite database: put it in place anew.", path: path, cause: error)
            case .access, .disk(.operation):
                throw UbiquitousStoreError(
                    .fileSystem,
                    "The seed \(path) cannot be read; see whether it is there, its owner and mode, and that it was closed in journal mode DELETE.",
                    path: path, cause: error)
            default: throw error
            }
        }
    }

    /// Removes the file and what SQLite keeps beside it, which must not be found by another that takes its place.
    func remove(_ files: any FileLayer) throws {
        do {
            for suffix in ["-journal", "-wal", "-shm", ""] {
                try files.remove(FilePath(path.string + suffix))
                Waypoint.seedRemoved.pass()
            }
            try files.syncDirectory(path.removingLastComponent())
        } catch {
            throw UbiquitousStoreError(
                .fileSystem, "The seed \(path) is in the store and cannot be removed; check the owner and mode of its directory.", path: path,
                cause: error)
        }
    }
}
