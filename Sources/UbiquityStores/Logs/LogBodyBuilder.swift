/// Builds a body of one group: the changes of one save.
package struct LogBodyBuilder {
    private var tables: [LogBody.Table] = []
    private var sections: [(count: Int, rows: WireWriter)] = []
    package private(set) var changes = 0

    package init() {}

    package var isEmpty: Bool { changes == 0 }

    /// Adds the changes of one table.
    ///
    /// - Parameters:
    ///   - table: the table as it is here.
    ///   - count: how many changes there are.
    ///   - rows: the changes, each written by `begin` and `WireWriter.recordValue`.
    package mutating func add(_ table: LogBody.Table, count: Int, rows: WireWriter) {
        guard count > 0 else { return }
        tables.append(table)
        sections.append((count, rows))
        changes += count
    }

    package func encoded(time: HybridTime) -> [UInt8] {
        var body = WireWriter(reserving: sections.reduce(256) { $0 + $1.rows.bytes.count + 16 })
        for table in tables {
            var writer = WireWriter()
            writer.field(LogBody.Field.tableName, string: table.name)
            for column in table.keyColumns { writer.field(LogBody.Field.tableKey, string: column) }
            for column in table.columns { writer.field(LogBody.Field.tableColumn, string: column) }
            body.field(LogBody.Field.table, bytes: writer.bytes)
        }
        var group = WireWriter(reserving: sections.reduce(64) { $0 + $1.rows.bytes.count + 16 })
        group.field(LogBody.Field.groupStamp, fixed64: UInt64(time.rawValue))
        for (index, section) in sections.enumerated() {
            var rows = WireWriter(reserving: section.rows.bytes.count + 16)
            rows.field(LogBody.Field.rowsTable, varint: UInt64(index))
            rows.field(LogBody.Field.rowsCount, varint: UInt64(section.count))
            rows.field(LogBody.Field.rowsBytes, bytes: section.rows.bytes)
            group.field(LogBody.Field.groupRows, bytes: rows.bytes)
        }
        body.field(LogBody.Field.group, bytes: group.bytes)
        return body.bytes
    }
}
