import GRDB
import SystemPackage
import Testing
import UbiquityStores

/// Makes a database in memory, with foreign keys on as in an app.
func keyedDatabase(_ sql: String) throws -> DatabaseQueue { try filled(DatabaseQueue(), sql) }

/// Makes a database file, with foreign keys on as in an app.
func keyedFile(_ file: FilePath, _ sql: String) throws -> DatabaseQueue { try filled(DatabaseQueue(path: file.string), sql) }

private func filled(_ queue: DatabaseQueue, _ sql: String) throws -> DatabaseQueue {
    try queue.writeWithoutTransaction { db in
        // References can precede the rows that they name.
        try db.execute(sql: "PRAGMA foreign_keys = OFF")
        try db.execute(sql: sql)
        try db.execute(sql: "PRAGMA foreign_keys = ON")
    }
    return queue
}

extension StableKeys {
    /// Converts the keys as an app does: in a migration.
    func migrate(_ queue: DatabaseQueue) throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("stable keys") { db in try convert(db) }
        try migrator.migrate(queue)
    }

    /// Expects that a conversion refuses and changes nothing, and returns its message.
    func refusal(_ queue: DatabaseQueue, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        let before = try queue.read(wholeContent)
        let error = #expect(throws: UbiquitousStoreError.self, sourceLocation: sourceLocation) { try migrate(queue) }
        #expect(try queue.read(wholeContent) == before, "a refused conversion leaves the database alone", sourceLocation: sourceLocation)
        return error?.message ?? ""
    }
}

/// Returns the whole content of a database: its statements, and each row.
func wholeContent(_ db: Database) throws -> [String] {
    let master = try Row.fetchAll(db, sql: "SELECT type, name, sql FROM sqlite_master WHERE tbl_name NOT LIKE 'grdb%' ORDER BY type, name")
    let tables = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name")
        .filter { $0 != "sqlite_schema" && !$0.hasPrefix("grdb") }
    return try master.map { "\($0)" }
        + tables.flatMap { table in
            try Row.fetchAll(db, sql: "SELECT * FROM \(quoted(table))").map { "\(table): \($0)" }.sorted()
        }
}

/// Returns a name in double quotes.
func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }

/// Returns the rows of a query, each as one text.
func lines(_ db: Database, _ sql: String) throws -> [String] {
    try Row.fetchAll(db, sql: sql).map { row in row.databaseValues.map { "\($0)" }.joined(separator: "|") }
}
