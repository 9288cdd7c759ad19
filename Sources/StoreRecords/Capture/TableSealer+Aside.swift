internal import GRDB
internal import StoreFormat

/// Saves of rows that show other records than the one with their key, or that one otherwise than it was written.
extension TableSealer {
    /// The records that a row shows; none where it is exactly its record's registers.
    func derivation(of key: [RecordValue]) throws -> [AsideRecord] { try related?.table.asides(under: key).filter { $0.state == .shown } ?? [] }

    /// A save of a row is a save of one of the records that it shows, whose stamp is then the latest.
    ///
    /// - Parameters:
    ///   - columns: what is written.
    ///   - changed: what of it the save has changed; the rest is one value with that, and stays what the records hold, whatever the row shows.
    ///   - record: the record that is written.
    ///   - members: all that the row shows.
    /// - Throws: GRDB's errors.
    mutating func write(_ columns: ColumnSet, changed: ColumnSet, to record: AsideRecord, of members: [AsideRecord]) throws {
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
        try related!.table.put(record)
        try related!.table.markUnresolved(record.registers.key)
        try emit(record.registers, columns)
    }

    /// Deleting a row deletes every record that it showed.
    mutating func endAll(_ members: [AsideRecord]) throws {
        for member in members {
            let key = member.registers.key
            try related!.table.removeAside(key)
            try related!.table.markUnresolved(key)
            try died(key, life: member.registers.clock.life + 1)
        }
    }

    /// An insert of a key that is alive and not shown under it starts its next life.
    ///
    /// What that record gave to a row that it shares stays there, as a save of this device. A row that showed it alone is a record of its own from
    /// now on: nobody deleted it.
    ///
    /// - Parameters:
    ///   - key: the key that was inserted.
    ///   - wasRemoved: whether the save has removed a row by its key.
    /// - Returns: the end of the life that is over; 0 where there was none.
    /// - Throws: GRDB's errors.
    mutating func takeHidden(_ key: [RecordValue], wasRemoved: ([RecordValue]) -> Bool) throws -> Int64 {
        guard let related, let hidden = try related.table.aside(key) else { return 0 }
        try related.table.removeAside(key)
        try related.table.markUnresolved(key)
        if hidden.state == .shown {
            if let rest = try related.table.asides(under: hidden.shown).first(where: { $0.state == .shown }) {
                try keep(of: hidden, in: rest)
            } else if !wasRemoved(hidden.shown) {
                try keepAlone(hidden)
            }
        }
        return hidden.registers.clock.life + 1
    }

    /// Keeps a value in the registers of a record whose row cannot hold it: what the row shows is found out behind the save.
    ///
    /// A row that shows other registers than its own is left alone: they have the value.
    mutating func hide(_ value: RecordValue, _ column: Int, of key: [RecordValue], _ clock: RecordClock) throws {
        guard let related, let row = try related.table.row(key) else { return }
        let before = try derivation(of: key)
        if before.isEmpty || hidden.contains(key) {
            var kept =
                before.first
                ?? AsideRecord(
                    registers: Registers(key: key, clock: clock, values: row.values, local: row.local), shown: key, state: .shown)
            kept.registers.values[column] = value
            try related.table.put(kept)
            hidden.insert(key)
        }
        try related.table.markUnresolved(key)
    }

    private mutating func keepAlone(_ hidden: AsideRecord) throws {
        let key = hidden.shown
        guard let related, let row = try related.table.row(key) else { return }
        var columns: ColumnSet = []
        for column in shape.columns.indices where shape.isSaid(hidden.registers.values[column], of: column) {
            columns.insert(ColumnSet(column: column))
        }
        columns = shape.rules.completed(columns)
        let clock = RecordClock(life: try clocks.revive(key) + 1, stamp: stamp, columns: columns)
        let kept = Registers(key: key, clock: clock, values: hidden.registers.values, local: row.local)
        // What is shown may differ from what was written.
        try related.table.put(AsideRecord(registers: kept, shown: key, state: .shown))
        try related.table.markUnresolved(key)
        try clocks.set(clock, at: row.place)
        try emit(kept, columns)
    }

    private mutating func keep(of hidden: AsideRecord, in rest: AsideRecord) throws {
        var kept = rest
        guard let table = related?.table, let row = try table.row(hidden.shown) else { return }
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
        try emit(kept.registers, columns)
    }
}
