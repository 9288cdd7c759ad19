internal import Foundation
internal import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
/// The number of rows that a continued copy already had.
internal import Synchronization
public import SystemPackage
public import UbiquityContainers

extension UbiquitousStore {
    /// The options for copying a store to a plain database.
    public struct MigrationOptions: Sendable, Hashable {
        /// Whether the copy replaces an existing file, once it is complete.
        public var replacesExisting: Bool

        /// Creates options.
        ///
        /// - Parameter replacesExisting: whether the copy replaces an existing file.
        public init(replacesExisting: Bool = false) { self.replacesExisting = replacesExisting }
    }

    /// Copies the store to a plain database, or continues an interrupted copy.
    ///
    /// The copy contains the app's tables, as of one moment, and no data of this package. It is written to a draft
    /// beside the destination, in batches of rows, and moved into place once each table has been compared with the
    /// store's. A process that is killed leaves the draft. The next call continues it, table by table, and starts over
    /// only with tables whose copied rows have changed since. An error, or cancellation of the task, leaves nothing.
    ///
    /// - Parameters:
    ///   - path: the destination; nothing may exist there, unless the options allow it.
    ///   - options: whether an existing file is replaced.
    ///   - progress: called after each batch, on a thread of GRDB.
    /// - Returns: the numbers of copied rows.
    /// - Throws: `UbiquitousStoreError`; `CancellationError` if the task is cancelled.
    @discardableResult
    public func migrate(
        to path: FilePath, options: MigrationOptions = MigrationOptions(), progress: (@Sendable (StoreMigration) -> Void)? = nil
    ) async throws -> StoreMigration {
        let writer = PlainCopyWriter(target: path, replacesExisting: options.replacesExisting)
        return try await read { db in try writer.write(db, progress) }
    }

    /// Copies a plain database to a new store, adopts its rows, and opens the store.
    ///
    /// The plain database is only read and does not change. A process that is killed leaves the beginning of the copy,
    /// and the next call continues it. The copy runs by batches of rows, as in ``migrate(to:options:progress:)``, and
    /// the adoption follows. ``StoreOptions/existingDatabase`` does the equivalent after an ordinary opening.
    ///
    /// - Parameters:
    ///   - plain: the plain database, with the app's tables.
    ///   - path: the path for the app's store.
    ///   - options: the content's name, and how it is exchanged.
    ///   - container: the container that holds the content.
    ///   - schema: the app's migrator and synced tables.
    ///   - progress: called after each batch of the copy.
    /// - Returns: the store, and the numbers of copied rows, which are zero if the store existed already. If the
    ///   container is missing, the rows are adopted once it is back.
    /// - Throws: `UbiquitousStoreError`; errors thrown by migrations pass through.
    public static func migrate(
        _ plain: FilePath, to path: FilePath, options: Options, in container: UbiquityContainer, schema: SyncedSchema,
        progress: (@Sendable (StoreMigration) -> Void)? = nil
    ) async throws -> (store: UbiquitousStore, migration: StoreMigration) {
        guard FileManager.default.fileExists(atPath: plain.string) else {
            throw UbiquitousStoreError(.fileSystem, "There is no database at \(plain) to migrate.", path: plain)
        }
        var options = options
        options.existingDatabase = plain
        let last = Mutex(StoreMigration())
        let store = try await open(at: path, options: options, in: container, schema: schema, now: { Date() }) { migration in
            last.withLock { $0 = migration }
            progress?(migration)
        }
        try await store.runner.run(.place)
        return (store, last.withLock { $0 })
    }
}

extension UbiquitousStore {
    /// Writes the app's tables, as of one moment, to a plain database without any table, trigger or key of this
    /// package.
    ///
    /// The store stays in use and does not change. The copy is written to a draft beside the destination. It is moved
    /// into place after a comparison of the number of rows and their content with the store's, as in
    /// ``migrate(to:options:progress:)``. Its journal mode is DELETE, and the app's migrator accepts it like the store.
    /// Triggers of the app that test `ubiquity_import` no longer test it in the copy.
    ///
    /// - Parameters:
    ///   - path: the destination; nothing may exist there.
    ///   - progress: called with the completed part, from 0 to 1, on a thread of GRDB.
    /// - Returns: the numbers of copied rows.
    /// - Throws: `UbiquitousStoreError`; `CancellationError` if the task is cancelled. No copy exists then.
    @discardableResult
    public func writePlainCopy(to path: FilePath, progress: (@Sendable (Double) -> Void)? = nil) async throws -> PlainCopy {
        let migration = try await migrate(to: path) { progress?(Double($0.rows) / Double(max(1, $0.total))) }
        return PlainCopy(rows: migration.tables)
    }
}
