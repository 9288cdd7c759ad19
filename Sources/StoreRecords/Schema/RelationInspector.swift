internal import GRDB
internal import StoreFormat

/// Reads the relations of the synced tables, and lists those that cannot sync, with the remedy.
struct RelationInspector {
    let db: Database
    let tables: [SyncedTable]
    var violations: [String] = []

    init(_ tables: [SyncedTable], _ db: Database) {
        self.tables = tables
        self.db = db
    }

    /// Reads the foreign keys into the shapes, and marks the parent tables.
    mutating func relate(_ shapes: inout [TableShape]) throws {
        // One statement for all tables: most tables have no foreign key.
        let all = try Row.fetchAll(
            db,
            sql: """
                SELECT child.rowid AS number, child.name AS child, key.*
                FROM sqlite_master AS child JOIN pragma_foreign_key_list(child.name) AS key
                WHERE child.type = 'table' AND child.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND child.name NOT LIKE 'ubiquity\\_%' ESCAPE '\\'
                ORDER BY child.rowid, key.id, key.seq
                """)
        for (_, rows) in Dictionary(grouping: all, by: { $0["number"] as Int }).sorted(by: { $0.key < $1.key }) {
            let name: String = rows[0]["child"]
            let child = shapes.firstIndex { $0.name.lowercased() == name.lowercased() }
            for (_, parts) in Dictionary(grouping: rows, by: { $0["id"] as Int }).sorted(by: { $0.key < $1.key }) {
                let parentName: String = parts[0]["table"]
                let parent = shapes.firstIndex { $0.name.lowercased() == parentName.lowercased() }
                switch (child, parent) {
                case (nil, nil): continue
                case (let child?, let parent?):
                    guard let key = try foreignKey(parts, of: shapes[child], to: parent, shapes[parent]) else { continue }
                    shapes[child].foreignKeys.append(key)
                    shapes[parent].isParent = true
                default:
                    let declared = tables.map { $0.name.lowercased() }
                    // Another violation already names the fault of a declared table.
                    if declared.contains(name.lowercased()), declared.contains(parentName.lowercased()) { continue }
                    violations.append(
                        "Table “\(name)” has a foreign key to “\(parentName)”, and only one of them is synced: declare both as SyncedTable, or drop the constraint and keep the column."
                    )
                }
            }
        }
        for index in shapes.indices { groupReferences(of: &shapes[index]) }
        checkKeyCycles(shapes)
        for shape in shapes { checkMoved(shape) }
    }

    /// Rejects an exclusive rule that moves a reference, which would then refer to another record.
    private mutating func checkMoved(_ shape: TableShape) {
        for exclusion in shape.uniques.compactMap(\.exclusion)
        where shape.foreignKeys.contains(where: { $0.columns.contains(.value(exclusion.column)) }) {
            violations.append(
                "An exclusive rule of “\(shape.name)” moves “\(shape.columns[exclusion.column])”, which refers to another table: move another column, with `moving:`."
            )
        }
    }

    /// Groups the columns of each reference: merged separately they could name a parent that no device chose.
    private mutating func groupReferences(of shape: inout TableShape) {
        for key in shape.foreignKeys where key.valueColumns.count > 1 {
            shape.rules.group(key.valueColumns)
            let group = shape.rules.completed(key.valueColumns)
            let kinds = Set(group.numbers.map { shape.rules.policy(of: $0) })
            guard kinds.count > 1 || !kinds.isDisjoint(with: [.maximum, .minimum]) else { continue }
            let list = group.numbers.map { shape.columns[$0] }.joined(separator: ", ")
            violations.append(
                "The columns (\(list)) of “\(shape.name)” are one value, for a foreign key refers by several of them, and mix policies, or compare values: use the last writer's policy for all, or the first writer's."
            )
        }
    }

