package import GRDB
package import StoreFormat

/// A synced table of a store as it syncs, for tools without the app's schema.
package struct TableDescription: Hashable, Sendable, Codable {
    package struct Column: Hashable, Sendable, Codable {
        package var name: String
        /// The declared type, empty for none.
        package var type: String
        package var isRequired: Bool
        package var defaultValue: String?
        /// How the column merges, unless the last writer wins: `firstWriter`, `maximum` or `minimum`.
        package var merging: String?
    }

    package struct Index: Hashable, Sendable, Codable {
        package var name: String
        package var columns: [String]
        package var isUnique: Bool

        package init(name: String, columns: [String], isUnique: Bool) { (self.name, self.columns, self.isUnique) = (name, columns, isUnique) }
    }

    package var name: String
    package var formerNames: [String]
    /// The columns of the primary key, in its order.
    package var key: [String]
    /// All columns that sync.
    package var columns: [Column]
    /// The groups of columns that merge as one value.
    package var together: [[String]]
    /// The indexes beside the key's.
    package var indexes: [Index]
    /// The column that names the account of a record; nil unless each account writes its own records.
    package var creator: String?
    /// The role whose holders write all records; nil unless a role writes the table.
    package var role: String?

    /// Reads the descriptions of the app's synced tables.
    ///
    /// - Parameter db: the store.
    /// - Returns: the tables, by name.
    /// - Throws: GRDB's errors.
    package static func all(_ db: Database) throws -> [TableDescription] {
        try KnownTable.all(db).filter { !SyncedSchema.isOwn($0.name) }.map { try TableDescription($0, db) }.sorted { $0.name < $1.name }
    }

    private init(_ table: KnownTable, _ db: Database) throws {
        (name, key) = (table.name, table.keyColumns)
        let merging = try MergeDeclaration.read(of: name, db)
        (formerNames, together) = (merging.formerNames, merging.together)
        let synced = Set(table.keyColumns + table.columns)
        columns = try Row.fetchAll(db, sql: "SELECT name, type, \"notnull\", dflt_value FROM pragma_table_xinfo(?)", arguments: [name])
            .filter { synced.contains($0["name"]) }
            .map {
                Column(
                    name: $0["name"], type: $0["type"] ?? "", isRequired: $0["notnull"] != 0, defaultValue: $0["dflt_value"],
                    merging: merging.policies[$0["name"]])
            }
        indexes = try Row.fetchAll(db, sql: "SELECT name, \"unique\" FROM pragma_index_list(?) WHERE origin <> 'pk' ORDER BY name", arguments: [name])
            .map { row in
                let terms = try String?.fetchAll(
                    db, sql: "SELECT name FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno", arguments: [row["name"] as String])
                return Index(name: row["name"], columns: terms.map { $0 ?? "(an expression)" }, isUnique: row["unique"] != 0)
            }
        switch try AccessDeclaration.read(of: name, db) {
        case .creator(let column): creator = column
        case .role(let name): role = name
        case nil: break
        }
    }

    /// The accounts that may change the rows, as the app declares it; nil in a store without a scope.
    package var access: TableAccess? { creator.map(TableAccess.creator) ?? role.map(TableAccess.role) }
}
