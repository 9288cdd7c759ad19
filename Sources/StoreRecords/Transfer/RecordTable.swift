internal import GRDB
internal import StoreFormat

/// A synced table as its records are exported and imported: every column of it that can be written, in the table's order.
///
/// Columns that stay on the device are among them: what is exported is what the table shows.
struct RecordTable {
    let name: String
    let columns: [String]
    let keyColumns: [String]
    /// The columns of a type to which every number is text (sqlite.org/datatype3.html).
    let textColumns: Set<String>

    /// The app's synced tables, by name.
    static func all(_ db: Database) throws -> [RecordTable] {
        try KnownTable.all(db).filter { $0.name != StoreMetadata.table }.sorted { $0.name < $1.name }.map { known in
            let columns = try Row.fetchAll(db, sql: "SELECT name, type FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0", arguments: [known.name])
            return RecordTable(
                name: known.name, columns: columns.map { $0["name"] }, keyColumns: known.keyColumns,
                textColumns: Set(columns.filter { ColumnAffinity($0["type"]) == .text }.map { $0["name"] }))
        }
    }

    /// Those of some names, in the order of their names; all where none are given.
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

    /// Names for a message.
    static func list(_ tables: [RecordTable]) -> String { tables.isEmpty ? "none" : tables.map { "“\($0.name)”" }.joined(separator: ", ") }

    var quotedName: String { "main.\(name.quotedIdentifier)" }

    /// `"k0" = ? AND "k1" = ?`.
    var keyCondition: String { keyColumns.map { "\($0.quotedIdentifier) = ?" }.joined(separator: " AND ") }
}
