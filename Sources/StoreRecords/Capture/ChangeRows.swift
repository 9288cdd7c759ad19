internal import StoreFormat

/// The changes of one table, written as rows of a log.
struct ChangeRows {
    private let values: LargeValues
    /// The changes that have not been passed on.
    private(set) var rows = WireWriter()
    private(set) var count = 0
    /// The receiver of the changes, and the size in bytes at which it takes them.
    ///
    /// Nil if the changes stay here.
    private var next: (size: Int, take: (Int, WireWriter) throws -> Void)?

    init(_ values: LargeValues) { self.values = values }

    /// Passes changes on, with their number, whenever they reach a size in bytes.
    mutating func passOn(from size: Int, to take: @escaping (Int, WireWriter) throws -> Void) { next = (size, take) }

    /// Counts a change that has been written.
    private mutating func noteWritten() throws {
        count += 1
        guard let next, rows.bytes.count >= next.size else { return }
        try next.take(count, rows)
        (rows, count) = (WireWriter(), 0)
    }

    /// Writes the end of a record's life.
    mutating func died(_ key: [RecordValue], life: Int64) throws {
        rows.varint(UInt64(life))
        for value in key { rows.recordValue(value) }
        try noteWritten()
    }

    /// Writes columns of a record.
    mutating func emit(_ registers: Registers, _ columns: ColumnSet) throws {
        rows.varint(UInt64(registers.clock.life))
        for value in registers.key { rows.recordValue(value) }
        rows.varint(UInt64(columns.rawValue))
        for column in columns.numbers { try values.write(registers.values[column], to: &rows) }
        try noteWritten()
    }

    /// Writes columns of the current row of a statement, which returns the key and all columns of a table.
    mutating func emit(_ row: RawStatement, _ shape: TableShape, life: Int64, columns: ColumnSet) throws {
        rows.varint(UInt64(life))
        for place in shape.keyColumns.indices { row.write(place, to: &rows) }
        rows.varint(UInt64(columns.rawValue))
        try columns.forEach { column throws(any Error) in try values.write(shape.keyColumns.count + column, of: row, to: &rows) }
        try noteWritten()
    }
}
