internal import UbiquityContainers

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
        let rows = sections.enumerated().map { LogBody.Rows(table: $0, count: $1.count, bytes: $1.rows.bytes[...]) }
        return LogBody.Contents(tables: tables, groups: [LogBody.Group(time: time, peer: nil, rows: rows)]).encoded()
    }
}

extension LogBody.Contents {
    /// The bytes of a body; packed rows go into it as they are.
    package func encoded() -> [UInt8] {
        var body = WireWriter(reserving: 256 + groups.lazy.flatMap(\.rows).reduce(0) { $0 + $1.bytes.count + 64 })
        for table in tables {
            var writer = WireWriter()
            writer.field(LogBody.Field.tableName, string: table.name)
            for column in table.keyColumns { writer.field(LogBody.Field.tableKey, string: column) }
            for column in table.columns { writer.field(LogBody.Field.tableColumn, string: column) }
            body.field(LogBody.Field.table, bytes: writer.bytes)
        }
        for group in groups {
            var writer = WireWriter(reserving: group.rows.reduce(64) { $0 + $1.bytes.count + 32 })
            writer.field(LogBody.Field.groupStamp, fixed64: UInt64(group.time.rawValue))
            if let peer = group.peer { writer.field(LogBody.Field.groupPeer, string: peer.description) }
            for rows in group.rows {
                var section = WireWriter(reserving: rows.bytes.count + 16)
                section.field(LogBody.Field.rowsTable, varint: UInt64(rows.table))
                section.field(LogBody.Field.rowsCount, varint: UInt64(rows.count))
                section.field(LogBody.Field.rowsBytes, bytes: rows.bytes)
                writer.field(LogBody.Field.groupRows, bytes: section.bytes)
            }
            body.field(LogBody.Field.group, bytes: writer.bytes)
        }
        return body.bytes
    }
}
