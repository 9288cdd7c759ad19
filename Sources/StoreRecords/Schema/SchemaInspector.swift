internal import Foundation
package import GRDB
internal import GRDBSQLite
internal import StoreFormat

/// Reads the synced tables' shapes from a database, and lists everything that cannot sync, with the remedy.
package struct SchemaInspector {
    let db: Database
    var violations: [String] = []
    /// The tables at the last opening; their columns keep their numbers.
    let known: [KnownTable]

    private init(_ db: Database, _ known: [KnownTable]) {
        self.db = db
        self.known = known
    }

    /// Returns the shapes of the declared tables, numbered from 1 in their order, and those of the store's own synced
    /// tables.
    ///
    /// - Throws: `UbiquitousStoreError` with `invalidSchema` that lists every violation at once.
    package static func shapes(of schema: SyncedSchema, in db: Database) throws -> [TableShape] {
        try shapes(of: schema, known: try KnownTable.all(db, withLocalColumns: false), in: db)
    }

    /// Returns the shapes of the declared tables, with the tables that the file knows.
    static func shapes(of schema: SyncedSchema, known: [KnownTable], in db: Database) throws -> [TableShape] {
        var inspector = SchemaInspector(db, known)
        var shapes: [TableShape] = []
        for (index, table) in schema.tables.enumerated() {
            if schema.tables[..<index].contains(where: { $0.name == table.name }) {
                inspector.violations.append("Table “\(table.name)” is declared twice: declare it once.")
            } else if let shape = try inspector.shape(of: table, number: Int64(index + 1)) {
                shapes.append(shape)
            }
        }
        var relations = RelationInspector(schema.tables, db)
        for index in shapes.indices {
            let table = schema.tables.first { $0.name == shapes[index].name }!
            var rules = UniquenessInspector(table, shapes[index], db)
            shapes[index].uniques = try rules.rules()
            inspector.violations += rules.violations
        }
        try relations.relate(&shapes)
        inspector.violations += relations.violations
        inspector.checkFormerNames(schema.tables)
        try inspector.checkLocal(schema)
        let triggers = try AppTrigger.all(db)
        inspector.checkTriggers(triggers, writing: schema.tables.map(\.name) + schema.ownTables.map(\.name))
        try inspector.checkDerived(schema.tables, triggers)
        inspector.violations += try AccessInspector(schema, db).violations(of: shapes, triggers)
        guard inspector.violations.isEmpty else {
            let list = inspector.violations.map { "  - \($0)" }.joined(separator: "\n")
            throw UbiquitousStoreError(.invalidSchema, "The schema cannot sync:\n\(list)")
        }
        return shapes + schema.ownTables
    }

    /// Rejects a local table that does not exist, and one that is synced as well.
    private mutating func checkLocal(_ schema: SyncedSchema) throws {
        for name in schema.local.sorted() {
            if schema.tables.contains(where: { $0.name.lowercased() == name.lowercased() }) {
                violations.append("Table “\(name)” is declared both as synced and as local: declare it as one of them.")
            } else if try !db.tableExists(name, in: "main") {
                violations.append("The local table “\(name)” does not exist: create it in the migrator, or remove it from `local:`.")
            }
        }
    }

    private mutating func shape(of table: SyncedTable, number: Int64) throws -> TableShape? {
        let name = table.name
        guard
            let master = try Row.fetchOne(
                db, sql: "SELECT type, sql FROM sqlite_master WHERE name = ? AND type IN ('table','view')", arguments: [name])
        else {
            violations.append("Table “\(name)” does not exist: create it in the migrator, spelled alike.")
            return nil
        }
        let sql: String = master["sql"]
        if master["type"] == "view" || sql.uppercased().hasPrefix("CREATE VIRTUAL") {
            violations.append("“\(name)” is a view or a virtual table: only ordinary tables sync.")
            return nil
        }
        if name.lowercased().hasPrefix("ubiquity_") {
            violations.append("Table “\(name)” begins with “ubiquity_”, which is reserved for the store's own tables: rename it.")
        }
        let hasRowid = (try? db.makeStatement(sql: "SELECT rowid FROM \(name.quotedIdentifier)")) != nil
        var key: [(place: Int, name: String)] = []
        var columns: [String] = []
        var nullable: [String] = []
        var excluded: [String: Bool] = [:]
        var localColumns: [String] = []
        var localDefaults: [RecordValue] = []
        var defaults: [String: RecordValue] = [:]
        var notNull: Set<String> = []
        var varying: Set<String> = []
        var untyped: Set<String> = []
        var substitutes: [String: String] = [:]
        let isStrict = try Bool.fetchOne(db, sql: "SELECT strict FROM pragma_table_list(?) WHERE schema = 'main'", arguments: [name]) ?? false
        for column in try Row.fetchAll(db, sql: "SELECT * FROM pragma_table_xinfo(?)", arguments: [name]) {
            let columnName: String = column["name"]
            let place: Int = column["pk"]
            if ColumnAffinity(column["type"]) == .blob || (column["type"] as String).uppercased() == "ANY" { untyped.insert(columnName) }
            if hasRowid, ["rowid", "oid", "_rowid_"].contains(columnName.lowercased()) {
                violations.append("Column “\(columnName)” of “\(name)” hides SQLite's own rowid, which capture needs: rename it.")
            }
            if column["notnull"] != 0, let expression: String = column["dflt_value"] { substitutes[columnName] = expression }
            if place > 0 {
                key.append((place, columnName))
                checkKeyColumn(columnName, type: column["type"], of: name)
                if column["notnull"] == 0 { nullable.append(columnName) }
            } else if table.excluded.contains(columnName) {
                excluded[columnName] = column["notnull"] == 0 || column["dflt_value"] != nil || column["hidden"] != 0
                if column["hidden"] == 0 {
                    localColumns.append(columnName)
                    localDefaults.append(try standard(column["dflt_value"], type: column["type"], isStrict: isStrict))
                }
            } else if column["hidden"] == 0 {
                if column["notnull"] != 0 {
                    notNull.insert(columnName)
                } else if ColumnDefault.varies(column["dflt_value"]) {
                    varying.insert(columnName)
                }
                columns.append(columnName)
                defaults[columnName] = try standard(column["dflt_value"], type: column["type"], isStrict: isStrict)
            }
        }
        let formerColumns = formerColumns(of: table, columns: columns, key: key.map(\.name))
        columns = numbered(columns, of: table, formerColumns)
        key.sort { $0.place < $1.place }
        let keyColumns = key.map(\.name)
        let isRowidKey = try hasRowid && isRowidAlias(keyColumns, of: name)
        if isNamed(keyColumns, isRowidKey: isRowidKey, table), !isRowidKey {
            for column in nullable {
                violations.append(
                    "Column “\(column)” of “\(name)” is in the primary key and may be NULL, which names no record: declare it NOT NULL.")
            }
        }
        try checkKeyIndex(of: name)
        var reader = ColumnRulesReader(table, keyColumns: keyColumns, columns: columns, excluded: excluded)
        let rules = reader.rules()
        violations += reader.violations
        if columns.count > ColumnSet.capacity {
            violations.append("Table “\(name)” has \(columns.count) columns beside its key: at most \(ColumnSet.capacity) can sync; split it.")
        }
        var shape = TableShape(
            number: number, name: name, keyColumns: keyColumns, columns: columns, rules: rules, hasRowid: hasRowid, isRowidKey: isRowidKey)
        shape.localColumns = localColumns
        shape.localDefaults = localDefaults
        shape.substitutes = substitutes
        shape.defaults = columns.map { defaults[$0]! }
        shape.assumed = columns.map { varying.contains($0) ? .null : defaults[$0]! }
        for (column, name) in columns.enumerated().prefix(ColumnSet.capacity) where untyped.contains(name) {
            shape.untyped.insert(ColumnSet(column: column))
        }
        shape.untypedKeys = keyColumns.indices.filter { untyped.contains(keyColumns[$0]) && !isRowidKey }
        for (column, name) in columns.enumerated().prefix(ColumnSet.capacity) where notNull.contains(name) {
            shape.notNull.insert(ColumnSet(column: column))
        }
        shape.access = table.access
        if case .creator = table.access { shape.holdsBroken = sql.uppercased().contains("CHECK") }
        shape.formerNames = table.formerNames
        shape.derived = table.derived
        shape.formerColumns = formerColumns
        return shape
    }

    /// Returns the default of a column, as the column stores it.
    private func standard(_ expression: String?, type: String, isStrict: Bool) throws -> RecordValue {
        guard let expression else { return .null }
        let affinity = isStrict && type.uppercased() == "ANY" ? .blob : ColumnAffinity(type)
        let statement = try RawStatement("SELECT \(affinity.stored("v")) FROM (SELECT \(expression) AS v)", db)
        defer { statement.reset() }
        return try statement.step() ? statement.value(0).detached : .null
    }

    /// Returns whether a table has its own key, which names its rows on other devices too.
    private mutating func isNamed(_ key: [String], isRowidKey: Bool, _ table: SyncedTable) -> Bool {
        if key.isEmpty {
            violations.append("Table “\(table.name)” has no primary key, so that its rows have no name on other devices: give it a UUID key.")
            return false
        }
        if isRowidKey, !table.assignsIntegerKeys {
            violations.append(
                "The key “\(key[0])” of “\(table.name)” is an INTEGER PRIMARY KEY, which two devices would both count up: use a UUID (TEXT or BLOB; StableKeys converts the table in one migration) or a natural key, or declare assignsIntegerKeys if the app gives the keys."
            )
            return false
        }
        return true
    }

    /// Returns whether a key is a rowid alias, which has no index (sqlite.org/lang_createtable.html#rowid).
    private func isRowidAlias(_ key: [String], of name: String) throws -> Bool {
        try key.count == 1 && !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk')", arguments: [name])!
    }

    private mutating func checkKeyColumn(_ column: String, type: String, of table: String) {
        if type.isEmpty {
            violations.append(
                "The key column “\(column)” of “\(table)” has no type, so that 1 and 1.0 are one key and two values: declare TEXT, BLOB or INTEGER.")
        }
        // The column's own collation decides comparisons, whatever its index uses.
        var collation: UnsafePointer<CChar>?
        sqlite3_table_column_metadata(db.sqliteConnection, "main", table, column, nil, &collation, nil, nil, nil)
        if let collation { checkCollation(String(cString: collation), of: column, in: table) }
    }

    private mutating func checkCollation(_ collation: String, of column: String, in table: String) {
        let violation = "The key column “\(column)” of “\(table)” has the collation \(collation): keys sync by bytes; use BINARY."
        if collation.uppercased() != "BINARY", !violations.contains(violation) { violations.append(violation) }
    }

    /// Rejects an index of the key with another collation, because it would treat two keys as equal.
    private mutating func checkKeyIndex(of name: String) throws {
        for index in try Row.fetchAll(db, sql: "SELECT * FROM pragma_index_list(?) WHERE origin = 'pk'", arguments: [name]) {
            let indexName: String = index["name"]
            for column in try Row.fetchAll(db, sql: "SELECT * FROM pragma_index_xinfo(?) WHERE key = 1", arguments: [indexName]) {
                checkCollation(column["coll"], of: column["name"], in: name)
            }
        }
    }
}
