internal import GRDB
internal import StoreFormat

/// Seals saves of rows that show other records than the one with their key, or that record with other values.
struct AsideSealer {
    let table: RelatedTable
    private let shape: TableShape
    private let stamp: Stamp
    private let clocks: ClockTable
    private let db: Database
    /// The keys of rows that cannot hold the values of their records.
    private var hidden: Set<[RecordValue]> = []

    init(_ table: RelatedTable, shape: TableShape, stamp: Stamp, clocks: ClockTable, _ db: Database) {
        self.table = table
        self.shape = shape
        self.stamp = stamp
        self.clocks = clocks
        self.db = db
    }

    /// Returns the records that a row shows.
    ///
    /// The list is empty if the row shows exactly its own record's registers.
    func derivation(of key: [RecordValue]) throws -> [AsideRecord] { try table.asides(under: key).filter { $0.state == .shown } }

    /// Writes a save of a row to one of the records that the row shows.
    ///
    /// Its stamp is then the latest.
    ///
    /// - Parameters:
    ///   - columns: the columns to write.
    ///   - changed: the columns that the save changed. The others are in a group with them, and keep the values of the
    ///     records, whatever the row shows.
    ///   - record: the record to write.
    ///   - members: all records that the row shows.
    ///   - value: returns the value of a column of the row.
    ///   - changes: receives the change.
    /// - Throws: GRDB's errors.
    func write(
        _ columns: ColumnSet, changed: ColumnSet, to record: AsideRecord, of members: [AsideRecord], value: (Int) -> RecordValue,
        _ changes: inout ChangeRows
    ) throws {
        var record = record
        var joined = record.registers
        if columns != changed, members.count > 1 {
            let peers = try StoreKnowledge.peers(db)
            for member in members where member.registers.key != joined.key { joined.join(member.registers, rules: shape.rules, peers: peers) }
        }
        for column in columns.numbers {
            record.registers.values[column] = changed.contains(ColumnSet(column: column)) ? value(column) : joined.values[column]
        }
        record.registers.clock.set(columns, to: stamp)
        try table.put(record)
        try table.markUnresolved(record.registers.key)
        try changes.emit(record.registers, columns)
    }

    /// Deletes every record that a deleted row showed.
    func endAll(_ members: [AsideRecord], _ changes: inout ChangeRows) throws {
        for member in members {
            let key = member.registers.key
            try table.removeAside(key)
            try table.markUnresolved(key)
            let life = member.registers.clock.life + 1
            try clocks.bury(key, life: life)
            try changes.died(key, life: life)
        }
    }

    /// Ends the life of a record whose key is inserted although it is alive, because its own row does not show it.
    ///
    /// The insertion starts its next life. The values that the record gave to a shared row stay there, as a save of
    /// this device. A row that showed only this record becomes a record of its own, because nothing deleted it.
    ///
    /// - Parameters:
    ///   - key: the inserted key.
    ///   - changes: receives the changes of other records.
    ///   - wasRemoved: returns whether the save has removed the row with a key.
    /// - Returns: the end of the previous life, or 0 if there was none.
    /// - Throws: GRDB's errors.
    func takeHidden(_ key: [RecordValue], _ changes: inout ChangeRows, wasRemoved: ([RecordValue]) -> Bool) throws -> Int64 {
        guard let hidden = try table.aside(key) else { return 0 }
        try table.removeAside(key)
        try table.markUnresolved(key)
        if hidden.state == .shown {
            if let rest = try table.asides(under: hidden.shown).first(where: { $0.state == .shown }) {
                try keep(of: hidden, in: rest, &changes)
            } else if !wasRemoved(hidden.shown) {
                try keepAlone(hidden, &changes)
            }
        }
        return hidden.registers.clock.life + 1
    }

    /// Keeps a value in the registers of a record whose row cannot hold it.
    ///
    /// The row is resolved after the save.
    ///
    /// A row that shows other registers than its own is not changed, because those registers hold the value.
    mutating func hide(_ value: RecordValue, _ column: Int, of key: [RecordValue], _ clock: RecordClock) throws {
        guard let row = try table.row(key) else { return }
        let before = try derivation(of: key)
        if before.isEmpty || hidden.contains(key) {
            var kept =
                before.first
                ?? AsideRecord(
                    registers: Registers(key: key, clock: clock, values: row.values, local: row.local), shown: key, state: .shown)
            kept.registers.values[column] = value
            try table.put(kept)
            hidden.insert(key)
        }
        try table.markUnresolved(key)
    }

    private func keepAlone(_ hidden: AsideRecord, _ changes: inout ChangeRows) throws {
        let key = hidden.shown
        guard let row = try table.row(key) else { return }
        var columns: ColumnSet = []
        for column in shape.columns.indices where shape.isSaid(hidden.registers.values[column], of: column) {
            columns.insert(ColumnSet(column: column))
        }
        columns = shape.rules.completed(columns)
        let clock = RecordClock(life: try clocks.revive(key) + 1, stamp: stamp, columns: columns)
        let kept = Registers(key: key, clock: clock, values: hidden.registers.values, local: row.local)
        // The row may show other values than those written.
        try table.put(AsideRecord(registers: kept, shown: key, state: .shown))
        try table.markUnresolved(key)
        try clocks.set(clock, at: row.place)
        try changes.emit(kept, columns)
    }

    private func keep(of hidden: AsideRecord, in rest: AsideRecord, _ changes: inout ChangeRows) throws {
        var kept = rest
        guard let row = try table.row(hidden.shown) else { return }
        var columns: ColumnSet = []
        for column in shape.columns.indices where hidden.registers.values[column] == row.values[column] {
            guard rest.registers.values[column] != row.values[column] else { continue }
            columns.insert(ColumnSet(column: column))
        }
        columns = shape.rules.completed(columns)
        guard !columns.isEmpty else { return }
        for column in columns.numbers { kept.registers.values[column] = row.values[column] }
        kept.registers.clock.set(columns, to: stamp)
        try table.put(kept)
        try table.markUnresolved(kept.registers.key)
        try changes.emit(kept.registers, columns)
    }
}
