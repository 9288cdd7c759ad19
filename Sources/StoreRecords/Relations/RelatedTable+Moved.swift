internal import GRDB
internal import StoreFormat

/// A row that shows another value than was written, because another record holds the written value.
struct MovedRow: Hashable {
    /// The key of the row.
    var key: [RecordValue]
    /// The number of the column that shows another value.
    var column: Int
    /// The value that was written.
    var written: RecordValue
    /// The key of the row that holds the written value.
    var holder: [RecordValue]
}

extension RelatedTable {
    /// Returns the rows that show another value than was written.
    func movedRows() throws -> [MovedRow] {
        guard hasMoved else { return [] }
        let rows = try RawStatement("SELECT * FROM \(shape.movedTable)", db)
        defer { rows.reset() }
        let count = shape.keyColumns.count
        func list(_ start: Int) -> [RecordValue] { (start..<start + count).map { rows.value($0).detached } }
        var found: [MovedRow] = []
        while try rows.step() {
            found.append(MovedRow(key: list(0), column: Int(rows.integer(count)), written: rows.value(count + 1).detached, holder: list(count + 2)))
        }
        return found
    }

    /// Replaces some of these rows by others.
    func setMoved(_ before: Set<MovedRow>, _ after: Set<MovedRow>) throws {
        let places = Array(repeating: "?", count: 2 * shape.keyColumns.count + 2).joined(separator: ",")
        let condition = shape.keyColumns.indices.map { "k\($0) = ?" }.joined(separator: " AND ")
        for row in before.subtracting(after) {
            let drop = try RawStatement("DELETE FROM \(shape.movedTable) WHERE \(condition) AND \"column\" = ?", db)
            for (index, value) in row.key.enumerated() { drop.bind(index + 1, value) }
            drop.bind(row.key.count + 1, Int64(row.column))
            try drop.run()
        }
        for row in after.subtracting(before) {
            hasMoved = true
            let put = try RawStatement("INSERT OR REPLACE INTO \(shape.movedTable) VALUES (\(places))", db)
            for (index, value) in (row.key + [.integer(Int64(row.column)), row.written] + row.holder).enumerated() { put.bind(index + 1, value) }
            try put.run()
        }
    }

    /// Marks all rows that show another value, so that they are resolved again.
    func markMoved() throws {
        guard hasMoved else { return }
        try db.execute(sql: "INSERT OR IGNORE INTO \(shape.unresolvedTable) SELECT \(shape.ownKeyColumns) FROM \(shape.movedTable)")
    }
}
