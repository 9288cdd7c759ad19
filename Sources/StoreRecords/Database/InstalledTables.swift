internal import GRDB

/// The facts of a file's schema that a store needs as long as it is open.
struct InstalledTables {
    /// The synced tables, with their numbers.
    let shapes: [TableShape]
    /// The app's migrations that have run.
    let migrations: [String]
    /// Whether a table may have CHECKs.
    let hasChecks: Bool
    /// SQLite's number of the schema, which every change of the schema increments
    /// (sqlite.org/pragma.html#pragma_schema_version).
    private let version: Int

    /// Reads the facts that belong to installed tables.
    ///
    /// - Parameters:
    ///   - shapes: the synced tables, with their numbers.
    ///   - schema: the app's migrator and synced tables.
    ///   - db: a connection, in the transaction in which the tables were found.
    /// - Throws: GRDB's errors.
    init(_ shapes: [TableShape], _ schema: SyncedSchema, _ db: Database) throws {
        self.shapes = shapes
        migrations = try schema.migrator.appliedMigrations(db)
        hasChecks = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND sql LIKE '%check%')")!
        version = try Self.version(db)
    }

    private static func version(_ db: Database) throws -> Int { try Int.fetchOne(db, sql: "PRAGMA main.schema_version")! }

    /// Returns whether another connection finds the schema from which these facts were read.
    ///
    /// The rows of the store's own tables that the facts depend on change only while the `-open` lock is held.
    ///
    /// - Parameter db: a connection to the file, opened under the `-open` lock under which the facts were read.
    /// - Returns: whether nothing has changed.
    /// - Throws: GRDB's errors.
    func isValid(in db: Database) throws -> Bool { try Self.version(db) == version }
}
