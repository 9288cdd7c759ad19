internal import GRDB
internal import StoreFormat

/// Makes the tables of a plan again, with new keys.
///
/// The order is that of sqlite.org/lang_altertable.html#otheralter, except that the old table is renamed, so that the
/// new one is created by the app's own statement. With `legacy_alter_table`, SQLite renames no reference to it
/// (sqlite.org/pragma.html#pragma_legacy_alter_table).
struct StableKeyConversion {
    private let plan: StableKeyPlan
    private let keys: KeySequence
    private let db: Database
    /// The tables whose new rows are computed before any table changes.
    private let copied: Set<String>

    init(_ plan: StableKeyPlan, _ keys: KeySequence, _ db: Database) {
        (self.plan, self.keys, self.db) = (plan, keys, db)
        copied = Set(plan.rebuilt.filter { Self.mustBeCopied($0, plan) }.map(\.name))
    }

    /// Returns whether a table's rows must be copied before the table changes.
    ///
    /// A condition may read other converted tables, and must find old keys there. A table whose CHECK contains the
    /// table's own name cannot be renamed.
    private static func mustBeCopied(_ table: KeyedSchema.Table, _ plan: StableKeyPlan) -> Bool {
        let name = table.name.lowercased()
        let isConditional = plan.columns.contains { column, sources in column.table == name && sources.contains { $0.condition != nil } }
        let tokens = SQLToken.all(in: table.sql)
        return isConditional || zip(tokens, tokens.dropFirst()).contains { $0.identifier == name && $1 == .symbol(".") }
    }

    /// Converts the tables, inside a transaction that an error rolls back.
    ///
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    func run() throws {
        let broken = try brokenReferences()
        let wasLegacy = try Bool.fetchOne(db, sql: "PRAGMA legacy_alter_table") ?? false
        try db.execute(sql: "PRAGMA legacy_alter_table = ON")
        defer { if !wasLegacy { try? db.execute(sql: "PRAGMA legacy_alter_table = OFF") } }
        try makeKeys()
        let names = Set(plan.rebuilt.map { $0.name.lowercased() })
        let objects = plan.schema.objects.filter { $0.type != "view" && names.contains($0.table.lowercased()) }
        for object in objects { try db.execute(sql: "DROP \(object.type) main.\(object.name.quotedIdentifier)") }
        for (number, table) in plan.rebuilt.enumerated() where copied.contains(table.name) {
            try db.execute(sql: "CREATE TEMP TABLE \(old(number)) AS \(selection(of: table, from: "main.\(table.name.quotedIdentifier)"))")
        }
        for (number, table) in plan.rebuilt.enumerated() { try write(table, number) }
        for (number, table) in plan.rebuilt.enumerated() { try db.execute(sql: "DROP TABLE \(source(table, number))") }
        for object in objects { try db.execute(sql: object.sql) }
        for number in plan.roots.indices { try db.execute(sql: "DROP TABLE temp.\(map(number))") }
        guard try brokenReferences() == broken else {
            throw UbiquitousStoreError(.database, "The converted tables have foreign keys to rows that do not exist. Nothing has changed.")
        }
    }

    private func brokenReferences() throws -> Int { try Int.fetchOne(db, sql: "SELECT count(*) FROM pragma_foreign_key_check") ?? 0 }

    /// The name of a table's old form.
    private func old(_ number: Int) -> String { "ubiquity_old_\(number)" }

    /// The table that has a table's rows while it is made again.
    private func source(_ table: KeyedSchema.Table, _ number: Int) -> String {
        "\(copied.contains(table.name) ? "temp" : "main").\(old(number))"
    }

    /// The table of a root's old and new keys.
    private func map(_ root: Int) -> String { "ubiquity_keys_\(root)" }

