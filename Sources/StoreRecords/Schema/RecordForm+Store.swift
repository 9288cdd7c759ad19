package import GRDB
internal import GRDBSQLite
package import StoreFormat

extension RecordForm {
    /// Returns the form of a table whose own form a baseline cannot have: without types and indexes, the key first.
    package static func plain(_ shape: TableShape) -> RecordForm {
        let keys = shape.keyColumns.indices.map { Column("k\($0)", shape.isRowidKey ? .rowid : .none) }
        return RecordForm(
            columns: keys + shape.columns.indices.map { Column("v\($0)") },
            constraints: shape.hasRowid ? [] : [Constraint(isKey: true, keys.map { Term($0.name) })], indexes: [], hasRowid: shape.hasRowid)
    }

    /// The form of a store's table.
    package struct Found {
        package var form: RecordForm
        /// The names of the table's indexes that are in the form, in its order.
        var indexNames: [String]
    }

    /// Reads the form of a store's table.
    ///
    /// - Parameters:
    ///   - shape: the table.
    ///   - schema: the name under which the store is attached.
    ///   - db: a connection.
    /// - Returns: the form; nil if no baseline can have it: the table is STRICT, has columns that do not sync or are
    ///   generated, or uses a collation of the app in its columns or constraints. An index with an expression, a
    ///   condition or such a collation is left out.
    /// - Throws: GRDB's errors.
    package static func find(_ shape: TableShape, in schema: String = "main", _ db: Database) throws -> Found? {
        let isStrict = try Bool.fetchOne(
            db, sql: "SELECT strict FROM pragma_table_list(?) WHERE schema = ?", arguments: [shape.name, schema])
        guard isStrict == false, let columns = try columns(of: shape, in: schema, db) else { return nil }
        var constraints: [(number: Int, constraint: Constraint)] = []
        var indexes: [(index: Index, name: String)] = []
        for row in try Row.fetchAll(db, sql: "SELECT * FROM pragma_index_list(?, ?)", arguments: [shape.name, schema]) {
            let name: String = row["name"]
            let terms = row["partial"] == 0 ? try terms(of: name, shape, in: schema, db) : nil
            if row["origin"] == "c" {
                if let terms { indexes.append((Index(isUnique: row["unique"] != 0, terms), name)) }
            } else {
                // SQLite ends the name of such an index with its number.
                guard let terms, let number = name.split(separator: "_").last.flatMap({ Int($0) }) else { return nil }
                constraints.append((number, Constraint(isKey: row["origin"] == "pk", terms)))
            }
        }
        constraints.sort { $0.number < $1.number }
        indexes.sort { ($0.index.text, $0.name) < ($1.index.text, $1.name) }
        // The same statements must give each index its number again.
        guard constraints.enumerated().allSatisfy({ $0 + 1 == $1.number }) else { return nil }
        let form = RecordForm(
            columns: columns, constraints: constraints.map(\.constraint), indexes: indexes.map(\.index), hasRowid: shape.hasRowid)
        return Found(form: form, indexNames: indexes.map(\.name))
    }

    private static func columns(of shape: TableShape, in schema: String, _ db: Database) throws -> [Column]? {
        let rows = try Row.fetchAll(db, sql: "SELECT * FROM pragma_table_xinfo(?, ?) ORDER BY cid", arguments: [shape.name, schema])
        var columns: [Column] = []
        for row in rows {
            let column: String = row["name"]
            var collation: UnsafePointer<CChar>?
            sqlite3_table_column_metadata(db.sqliteConnection, schema, shape.name, column, nil, &collation, nil, nil, nil)
            guard row["hidden"] == 0, let name = name(column, shape), let collation = known(collation.map { String(cString: $0) } ?? "BINARY")
            else { return nil }
            let isRowid = shape.isRowidKey && name == "k0"
            columns.append(
                Column(
                    name, isRowid ? .rowid : ColumnAffinity(row["type"]).stored, isNotNull: row["notnull"] != 0 && !isRowid, collation))
        }
        return columns.count == shape.keyColumns.count + shape.columns.count ? columns : nil
    }

    /// Returns the terms of an index; nil if a baseline cannot have one of them.
    private static func terms(of index: String, _ shape: TableShape, in schema: String, _ db: Database) throws -> [Term]? {
        var terms: [Term] = []
        for row in try Row.fetchAll(
            db, sql: "SELECT * FROM pragma_index_xinfo(?, ?) WHERE key = 1 ORDER BY seqno", arguments: [index, schema])
        {
            guard let column = name(row["name"], shape), let collation = known(row["coll"]) else { return nil }
            terms.append(Term(column, collation, isDescending: row["desc"] != 0))
        }
        return terms
    }

    /// Returns the name in a baseline of a column that syncs.
    private static func name(_ column: String?, _ shape: TableShape) -> String? {
        guard let column else { return nil }
        if let place = shape.keyColumns.firstIndex(of: column) { return "k\(place)" }
        return shape.columns.firstIndex(of: column).map { "v\($0)" }
    }

    private static func known(_ collation: String) -> Collation? { Collation(rawValue: collation.uppercased()) }
}

extension ColumnAffinity {
    fileprivate var stored: RecordForm.StoredType {
        switch self {
        case .integer: .integer
        case .text: .text
        case .blob: .none
        case .real: .real
        case .numeric: .numeric
        }
    }
}
