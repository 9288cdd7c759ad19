internal import GRDB

/// Gives the changes of one table their stamps, and writes them as a log's rows.
struct TableSealer {
    private let shape: TableShape
    private let stamp: Stamp
    private let clocks: ClockTable
    private let row: RawStatement
    private(set) var rows = WireWriter()
    private(set) var count = 0

    init(shape: TableShape, stamp: Stamp, _ db: Database) throws {
        self.shape = shape
        self.stamp = stamp
        clocks = try ClockTable(shape: shape, db)
        let columns = (shape.keyColumns + shape.columns).map(\.quotedDatabaseIdentifier).joined(separator: ", ")
        row = try RawStatement("SELECT \(columns) FROM \(shape.name.quotedDatabaseIdentifier) WHERE rowid = ?", db)
    }

    mutating func seal(_ captured: CaptureFold) throws {
        var fold = captured
        for (rid, key) in captured.challenged {
            row.bind(1, rid)
            let isThere = try row.step() && shape.keyColumns.indices.allSatisfy { row.value($0) == key[$0] }
            row.reset()
            fold.resolveChallenge(of: rid, tookPlace: !isThere)
        }
        var ended: [[RecordValue]: (life: Int64, replaced: Bool)] = [:]
        for end in fold.ended {
            let life = try clocks.take(rid: end.rid)?.life ?? 1
            ended[end.key] = (life, end.replaced)
        }
        for rid in fold.order {
            guard let change = fold.take(rid) else { continue }
            row.bind(1, rid)
            defer { row.reset() }
            guard try row.step() else { continue }
            switch change {
            case .born: try born(rid, &ended)
            case .changed(let columns): try changed(rid, columns)
            }
        }
        for (key, end) in ended { try died(key, life: end.life + 1) }
    }

    private mutating func born(_ rid: Int64, _ ended: inout [[RecordValue]: (life: Int64, replaced: Bool)]) throws {
        var life: Int64
        var columns: ColumnSet = []
        for column in shape.columns.indices where !row.isNull(shape.keyColumns.count + column) { columns.insert(ColumnSet(column: column)) }
        let key = shape.keyColumns.indices.map { row.value($0) }
        if let end = ended.isEmpty ? nil : ended.removeValue(forKey: key) {
            life = end.replaced ? end.life : end.life + 2
            // A NULL that took the place of a value was written; one at an insert was not.
            if end.replaced { columns = shape.allColumns }
        } else {
            life = try clocks.revive(key) + 1
        }
        if life % 2 == 0 { life += 1 }
        try clocks.set(RecordClock(life: life, stamp: stamp, columns: columns), rid: rid)
        emit(life: life, columns: columns)
    }

    private mutating func changed(_ rid: Int64, _ columns: ColumnSet) throws {
        var clock = try clocks.clock(rid: rid) ?? RecordClock(life: 1, stamp: .least, columns: [])
        clock.set(columns, to: stamp)
        try clocks.set(clock, rid: rid)
        emit(life: clock.life, columns: columns)
    }

    private mutating func died(_ key: [RecordValue], life: Int64) throws {
        try clocks.bury(key, life: life)
        rows.varint(UInt64(life))
        for value in key { rows.recordValue(value) }
        count += 1
    }

    /// Writes the present row as a change.
    private mutating func emit(life: Int64, columns: ColumnSet) {
        rows.varint(UInt64(life))
        for place in shape.keyColumns.indices { row.write(place, to: &rows) }
        rows.varint(UInt64(columns.rawValue))
        columns.forEach { row.write(shape.keyColumns.count + $0, to: &rows) }
        count += 1
    }
}
