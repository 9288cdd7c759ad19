internal import GRDB
internal import StoreFormat

/// A synced table for export and import of its records: every writable column, in the table's order.
///
/// Excluded columns are included: an export contains what the table shows.
struct RecordTable {
    let name: String
    let columns: [String]
    let keyColumns: [String]
    /// The columns whose type turns every number into text (sqlite.org/datatype3.html).
    let textColumns: Set<String>

    /// Returns the app's synced tables, sorted by name.
    static func all(_ db: Database) throws -> [RecordTable] {
        try KnownTable.all(db).filter { !SyncedSchema.isOwn($0.name) }.sorted { $0.name < $1.name }.map { known in
            let columns = try Row.fetchAll(db, sql: "SELECT name, type FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0", arguments: [known.name])
            return RecordTable(
                name: known.name, columns: columns.map { $0["name"] }, keyColumns: known.keyColumns,
                textColumns: Set(columns.filter { ColumnAffinity($0["type"]) == .text }.map { $0["name"] }))
        }
    }

    /// Returns the named tables, sorted by name, or all of them without names.
    ///
    /// - Parameters:
    ///   - names: synced tables.
    ///   - db: the store.
    /// - Returns: the tables.
    /// - Throws: `UbiquitousStoreError` for a name that no synced table has.
    static func named(_ names: [String]?, _ db: Database) throws -> [RecordTable] {
        let tables = try all(db)
        guard let names else { return tables }
        if let unknown = names.first(where: { name in !tables.contains { $0.name == name } }) {
            throw UbiquitousStoreError(.unsupported, "“\(unknown)” is no synced table of the store; it has \(list(tables)).")
        }
        return tables.filter { names.contains($0.name) }
    }

    /// Returns the tables' names for a message.
    static func list(_ tables: [RecordTable]) -> String { tables.isEmpty ? "none" : tables.map { "“\($0.name)”" }.joined(separator: ", ") }

    var quotedName: String { "main.\(name.quotedIdentifier)" }

    /// The condition `"k0" = ? AND "k1" = ?`.
    var keyCondition: String { keyColumns.map { "\($0.quotedIdentifier) = ?" }.joined(separator: " AND ") }
}
