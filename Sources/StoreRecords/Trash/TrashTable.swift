internal import GRDB
internal import StoreFormat

/// The table of a trash, as the store file has it.
struct TrashTable {
    /// A column that the trash clears.
    struct Column {
        var name: String
        var isNotNull: Bool
        /// The default, as an expression.
        var standard: String?

        /// Returns the expression of the column's value in the trash.
        ///
        /// - Parameter table: the table, for the error.
        /// - Returns: SQL.
        /// - Throws: `UbiquitousStoreError` with `unsupported` if the column needs a value and has no default.
        func emptyValue(in table: String) throws(UbiquitousStoreError) -> String {
            guard isNotNull else { return "NULL" }
            guard let standard else {
                throw UbiquitousStoreError(
                    .unsupported,
                    "The trash of “\(table)” cannot clear the column “\(name)”, which is NOT NULL without a default: give it a default, let it be NULL, or delete records instead."
                )
            }
            return "(\(standard))"
        }
    }

    let known: KnownTable
    /// The flag's number among the synced columns.
    let flagNumber: Int
    /// The synced columns beside the flag and the key.
    let cleared: [Column]

    var keyColumns: [String] { known.keyColumns }
    /// A condition on the table for one key, with a placeholder for each column.
    var keyCondition: String { keyColumns.map { "\($0.quotedIdentifier) = ?" }.joined(separator: " AND ") }

    /// Reads the table of a trash.
    ///
    /// - Parameters:
    ///   - trash: the trash.
    ///   - db: a connection to a store file.
    /// - Throws: `UbiquitousStoreError` with `notFound` if the table does not sync, or the flag is none of its columns.
    init(_ trash: Trash, _ db: Database) throws {
        let tables = try KnownTable.all(db, withLocalColumns: false)
        guard let table = tables.first(where: { $0.name == trash.table }) else {
            let names = tables.map(\.name).filter { !$0.hasPrefix("ubiquity_") }.sorted().joined(separator: ", ")
            throw UbiquitousStoreError(
                .notFound, "“\(trash.table)” is not a synced table, so it has no trash; the synced tables are \(names.isEmpty ? "none" : names).")
        }
        guard let number = table.columns.firstIndex(of: trash.flag) else {
            throw UbiquitousStoreError(
                .notFound,
                "“\(trash.flag)” is not a synced column of “\(trash.table)” beside its key, so it cannot tell what lies in the trash: add it in a migration, as \(trash.flag) INTEGER NOT NULL DEFAULT 0."
            )
        }
        known = table
        flagNumber = number
        cleared = try Row.fetchAll(db, sql: "SELECT name, \"notnull\", dflt_value FROM pragma_table_info(?)", arguments: [table.name]).compactMap {
            let name: String = $0["name"]
            guard name != trash.flag, table.columns.contains(name) else { return nil }
            return Column(name: name, isNotNull: $0["notnull"], standard: $0["dflt_value"])
        }
    }
}
