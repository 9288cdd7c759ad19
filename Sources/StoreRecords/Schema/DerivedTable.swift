internal import GRDB
internal import GRDBSQLite

/// A table that triggers of the app compute from synced tables, separately on each device.
///
/// Imports run the triggers. If these may have missed a change, the table is emptied, and each row of the synced tables
/// goes through their INSERT triggers, in a table with equal columns.
struct DerivedTable {
    private enum Kind {
        case ordinary
        /// A virtual table that stores what is written to it, such as a plain FTS5 table.
        case virtual
        /// An FTS5 table without its own content: external content, or contentless.
        case fts5WithoutContent
        /// An FTS3 or FTS4 table without its own content.
        case fts4WithoutContent
    }

    let name: String
    private let kind: Kind
    private let db: Database
    private static let mirror = "ubiquity_mirror"

    /// Finds a table by its name; nil if there is none.
    init?(_ name: String, _ db: Database) throws {
        self.db = db
        self.name = name
        guard
            let sql = try String.fetchOne(
                db, sql: "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND lower(name) = lower(?)", arguments: [name])
        else { return nil }
        kind = Self.kind(sql)
    }

    /// Returns whether a name is that of a virtual table, such as an index for full-text search.
    static func isIndex(_ name: String, _ db: Database) throws -> Bool { try DerivedTable(name, db)?.isVirtual ?? false }

    var isVirtual: Bool { kind != .ordinary }

    /// The reason why the table cannot be filled again; nil if it can.
    var obstacle: String? {
        kind == .fts4WithoutContent ? "is an FTS3 or FTS4 table without its own content, which cannot be filled again: use FTS5." : nil
    }

    private static func kind(_ sql: String) -> Kind {
        let tokens = SQLToken.all(in: sql)
        guard tokens.count > 1, tokens[1].isWord("virtual"), let using = tokens.firstIndex(where: { $0.isWord("using") }), using + 1 < tokens.count
        else { return .ordinary }
        var depth = 0
        var hasContent = true
        for (index, token) in tokens.enumerated().dropFirst(using + 2) {
            if token == .symbol("(") { depth += 1 }
            if token == .symbol(")") { depth -= 1 }
            guard depth == 1, token.isWord("content"), [.symbol("("), .symbol(",")].contains(tokens[index - 1]), index + 1 < tokens.count,
                tokens[index + 1] == .symbol("=")
            else { continue }
            hasContent = false
        }
        switch tokens[using + 1].identifier {
        case "fts5": return hasContent ? .virtual : .fts5WithoutContent
        case "fts3", "fts4": return hasContent ? .virtual : .fts4WithoutContent
        default: return .virtual
        }
    }

    /// Removes all rows.
    private func empty() throws {
        let table = name.quotedIdentifier
        guard kind != .fts5WithoutContent else {
            return try db.execute(sql: "INSERT INTO main.\(table) (\(table)) VALUES ('delete-all')")
        }
        do {
            try db.execute(sql: "DELETE FROM main.\(table)")
        } catch let error as DatabaseError where error.fault.isDamage && kind == .virtual {
            // Removing a row relies on the table's index, which is damaged here.
            try db.execute(sql: "INSERT INTO main.\(table) (\(table)) VALUES ('rebuild'); DELETE FROM main.\(table)")
        }
    }

    /// Fills the table again, in a transaction.
    ///
    /// - Parameter shapes: the synced tables.
    /// - Throws: GRDB's errors.
    func fill(from shapes: [TableShape]) throws {
        try empty()
        let triggers = try AppTrigger.all(db)
        for shape in shapes where shape.derived.contains(where: { $0.lowercased() == name.lowercased() }) {
            let own = triggers.filter { $0.table == shape.name.lowercased() && $0.event == .insert && $0.written.contains(name.lowercased()) }
            try run(own, for: shape)
        }
    }

    /// Runs INSERT triggers for each row of their table.
    private func run(_ triggers: [AppTrigger], for shape: TableShape) throws {
        let columns = try Row.fetchAll(db, sql: "SELECT name, type FROM pragma_table_xinfo(?)", arguments: [shape.name])
            .map { (name: $0["name"] as String, type: $0["type"] as String) }
        let definitions = columns.map { column in
            let key = shape.isRowidKey && shape.keyColumns == [column.name] ? " PRIMARY KEY" : ""
            return "\(column.name.quotedIdentifier) \(column.type)\(key) COLLATE \(collation(of: column.name, in: shape.name).quotedIdentifier)"
        }
        let names = (shape.hasRowid && !shape.isRowidKey ? ["rowid"] : []) + columns.map(\.name.quotedIdentifier)
        let list = names.joined(separator: ", ")
        try db.execute(sql: "CREATE TEMP TABLE \(Self.mirror) (\(definitions.joined(separator: ", ")))")
        // Dropping the table also drops its triggers.
        defer { try? db.execute(sql: "DROP TABLE temp.\(Self.mirror)") }
        for (number, trigger) in triggers.enumerated() {
            try db.execute(sql: "CREATE TEMP TRIGGER ubiquity_mirrored_\(number) AFTER INSERT ON \(Self.mirror) \(trigger.rest)")
        }
        try db.execute(sql: "INSERT INTO temp.\(Self.mirror) (\(list)) SELECT \(list) FROM main.\(shape.name.quotedIdentifier)")
    }

    private func collation(of column: String, in table: String) -> String {
        var collation: UnsafePointer<CChar>?
        sqlite3_table_column_metadata(db.sqliteConnection, "main", table, column, nil, &collation, nil, nil, nil)
        return collation.map { String(cString: $0) } ?? "BINARY"
    }
}
