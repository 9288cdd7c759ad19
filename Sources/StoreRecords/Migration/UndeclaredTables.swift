package import GRDB

/// Finds the tables of an app that nobody declared: the app's schema names them neither as synced, nor as derived, nor as
/// local.
///
/// The rows of such a table never leave the device, as after a migration that added a table, without a `SyncedTable` for
/// it.
package enum UndeclaredTables {
    /// A table of `sqlite_schema`.
    package struct Table: Hashable, Sendable {
        package var name: String
        /// Whether it is a virtual table, such as an index for full-text search.
        package var isVirtual: Bool

        package init(name: String, isVirtual: Bool = false) { (self.name, self.isVirtual) = (name, isVirtual) }
    }

    /// Returns the undeclared tables among the tables of a file.
    ///
    /// SQLite's own tables, GRDB's list of migrations and this package's tables do not count. A virtual table cannot sync,
    /// and it owns each table whose name is its name with a suffix (sqlite.org/vtab.html#the_xshadowname_method).
    ///
    /// - Parameters:
    ///   - tables: all tables of the file.
    ///   - declared: the names of synced, derived and local tables, in any case.
    /// - Returns: the names, sorted.
    package static func names(among tables: [Table], declared: Set<String>) -> [String] {
        let declared = Set(declared.map { $0.lowercased() })
        let shadows = tables.filter(\.isVirtual).map { $0.name.lowercased() + "_" }
        return tables.filter { table in
            let name = table.name.lowercased()
            return !table.isVirtual && !declared.contains(name) && !isReserved(name) && !shadows.contains { name.hasPrefix($0) }
        }.map(\.name).sorted()
    }

    private static func isReserved(_ name: String) -> Bool {
        name.hasPrefix("sqlite_") || name.hasPrefix("ubiquity_") || name == "grdb_migrations"
    }

    /// Returns the undeclared tables of a store file, by what the app declared at the last opening.
    ///
    /// - Parameter db: the store.
    /// - Returns: the names, sorted.
    /// - Throws: GRDB's errors.
    package static func all(_ db: Database) throws -> [String] {
        let tables = try Row.fetchAll(db, sql: "SELECT name, sql LIKE 'CREATE VIRTUAL%' AS isVirtual FROM main.sqlite_master WHERE type = 'table'")
        let synced = try String.fetchAll(db, sql: "SELECT name FROM ubiquity_table")
        return try names(
            among: tables.map { Table(name: $0["name"], isVirtual: $0["isVirtual"] ?? false) },
            declared: Set(synced + StoreDeclarations.unsynced(db)))
    }

    /// What the log and the tools say about an undeclared table.
    ///
    /// - Parameter table: its name.
    /// - Returns: the sentence, and the remedy.
    package static func text(_ table: String) -> (detail: String, remedy: String) {
        (
            "the table “\(table)” is declared neither as synced nor as local, so that its rows stay on this device",
            "declare SyncedTable(\"\(table)\") in the app's SyncedSchema, or name it in its `local:` if its rows are meant to stay"
        )
    }
}
