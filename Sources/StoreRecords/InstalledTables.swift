internal import GRDB

/// The facts of a file's schema that a store needs as long as it is open.
struct InstalledTables {
    /// The synced tables, with their numbers.
    let shapes: [TableShape]
    /// The app's migrations that have run.
    let migrations: [String]
    /// Whether a table may have CHECKs.
    let hasChecks: Bool
    /// The statements that define the schema.
    ///
    /// SQLite's number of the schema would not do: GRDB creates and drops a table to begin a write-ahead log, which
    /// changes the number.
    private let definition: String

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
        definition = try Self.definition(db)
    }

    private static func definition(_ db: Database) throws -> String {
        try String.fetchOne(
            db,
            sql: """
                SELECT group_concat(type || char(31) || name || char(31) || tbl_name || char(31) || coalesce(sql, ''), char(30))
                FROM (SELECT type, name, tbl_name, sql FROM main.sqlite_master ORDER BY rowid)
                """) ?? ""
    }

    /// Returns whether another connection finds the schema from which these facts were read.
    ///
    /// The rows of the store's own tables that the facts depend on change only while the `-open` lock is held.
    ///
    /// - Parameter db: a connection to the file, opened under the `-open` lock under which the facts were read.
    /// - Returns: whether nothing has changed.
    /// - Throws: GRDB's errors.
    func isValid(in db: Database) throws -> Bool { try Self.definition(db) == definition }
}
