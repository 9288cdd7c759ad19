internal import GRDB
internal import StoreFormat

/// Changes of records whose row does not show exactly their registers, or cannot be written before other rows change.
extension TableImporter {
    /// Joins a change into an aside record.
    ///
    /// `aside` is nil if the record is not alive here and its row shows other records.
    func join(_ change: LogBody.Change, stamp: Stamp, into aside: AsideRecord?, _ table: RelatedTable) throws -> RecordChanges.Kind? {
        let local = try aside?.registers.clock ?? dead(change.key)
        func value(_ column: Int) -> RecordValue { aside!.registers.values[column] }
        let outcome = try outcome(of: change, stamp: stamp, local, value: value)
        try losing.note(outcome, change, stamp, local, value)
        switch outcome {
        case .superseded: break
        case .begins(let first):
            let clock = whole ?? first
            if let aside { try leave(aside, table) } else if local != nil { _ = try clocks.revive(change.key) }
            try park(registers(beginning: change, clock))
        case .ends(let life):
            if let aside { try leave(aside, table) }
            related?.tables.limit?.end(change.key, in: related!.index)
            try clocks.bury(change.key, life: life)
        case .merges(let winning, let clock):
            var merged = aside!
            for column in winning.numbers { merged.registers.values[column] = change.value(of: column).detached }
            merged.registers.clock = clock
            try table.put(merged)
            try table.markUnresolved(change.key)
        }
        return nil
    }

    /// Ends a record's life among united records.
    ///
    /// The last of them removes the row.
    private func leave(_ aside: AsideRecord, _ table: RelatedTable) throws {
        try table.removeAside(aside.registers.key)
        try table.markUnresolved(aside.registers.key)
        guard aside.state != .pending else { return }
        let others = try table.asides(under: aside.shown)
        for other in others { try table.markUnresolved(other.registers.key) }
        guard aside.state == .shown, others.isEmpty, let row = try table.row(aside.shown) else { return }
        try remove(row.place)
        removedRows.append(aside.shown)
    }

    /// Keeps a record aside until it is resolved.
    func park(_ registers: Registers) throws {
        guard let (tables, table, index) = related else { return }
        tables.limit?.begin(registers.key, in: index)
        try table.put(AsideRecord(registers: registers, shown: registers.key, state: .pending))
        try table.markUnresolved(registers.key)
    }

    /// Runs a statement.
    ///
    /// Returns nil if a uniqueness rule of the app forbids it.
    func unlessTaken<Result>(_ body: () throws -> Result) throws -> Result? {
        do {
            return try body()
        } catch let error as DatabaseError where error.fault == .content(.unique) && related != nil {
            return nil
        }
    }

    /// Returns the registers of a record in the life that a change begins.
    func registers(beginning change: LogBody.Change, _ clock: RecordClock) -> Registers {
        let values = shape.columns.indices.map { beginning($0, of: change).detached }
        return Registers(key: change.key.map(\.detached), clock: clock, values: values, local: shape.localDefaults)
    }

    /// Removes the row of a record, and returns its registers with a change merged in.
    func merged(_ change: LogBody.Change, _ winning: ColumnSet, _ clock: RecordClock) throws -> Registers {
        let row = try related!.table.row(change.key)!
        var registers = Registers(key: change.key.map(\.detached), clock: clock, values: row.values, local: row.local)
        for column in winning.numbers { registers.values[column] = change.value(of: column).detached }
        try remove(row.place)
        return registers
    }
}
