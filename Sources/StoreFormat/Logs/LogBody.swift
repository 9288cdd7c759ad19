package import UbiquityContainers

/// The second part of a log: changes of records, grouped by stamp.
///
/// A group is one save, or the part of a save that still counts. Its changes share the save's stamp. A change names the
/// life of a record and the columns that it writes, by their positions in the log's own list of columns.
package enum LogBody {
    /// The version of the body format that this version writes.
    package static let version: UInt64 = 1

    enum Field {
        static let table = 1, group = 2, retired = 3
        static let tableName = 1, tableKey = 2, tableColumn = 3
        static let groupStamp = 1, groupPeer = 2, groupRows = 3, groupSame = 4
        static let rowsTable = 1, rowsCount = 2, rowsBytes = 3
        static let sameTable = 1, sameBytes = 2
        static let retiredPeer = 1, retiredReceipt = 2, retiredSequence = 3
    }

    /// A synced table as the log's author had it.
    package struct Table: Hashable, Sendable {
        package var name: String
        package var keyColumns: [String]
        package var columns: [String]

        package init(name: String, keyColumns: [String], columns: [String]) {
            self.name = name
            self.keyColumns = keyColumns
            self.columns = columns
        }
    }

    /// The changes of one table in one group, still encoded.
    package struct Rows: Sendable {
        package var table: Int
        package var count: Int
        package var bytes: ArraySlice<UInt8>

        package init(table: Int, count: Int, bytes: ArraySlice<UInt8>) {
            self.table = table
            self.count = count
            self.bytes = bytes
        }
    }

    /// The changes of one save.
    package struct Group: Sendable {
        package var time: HybridTime
        /// The peer of the save, if it is not the log's author.
        package var peer: PeerIdentifier?
        package var rows: [Rows]
        /// The pairs of records that the author found to be one, by the index of their table in the log's list.
        package var same: [Same] = []

        package init(time: HybridTime, peer: PeerIdentifier? = nil, rows: [Rows], same: [Same] = []) {
            self.time = time
            self.peer = peer
            self.rows = rows
            self.same = same
        }
    }

    /// A same-as fact of a table.
    package struct Same: Sendable, Hashable {
        package var table: Int
        package var fact: SameAs
    }

    /// A change of one record.
    ///
    /// Readers reuse the storage for the next change.
    package struct Change: Hashable, Sendable {
        package var life: Int64 = 0
        package var key: [RecordValue] = []
        package var columns: ColumnSet = []
        /// The values of `columns`, in ascending order of columns.
        package var values: [RecordValue] = []

        package init() {}
    }

    /// A body, decoded down to its groups.
    package struct Contents: Sendable {
        package var tables: [Table] = []
        package var groups: [Group] = []
        /// The peers that the author retired.
        package var retired: [PeerIdentifier: Retirement] = [:]

        package init(tables: [Table] = [], groups: [Group] = [], retired: [PeerIdentifier: Retirement] = [:]) {
            self.tables = tables
            self.groups = groups
            self.retired = retired
        }
    }

    package static func decode(_ log: LogFile) throws(LogFault) -> Contents {
        guard log.header.bodyVersion <= version else { throw .newer("its body has version \(log.header.bodyVersion)") }
        do {
            return try contents(log.body)
        } catch let fault as LogFault {
            throw fault
        } catch {
            throw .damaged("its body is malformed")
        }
    }

    private static func contents(_ body: ArraySlice<UInt8>) throws -> Contents {
        var contents = Contents()
        // The tables of the facts may follow later in the body.
        var facts: [[ArraySlice<UInt8>]] = []
        var reader = WireReader(body)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.table: contents.tables.append(try table(try value.data))
            case Field.group:
                let (group, same) = try group(try value.data)
                contents.groups.append(group)
                facts.append(same)
            case Field.retired:
                let (peer, fact) = try retirement(try value.data)
                contents.retire(peer, fact)
            default: break
            }
        }
        for rows in contents.groups.flatMap(\.rows) where !contents.tables.indices.contains(rows.table) {
            throw LogFault.damaged("its body names a table that it does not describe")
        }
        for index in contents.groups.indices {
            contents.groups[index].same = try facts[index].map { try same($0, contents.tables) }
        }
        return contents
    }

    private static func table(_ bytes: ArraySlice<UInt8>) throws -> Table {
        var table = Table(name: "", keyColumns: [], columns: [])
        var reader = WireReader(bytes)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.tableName: table.name = try value.string
            case Field.tableKey: table.keyColumns.append(try value.string)
            case Field.tableColumn: table.columns.append(try value.string)
            default: break
            }
        }
        guard !table.name.isEmpty, !table.keyColumns.isEmpty, table.columns.count <= ColumnSet.capacity else {
            throw LogFault.damaged("its body describes an impossible table")
        }
        return table
    }

    private static func group(_ bytes: ArraySlice<UInt8>) throws -> (Group, same: [ArraySlice<UInt8>]) {
        var group = Group(time: .least, peer: nil, rows: [])
        var same: [ArraySlice<UInt8>] = []
        var reader = WireReader(bytes)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.groupStamp:
                guard let time = Int64(exactly: try value.number) else { throw LogFault.damaged("a stamp is malformed") }
                group.time = HybridTime(rawValue: time)
            case Field.groupPeer:
                guard let peer = PeerIdentifier(try value.string) else { throw LogFault.damaged("a group's peer is malformed") }
                group.peer = peer
            case Field.groupRows: group.rows.append(try rows(try value.data))
            case Field.groupSame: same.append(try value.data)
            default: break
            }
        }
        return (group, same)
    }

    private static func same(_ bytes: ArraySlice<UInt8>, _ tables: [Table]) throws -> Same {
        var place = 0
        var nodes: ArraySlice<UInt8> = []
        var reader = WireReader(bytes)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.sameTable: place = Int(clamping: try value.number)
            case Field.sameBytes: nodes = try value.data
            default: break
            }
        }
        guard tables.indices.contains(place) else { throw LogFault.damaged("its body names a table that it does not describe") }
        var values = WireReader(nodes)
        func node() throws -> RecordNode {
            let life = try values.varint()
            guard life > 0, life < 1 << 62, !life.isMultiple(of: 2) else { throw LogFault.damaged("a record's life is malformed") }
            return RecordNode(key: try tables[place].keyColumns.map { _ in try values.recordValue().detached }, life: Int64(life))
        }
        let fact = SameAs(try node(), try node())
        let keys = fact.first.key + fact.second.key
        guard values.isAtEnd, fact.first.key != fact.second.key, !keys.contains(.null) else {
            throw LogFault.damaged("a pair of records is malformed")
        }
        return Same(table: place, fact: fact)
    }

    private static func retirement(_ bytes: ArraySlice<UInt8>) throws -> (PeerIdentifier, Retirement) {
        var peer: PeerIdentifier?
        var (receipt, sequence): (Int64, Int64) = (0, 0)
        var reader = WireReader(bytes)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.retiredPeer: peer = PeerIdentifier(try value.string)
            case Field.retiredReceipt: receipt = Int64(clamping: try value.number)
            case Field.retiredSequence: sequence = Int64(clamping: try value.number)
            default: break
            }
        }
        guard let peer else { throw LogFault.damaged("it retires an impossible peer") }
        return (peer, Retirement(receipt: receipt, sequence: sequence))
    }

    private static func rows(_ bytes: ArraySlice<UInt8>) throws -> Rows {
        var rows = Rows(table: 0, count: 0, bytes: [])
        var reader = WireReader(bytes)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.rowsTable: rows.table = Int(clamping: try value.number)
            case Field.rowsCount: rows.count = Int(clamping: try value.number)
            case Field.rowsBytes: rows.bytes = try value.data
            default: break
            }
        }
        return rows
    }
}