    /// Gives each row of the roots its new key, in the order of the old ones.
    private func makeKeys() throws {
        for (number, root) in plan.roots.enumerated() {
            let (keys, shipped) = (keys, root.shipped.first)
            let function = DatabaseFunction("ubiquity_new_key", argumentCount: 2, pure: false) { values in
                guard let old = Int64.fromDatabaseValue(values[0]), let place = Int64.fromDatabaseValue(values[1]) else { return nil }
                return shipped?.key(old) ?? keys.key(place)
            }
            db.add(function: function)
            defer { db.remove(function: function) }
            let key = root.key.quotedIdentifier
            try db.execute(
                sql: """
                    CREATE TEMP TABLE \(map(number)) (old INTEGER PRIMARY KEY, new TEXT NOT NULL);
                    INSERT INTO temp.\(map(number)) (old, new)
                    SELECT \(key), ubiquity_new_key(\(key), row_number() OVER (ORDER BY \(key))) FROM main.\(root.table.name.quotedIdentifier)
                    """)
        }
    }

    /// Makes a table again, and copies its rows.
    private func write(_ table: KeyedSchema.Table, _ number: Int) throws {
        let name = table.name.quotedIdentifier
        guard let statement = plan.statements[table.name.lowercased()] else { return }
        let last = try lastNumber(of: table)
        let (source, isCopied) = (self.source(table, number), copied.contains(table.name))
        try db.execute(sql: isCopied ? "DROP TABLE main.\(name)" : "ALTER TABLE main.\(name) RENAME TO \(old(number))")
        try db.execute(sql: statement)
        let targets = (table.rowid.map { [$0] } ?? []) + table.columns.filter { !$0.isComputed }.map(\.name.quotedIdentifier)
        let rows = isCopied ? "SELECT * FROM \(source)" : selection(of: table, from: source)
        do {
            try db.execute(sql: "INSERT INTO main.\(name) (\(targets.joined(separator: ", "))) \(rows)")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            throw UbiquitousStoreError(
                .invalidSchema,
                "Rows of “\(table.name)” break a constraint of their table once their keys are text: drop the constraint in a migration before. Nothing has changed.",
                cause: error)
        }
        // A row that replaces another one is a change too, so rows are counted.
        guard try Bool.fetchOne(db, sql: "SELECT (SELECT count(*) FROM main.\(name)) = (SELECT count(*) FROM \(source))") ?? false else {
            throw UbiquitousStoreError(
                .database, "Rows of “\(table.name)” were lost in an ON CONFLICT clause. Nothing has changed.")
        }
        if let last {
            try db.execute(sql: "DELETE FROM main.sqlite_sequence WHERE name = ?", arguments: [table.name])
            try db.execute(sql: "INSERT INTO main.sqlite_sequence (name, seq) VALUES (?, ?)", arguments: [table.name, last])
        }
    }

    /// Returns the last number that AUTOINCREMENT gave in a table that keeps its numbers; nil for others.
    private func lastNumber(of table: KeyedSchema.Table) throws -> Int64? {
        guard !table.key.contains(where: { plan.columns[ColumnName(table.name, $0.name)] != nil }),
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE name = 'sqlite_sequence')") ?? false
        else { return nil }
        return try Int64.fetchOne(db, sql: "SELECT seq FROM main.sqlite_sequence WHERE name = ?", arguments: [table.name])
    }

    /// Returns the query for a table's rows with new keys, rowids first.
    private func selection(of table: KeyedSchema.Table, from source: String) -> String {
        let name = table.name.quotedIdentifier
        let rowid = table.rowid.map { ["\(name).\($0)"] } ?? []
        let values = rowid + table.columns.filter { !$0.isComputed }.map { value($0.name, of: table) }
        let order = rowid.isEmpty ? "" : " ORDER BY \(rowid[0])"
        return "SELECT \(values.joined(separator: ", ")) FROM \(source) AS \(name)\(order)"
    }

    /// Returns the new value of a column.
    private func value(_ column: String, of table: KeyedSchema.Table) -> String {
        let own = "\(table.name.quotedIdentifier).\(column.quotedIdentifier)"
        guard let sources = plan.columns[ColumnName(table.name, column)] else { return own }
        let found = sources.map { source in
            "WHEN \(source.condition.map { "(\($0))" } ?? "1") THEN (SELECT new FROM temp.\(map(source.root)) WHERE old = \(own))"
        }
        return "CASE \(found.joined(separator: " ")) END"
    }
}
