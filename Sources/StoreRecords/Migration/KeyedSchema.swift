internal import GRDB

/// The schema of a database, as the conversion of keys reads it.
struct KeyedSchema {
    struct Column {
        var name: String
        var type: String
        /// The place in the primary key, from 1; 0 for others.
        var place: Int
        var isNotNull: Bool
        var isComputed: Bool
        /// The default, as an expression.
        var standard: String?
    }

    struct Table {
        var name: String
        var sql: String
        var columns: [Column]
        var hasRowid: Bool
        var isVirtual: Bool

        /// The columns of the primary key, in its order.
        var key: [Column] { columns.filter { $0.place > 0 }.sorted { $0.place < $1.place } }

        /// The name by which SQL reaches the rowid, unless columns have all three names.
        var rowid: String? {
            guard hasRowid else { return nil }
            return ["rowid", "_rowid_", "oid"].first { name in !columns.contains { $0.name.lowercased() == name } }
        }

        func column(_ name: String) -> Column? { columns.first { $0.name.lowercased() == name.lowercased() } }
    }

    /// A view, trigger or index that the app made.
    struct Object {
        var type: String
        var name: String
        var table: String
        var sql: String
    }

    /// The app's tables, in the order of their creation, also virtual ones.
    private(set) var tables: [Table] = []
    /// The other objects, in the order of their creation.
    private(set) var objects: [Object] = []
    /// The columns of foreign keys, each with the column that it refers to.
    private(set) var links: [(from: ColumnName, to: ColumnName)] = []

    func table(_ name: String) -> Table? { tables.first { $0.name.lowercased() == name.lowercased() } }

    /// Reads the main database of a connection.
    init(_ db: Database) throws {
        let kinds = try Row.fetchAll(db, sql: "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'")
        let kindOf = Dictionary(kinds.map { ($0["name"] as String, $0) }) { first, _ in first }
        let master = try Row.fetchAll(
            db,
            sql: """
                SELECT type, name, tbl_name, sql FROM main.sqlite_master
                WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid
                """)
        for row in master {
            let (type, name, sql): (String, String, String) = (row["type"], row["name"], row["sql"])
            guard type == "table" else {
                objects.append(Object(type: type, name: name, table: row["tbl_name"], sql: sql))
                continue
            }
            let kind = kindOf[name]
            // A shadow table belongs to a virtual one.
            if kind?["type"] == "shadow" { continue }
            let isVirtual = kind?["type"] == "virtual"
            tables.append(
                Table(
                    name: name, sql: sql, columns: isVirtual ? [] : try Self.columns(of: name, db), hasRowid: kind?["wr"] == 0, isVirtual: isVirtual))
        }
        for table in tables where !table.isVirtual { try readLinks(of: table, db) }
    }

    private static func columns(of name: String, _ db: Database) throws -> [Column] {
        try Row.fetchAll(db, sql: "SELECT * FROM pragma_table_xinfo(?, 'main')", arguments: [name]).map {
            Column(
                name: $0["name"], type: $0["type"] ?? "", place: $0["pk"], isNotNull: $0["notnull"] != 0, isComputed: $0["hidden"] != 0,
                standard: $0["dflt_value"])
        }
    }

    private mutating func readLinks(of table: Table, _ db: Database) throws {
        for row in try Row.fetchAll(db, sql: "SELECT * FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq", arguments: [table.name]) {
            let parent: String = row["table"]
            let place: Int = row["seq"]
            // Without a column, the foreign key refers to the primary key.
            let key = self.table(parent)?.key ?? []
            guard let target = (row["to"] as String?) ?? (key.indices.contains(place) ? key[place].name : nil) else { continue }
            links.append((ColumnName(table.name, row["from"]), ColumnName(parent, target)))
        }
    }
}
