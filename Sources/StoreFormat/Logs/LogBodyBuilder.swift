package import UbiquityContainers

/// Builds a body with one group: the changes of one save.
package struct LogBodyBuilder {
    private var tables: [LogBody.Table] = []
    private var sections: [LogBody.Rows] = []
    private var same: [LogBody.Same] = []
    private var retired: [PeerIdentifier: Retirement] = [:]
    package private(set) var changes = 0
    /// The approximate size in bytes.
    package private(set) var size = 0

    package init() {}

    package var isEmpty: Bool { changes == 0 && same.isEmpty && retired.isEmpty }

    /// Adds the changes of one table.
    ///
    /// - Parameters:
    ///   - table: the table as it is here.
    ///   - count: the number of changes.
    ///   - rows: the changes, each written by `begin` and `WireWriter.recordValue`.
    package mutating func add(_ table: LogBody.Table, count: Int, rows: WireWriter) {
        guard count > 0 else { return }
        sections.append(LogBody.Rows(table: place(of: table), count: count, bytes: rows.bytes[...]))
        changes += count
        size += rows.bytes.count
    }

    /// Adds a same-as fact of a table.
    package mutating func add(_ table: LogBody.Table, _ fact: SameAs) {
        same.append(LogBody.Same(table: place(of: table), fact: fact))
        size += (fact.first.key + fact.second.key).reduce(16) { $0 + $1.byteCount + 16 }
    }

    /// Adds a retirement.
    package mutating func add(_ fact: Retirement, of peer: PeerIdentifier) { retired[peer] = fact }

    private mutating func place(of table: LogBody.Table) -> Int {
        if let place = tables.firstIndex(of: table) { return place }
        tables.append(table)
        return tables.count - 1
    }

    package func encoded(time: HybridTime) -> [UInt8] {
        LogBody.Contents(tables: tables, groups: [LogBody.Group(time: time, peer: nil, rows: sections, same: same)], retired: retired).encoded()
    }
}

extension LogBody.Contents {
    /// Returns the bytes of the body.
    ///
    /// Encoded rows are copied unchanged.
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
            for same in group.same {
                var nodes = WireWriter()
                for node in [same.fact.first, same.fact.second] {
                    nodes.varint(UInt64(node.life))
                    for value in node.key { nodes.recordValue(value) }
                }
                var section = WireWriter()
                section.field(LogBody.Field.sameTable, varint: UInt64(same.table))
                section.field(LogBody.Field.sameBytes, bytes: nodes.bytes)
                writer.field(LogBody.Field.groupSame, bytes: section.bytes)
            }
            body.field(LogBody.Field.group, bytes: writer.bytes)
        }
        for (peer, fact) in retired.sorted(by: { $0.key < $1.key }) {
            var writer = WireWriter()
            writer.field(LogBody.Field.retiredPeer, string: peer.description)
            writer.field(LogBody.Field.retiredReceipt, varint: UInt64(fact.receipt))
            writer.field(LogBody.Field.retiredSequence, varint: UInt64(fact.sequence))
            body.field(LogBody.Field.retired, bytes: writer.bytes)
        }
        return body.bytes
    }
}