    private mutating func foreignKey(_ parts: [Row], of child: TableShape, to parent: Int, _ parentShape: TableShape) throws -> ForeignKey? {
        let what = "The foreign key (\(parts.map { $0["from"] as String }.joined(separator: ", "))) of “\(child.name)”"
        let targets = parts.enumerated().map { place, part in
            (part["to"] as String?) ?? (parentShape.keyColumns.indices.contains(place) ? parentShape.keyColumns[place] : "")
        }
        guard targets.count == parentShape.keyColumns.count,
            Set(targets.map { $0.lowercased() }) == Set(parentShape.keyColumns.map { $0.lowercased() })
        else {
            violations.append(
                "\(what) refers to columns of “\(parentShape.name)” that are not its primary key: refer to its key, or drop the constraint.")
            return nil
        }
        var columns: [ForeignKey.Column] = []
        for target in parentShape.keyColumns {
            let from: String = parts[targets.firstIndex { $0.lowercased() == target.lowercased() }!]["from"]
            if let place = child.keyColumns.firstIndex(where: { $0.lowercased() == from.lowercased() }) {
                columns.append(.key(place))
            } else if let number = child.columns.firstIndex(where: { $0.lowercased() == from.lowercased() }) {
                columns.append(.value(number))
            } else {
                violations.append("\(what) has the column “\(from)”, which does not sync: sync it, or drop the constraint.")
                return nil
            }
            if try affinity(of: from, in: child.name) != affinity(of: target, in: parentShape.name) {
                violations.append("\(what) has a column “\(from)” of another type than “\(target)” of “\(parentShape.name)”: declare both alike.")
            }
        }
        let key = ForeignKey(columns: columns, parent: parent, orphan: orphan(parts[0]["on_delete"], columns, of: child))
        let isMixed = !key.isInKey && !key.valueColumns.isEmpty && key.valueColumns.count < columns.count
        if isMixed, !Self.isWithinAccount(key, of: child, to: parentShape) || key.valueColumns.count != columns.count - 1 {
            violations.append("\(what) is partly in the primary key: put all of it there, or nothing.")
        }
        checkAccounts(key, (parts[0]["on_delete"], parts[0]["on_update"]), what, of: child, to: parentShape)
        return key
    }

    private func orphan(_ action: String, _ columns: [ForeignKey.Column], of child: TableShape) -> ForeignKey.Orphan {
        let numbers = columns.compactMap { if case .value(let number) = $0 { number } else { nil } }
        guard numbers.count == columns.count else { return .held }
        switch action {
        case "SET NULL": return numbers.contains { child.notNull.contains(ColumnSet(column: $0)) } ? .held : .null
        case "SET DEFAULT":
            let values = numbers.map { child.defaults[$0] }
            let isRefused = zip(numbers, values).contains { $1 == .null && child.notNull.contains(ColumnSet(column: $0)) }
            return isRefused ? .held : .standard(values)
        default: return .held
        }
    }

    /// Returns how SQLite compares a column's values; see sqlite.org/datatype3.html#determination_of_column_affinity.
    private func affinity(of column: String, in table: String) throws -> String {
        let type =
            try String.fetchOne(
                db, sql: "SELECT type FROM pragma_table_xinfo(?) WHERE lower(name) = lower(?)", arguments: [table, column])?.uppercased() ?? ""
        if type.contains("INT") { return "INTEGER" }
        if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) { return "TEXT" }
        if type.isEmpty || type.contains("BLOB") { return "BLOB" }
        return "NUMERIC"
    }

    /// Rejects primary keys that refer to each other in a circle, because no record of these tables could be named
    /// first.
    private mutating func checkKeyCycles(_ shapes: [TableShape]) {
        let ordered = RelationOrder(shapes).tables
        let rest = shapes.indices.filter { !ordered.contains($0) }.map { "“\(shapes[$0].name)”" }.joined(separator: ", ")
        if !rest.isEmpty { violations.append("The primary keys of \(rest) refer to each other in a circle: give one of them a key of its own.") }
    }
}

/// The synced tables, each after the tables that its primary key refers to.
struct RelationOrder {
    private(set) var tables: [Int] = []

    /// Sorts the tables, without those whose keys refer to each other in a circle.
    init(_ shapes: [TableShape]) {
        var rest = Array(shapes.indices)
        func isReady(_ index: Int) -> Bool { shapes[index].foreignKeys.allSatisfy { !$0.isInKey || tables.contains($0.parent) } }
        while let next = rest.first(where: isReady) {
            tables.append(next)
            rest.removeAll { $0 == next }
        }
    }
}
