internal import Foundation
internal import GRDB
internal import Synchronization
public import SystemPackage
public import UbiquityContainers

/// How far the copy of a store has come, and what it came to.
public struct StoreMigration: Sendable, Hashable {
    /// How many rows are in the copy.
    public internal(set) var rows = 0
    /// How many there are.
    public internal(set) var total = 0
    /// How many of the rows in the copy had been there when it was taken up again.
    public internal(set) var kept = 0
    /// The rows of each table that is done: copy and table were compared, by their number and a hash of their content.
    public internal(set) var tables: [String: Int] = [:]
}

extension UbiquitousStore {
    /// How a store is copied to a plain database.
    public struct MigrationOptions: Sendable, Hashable {
        /// Whether the copy takes the place of what is there, once it is whole.
        public var replacesExisting: Bool

        /// Options.
        ///
        /// - Parameter replacesExisting: whether the copy takes the place of what is there.
        public init(replacesExisting: Bool = false) { self.replacesExisting = replacesExisting }
    }

    /// Copies the store to a plain database, and goes on with a copy that was cut off.
    ///
    /// The copy holds the app's tables as they are at one moment, and nothing of this package. It grows beside its place, by batches of rows, and
    /// is put there once each table has been compared with the store's. A process that is killed leaves the beginning: the next call goes on
    /// behind it, table by table, and begins only those anew that have changed there since. An error, or the task's cancellation, leaves nothing.
    ///
    /// - Parameters:
    ///   - path: where to; nothing may be there, unless the options say so.
    ///   - options: whether what is there is replaced.
    ///   - progress: called after each batch, on a thread of GRDB's.
    /// - Returns: what was copied.
    /// - Throws: `UbiquitousStoreError`; `CancellationError` where the task is cancelled.
    @discardableResult
    public func migrate(
        to path: FilePath, options: MigrationOptions = MigrationOptions(), progress: (@Sendable (StoreMigration) -> Void)? = nil
    ) async throws -> StoreMigration {
        let writer = PlainCopyWriter(target: path, replacesExisting: options.replacesExisting)
        return try await read { db in try writer.write(db, progress) }
    }

    /// Copies a plain database to a new store, takes over its rows, and opens the store.
    ///
    /// The plain database is only read, and stays as it is. A process that is killed leaves the beginning, with which the next call goes on: the
    /// copy by batches of rows, as ``migrate(to:options:progress:)`` does, and then the taking over. ``Options/existingDatabase`` does
    /// the same behind an ordinary opening.
    ///
    /// - Parameters:
    ///   - plain: the plain database, with the app's tables.
    ///   - path: where the app wants its store.
    ///   - options: the content's name, and how it is exchanged.
    ///   - container: the container that holds the content.
    ///   - schema: the app's migrator and synced tables.
    ///   - progress: called after each batch of the copy.
    /// - Returns: the store; and what was copied, which is nothing where the store was there already. Where the container is missing, the rows
    ///   wait for it to be taken over.
    /// - Throws: `UbiquitousStoreError`; errors of the app's own migrations pass through.
    public static func migrate(
        _ plain: FilePath, to path: FilePath, options: Options, in container: UbiquityContainer, schema: SyncedSchema,
        progress: (@Sendable (StoreMigration) -> Void)? = nil
    ) async throws -> (store: UbiquitousStore, migration: StoreMigration) {
        guard FileManager.default.fileExists(atPath: plain.string) else {
            throw UbiquitousStoreError(.fileSystem, "There is no database at \(plain) to be made a store.", path: plain)
        }
        var options = options
        options.existingDatabase = plain
        let last = Mutex(StoreMigration())
        let store = try await open(at: path, options: options, in: container, schema: schema, now: { Date() }) { migration in
            last.withLock { $0 = migration }
            progress?(migration)
        }
        try await store.engine.run(.place)
        return (store, last.withLock { $0 })
    }
}
