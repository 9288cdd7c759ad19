public import GRDB
internal import StoreFormat
public import SystemPackage
package import UbiquityContainers

/// An SQLite database that fills a store; it is only read.
///
/// It has the app's tables, created by the app's migrator. It must be in a rollback journal mode if its directory is
/// not writable.
public struct SeedFile: Sendable, Hashable {
    /// The file.
    public var path: FilePath
    /// The tables to read; nil for all synced tables.
    public var tables: [String]?
    /// Whether the file is removed once all of it is durable in the store, or if the store had it already.
    public var isRemovedAfterwards: Bool

    /// Creates a seed.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - tables: the tables to read, in their order; nil for all synced tables.
    ///   - isRemovedAfterwards: whether the file is removed once the seeding is complete.
    public init(_ path: FilePath, tables: [String]? = nil, isRemovedAfterwards: Bool = false) {
        self.path = path
        self.tables = tables
        self.isRemovedAfterwards = isRemovedAfterwards
    }

    /// Reads the file.
    ///
    /// - Parameter value: a closure that receives the database, which is read-only.
    /// - Returns: the closure's result.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the closure writes, and if the file cannot be read; the
    ///   closure's errors.
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
            // One transaction lasts as long as the connection, so that every read sees the file as of one moment.
            configuration.allowsUnsafeTransactions = true
            let queue = try DatabaseQueue(path: path.string, configuration: configuration)
            try queue.unsafeRead { db in try db.execute(sql: "BEGIN; SELECT count(*) FROM sqlite_master") }
            return queue
        }
    }

    /// Runs a body, and adds the file's path to errors of SQLite.
    func explaining<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            switch error.fault {
            case .access(.readOnly):
                throw UbiquitousStoreError(.unsupported, "\(path) is a seed, which is only read: write to the store.", path: path, cause: error)
            case .file, .virtualTable:
                throw UbiquitousStoreError(
                    .notADatabase, "The seed \(path) is not a whole SQLite database: put it in place again.", path: path, cause: error)
            case .access, .disk(.operation):
                throw UbiquitousStoreError(
                    .fileSystem,
                    "The seed \(path) cannot be read; see whether it is there, its owner and mode, and that it was closed in journal mode DELETE.",
                    path: path, cause: error)
            default: throw error
            }
        }
    }

    /// Removes the file and SQLite's files beside it, which must not be applied to a later file of that name.
    package func remove(_ files: any FileLayer) throws {
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
