package import GRDB
package import StoreFormat

/// A synced table as the store file last had it, with the names of the numbers in clocks and captured changes.
package struct KnownTable {
    var number: Int64
    package var name: String
    package var keyColumns: [String]
    /// The columns, in the order of their numbers.
    package var columns: [String]
    /// The excluded columns, as long as the table keeps its name.
    var localColumns: [String]

    /// Returns all known tables; none if the file is not a store yet.
    package static func all(_ db: Database) throws -> [KnownTable] { try all(db, withLocalColumns: true) }

    /// Returns all known tables; the excluded columns, which only a migration needs, cost a statement for each table.
    static func all(_ db: Database, withLocalColumns: Bool) throws -> [KnownTable] {
        guard try db.tableExists("ubiquity_table") else { return [] }
        return try Row.fetchAll(db, sql: "SELECT number, name, key, columns FROM ubiquity_table ORDER BY number").map { row in
            let (keyColumns, columns) = (lines(row["key"]), lines(row["columns"]))
            let all =
                withLocalColumns
                ? try String.fetchAll(db, sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", arguments: [row["name"] as String]) : []
            return KnownTable(
                number: row["number"], name: row["name"], keyColumns: keyColumns, columns: columns,
                localColumns: all.filter { !keyColumns.contains($0) && !columns.contains($0) })
        }
    }

    private static func lines(_ text: String) -> [String] { text.isEmpty ? [] : text.split(separator: "\n").map(String.init) }

    /// Returns the table's shape, as far as the store file tells it: without the app's rules of merging.
    ///
    /// - Parameters:
    ///   - access: who changes its records; nil in a plain container.
    ///   - db: the store.
    /// - Returns: the shape.
    /// - Throws: GRDB's errors.
    package func shape(_ access: TableAccess?, _ db: Database) throws -> TableShape {
        let hasRowid = (try? db.makeStatement(sql: "SELECT rowid FROM \(name.quotedIdentifier)")) != nil
        let hasKeyIndex = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk')", arguments: [name])!
        var shape = TableShape(
            number: number, name: name, keyColumns: keyColumns, columns: columns, hasRowid: hasRowid,
            isRowidKey: hasRowid && keyColumns.count == 1 && !hasKeyIndex)
        (shape.localColumns, shape.access) = (localColumns, access)
        return shape
    }

    /// Pairs each table with its present shape; nil if it is gone, or no longer synced.
    static func matched(_ tables: [KnownTable], _ shapes: [TableShape]) -> [(table: KnownTable, shape: TableShape?)] {
        var taken: Set<String> = []
        var shapeOf: [Int64: TableShape] = [:]
        for table in tables {
            if let shape = shapes.first(where: { $0.name == table.name }), taken.insert(shape.name).inserted { shapeOf[table.number] = shape }
        }
        for table in tables where shapeOf[table.number] == nil {
            let renamed = shapes.first { $0.formerNames.contains(table.name) && !taken.contains($0.name) }
            if let renamed, taken.insert(renamed.name).inserted { shapeOf[table.number] = renamed }
        }
        return tables.map { ($0, shapeOf[$0.number]) }
    }

    /// Returns whether a table is unchanged.
    func isCurrent(_ shape: TableShape) -> Bool { name == shape.name && keyColumns == shape.keyColumns && columns == shape.columns }

    /// Returns the present numbers of the columns.
    func renumbering(to shape: TableShape) -> ColumnRenumbering {
        var taken: Set<Int> = []
        return ColumnRenumbering(
            numbers: columns.map { name in shape.number(of: name).flatMap { taken.insert($0).inserted ? $0 : nil } })
    }
}