extension LogBody.Contents {
    /// Adds a retirement.
    mutating func retire(_ peer: PeerIdentifier, _ fact: Retirement) { retired[peer] = retired[peer]?.joined(with: fact) ?? fact }
}

extension LogBody.Rows {
    /// Reads the changes one by one.
    ///
    /// - Parameters:
    ///   - table: the table of the changes.
    ///   - lookUp: finds a value that is in a file of its own.
    ///   - body: receives each change, which is valid until the next call.
    /// - Throws: `LogFault`, or the error of the body.
    package func forEach(
        in table: LogBody.Table, values lookUp: LargeValue.Lookup = LargeValue.none, _ body: (inout LogBody.Change) throws -> Void
    ) throws {
        var reader = WireReader(bytes)
        var change = LogBody.Change()
        for _ in 0..<count {
            try change.read(from: &reader, table: table, lookUp)
            try body(&change)
        }
        guard reader.isAtEnd else { throw LogFault.damaged("its body holds more changes than it counts") }
    }
}

extension LogBody.Contents {
    /// The number of changes.
    package var changes: Int64 { groups.lazy.flatMap(\.rows).reduce(0) { $0 + Int64($1.count) } }

    /// Whether nothing is in the body.
    package var isEmpty: Bool { groups.isEmpty && retired.isEmpty }

