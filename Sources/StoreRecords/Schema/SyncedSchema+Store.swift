package import GRDB
package import StoreFormat

extension SyncedSchema {
    /// Creates a schema in which a store's registers merge as in the store, for a program without the app's schema.
    ///
    /// It has the synced tables with their keys, columns, types and defaults. It lacks everything that only decides what is
    /// shown, or what an app may write: other tables, indexes, triggers, CHECKs, references and rules of uniqueness.
    ///
    /// - Parameters:
    ///   - db: the store.
    ///   - access: who changes the records of each table, by the policy; other tables are left out.
    /// - Throws: GRDB's errors.
    package init(ofStore db: Database, access: [String: TableAccess]) throws {
        let known = try KnownTable.all(db).filter { access[$0.name] != nil && !Self.isOwn($0.name) }
        let statements = try known.map { try Self.statement(of: $0, db) }
        let tables = try known.map { table in
            let merging = try MergeDeclaration.read(of: table.name, db)
            let formerColumns = Dictionary(grouping: merging.formerColumns, by: \.value).mapValues { $0.map(\.key).sorted() }
            return SyncedTable(
                table.name, access: access[table.name], columns: merging.columnPolicies, together: merging.together,
                formerly: merging.formerNames, formerColumns: formerColumns)
        }
        let migrations = try Self.migrations(db)
        var migrator = DatabaseMigrator()
        for migration in migrations.dropLast() { migrator.registerMigration(migration) { _ in } }
        migrator.registerMigration(migrations.last ?? "") { db in for statement in statements { try db.execute(sql: statement) } }
        self.init(migrator: migrator) { tables }
    }

    /// Returns the migrations of a store, in the order in which they ran.
    ///
    /// - Parameter db: the store.
    /// - Returns: their identifiers.
    /// - Throws: GRDB's errors.
    package static func migrations(_ db: Database) throws -> [String] {
        guard try db.tableExists("grdb_migrations") else { return [] }
        return try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations ORDER BY rowid")
    }

    /// Returns a statement that creates a table with the columns that sync.
    private static func statement(of table: KnownTable, _ db: Database) throws -> String {
        let synced = Set(table.keyColumns + table.columns)
        let columns = try Row.fetchAll(db, sql: "SELECT name, type, \"notnull\", dflt_value FROM pragma_table_xinfo(?)", arguments: [table.name])
            .filter { synced.contains($0["name"]) }
            .map { row in
                let name: String = row["name"]
                var text = "\(name.quotedIdentifier) \(row["type"] as String? ?? "")"
                if row["notnull"] != 0 { text += " NOT NULL" }
                // SQLite has removed the parentheses around an expression.
                if let value: String = row["dflt_value"] { text += " DEFAULT (\(value))" }
                return text
            }
        let key = table.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
        return "CREATE TABLE \(table.name.quotedIdentifier) (\(columns.joined(separator: ", ")), PRIMARY KEY (\(key)))"
    }
}
