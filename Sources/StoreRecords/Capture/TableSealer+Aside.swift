internal import GRDB
internal import StoreFormat

/// Saves of rows that show other records than the one with their key, or that record with other values.
extension TableSealer {
    /// Returns the records that a row shows.
    ///
    /// The list is empty if the row shows exactly its own record's registers.
    func derivation(of key: [RecordValue]) throws -> [AsideRecord] { try related?.table.asides(under: key).filter { $0.state == .shown } ?? [] }

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
    /// - Throws: GRDB's errors.
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

    /// Deletes every record that a deleted row showed.
    mutating func endAll(_ members: [AsideRecord]) throws {
        for member in members {
            let key = member.registers.key
            try related!.table.removeAside(key)
            try related!.table.markUnresolved(key)
            try died(key, life: member.registers.clock.life + 1)
        }
    }

    /// Ends the life of a record whose key is inserted although it is alive, because its own row does not show it.
    ///
    /// The insertion starts its next life. The values that the record gave to a shared row stay there, as a save of
    /// this device. A row that showed only this record becomes a record of its own, because nothing deleted it.
    ///
    /// - Parameters:
    ///   - key: the inserted key.
    ///   - wasRemoved: returns whether the save has removed the row with a key.
    /// - Returns: the end of the previous life, or 0 if there was none.
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

    /// Keeps a value in the registers of a record whose row cannot hold it.
    ///
    /// The row is resolved after the save.
    ///
    /// A row that shows other registers than its own is not changed, because those registers hold the value.
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
        // The row may show other values than those written.
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