    /// Splits the changes into two bodies, which are encoded as they were.
    ///
    /// A same-as fact is chosen if one of its records is. Retirements stay with the rest.
    ///
    /// - Parameter isChosen: returns whether the changes of a record in a group are chosen.
    /// - Returns: the chosen changes, and the rest.
    /// - Throws: `LogFault`, or the error of the closure.
    package func split(
        _ isChosen: (LogBody.Group, LogBody.Table, _ key: [RecordValue]) throws -> Bool
    ) throws -> (chosen: Self, rest: Self) {
        var (chosen, rest) = (Self(tables: tables), Self(tables: tables, retired: retired))
        for group in groups {
            var parts = (LogBody.Group(time: group.time, peer: group.peer, rows: []), LogBody.Group(time: group.time, peer: group.peer, rows: []))
            for rows in group.rows {
                let (some, others) = try rows.split(in: tables[rows.table]) { try isChosen(group, tables[rows.table], $0) }
                if some.count > 0 { parts.0.rows.append(some) }
                if others.count > 0 { parts.1.rows.append(others) }
            }
            for same in group.same {
                let isOut = try [same.fact.first, same.fact.second].contains { try isChosen(group, tables[same.table], $0.key) }
                if isOut { parts.0.same.append(same) } else { parts.1.same.append(same) }
            }
            if !parts.0.rows.isEmpty || !parts.0.same.isEmpty { chosen.groups.append(parts.0) }
            if !parts.1.rows.isEmpty || !parts.1.same.isEmpty { rest.groups.append(parts.1) }
        }
        return (chosen, rest)
    }
}

extension LogBody.Rows {
    fileprivate func split(in table: LogBody.Table, _ isChosen: ([RecordValue]) throws -> Bool) throws -> (chosen: Self, rest: Self) {
        var reader = WireReader(bytes)
        var change = LogBody.Change()
        var (chosen, rest): ([UInt8], [UInt8]) = ([], [])
        var number = 0
        for _ in 0..<count {
            let start = bytes.endIndex - reader.remaining
            try change.read(from: &reader, table: table) { _ in .null }
            let encoded = bytes[start..<bytes.endIndex - reader.remaining]
            if try isChosen(change.key) {
                chosen += encoded
                number += 1
            } else {
                rest += encoded
            }
        }
        return (
            Self(table: self.table, count: number, bytes: chosen[...]), Self(table: self.table, count: count - number, bytes: rest[...])
        )
    }
}

extension LogBody.Change {
    fileprivate mutating func read(from reader: inout WireReader, table: LogBody.Table, _ lookUp: LargeValue.Lookup) throws {
        do {
            let life = try reader.varint()
            guard life > 0, life < 1 << 62 else { throw LogFault.damaged("a record's life is malformed") }
            self.life = Int64(life)
            key.removeAll(keepingCapacity: true)
            values.removeAll(keepingCapacity: true)
            columns = []
            for _ in table.keyColumns {
                let value = try reader.recordValue()
                guard value != .null else { throw LogFault.damaged("a record's key is NULL") }
                key.append(value)
            }
            guard !life.isMultiple(of: 2) else { return }
            let mask = try reader.varint()
            guard mask < 1 << UInt64(table.columns.count) else { throw LogFault.damaged("a change names a column that is not there") }
            columns = ColumnSet(rawValue: Int64(mask))
            for _ in 0..<columns.count { values.append(try reader.recordValue(lookUp)) }
        } catch is WireReader.Fault {
            throw LogFault.damaged("its body is malformed")
        }
    }
}
