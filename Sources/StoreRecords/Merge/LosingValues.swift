internal import StoreFormat

/// Finds the values that lose when changes of one table are joined, and lists them as conflicts.
struct LosingValues {
    let shape: TableShape
    let recorder: ConflictRecorder

    /// Lists the values that a change takes away, or with which it loses.
    ///
    /// - Parameters:
    ///   - outcome: the effect of the change.
    ///   - change: the change, in this store's column numbers.
    ///   - stamp: its stamp.
    ///   - local: the clock of the record here; nil if the record has never lived.
    ///   - value: returns the value of a column here.
    /// - Throws: GRDB's errors.
    func note(
        _ outcome: RecordJoin, _ change: LogBody.Change, _ stamp: Stamp, _ local: RecordClock?, _ value: @escaping (Int) throws -> RecordValue
    ) throws {
        guard let local else { return }
        let isAlive = !local.life.isMultiple(of: 2)
        switch outcome {
        case .superseded where change.life < local.life: try noteTooLate(change, stamp: stamp)
        case .superseded: if isAlive { try noteLosing(change.columns, of: change, stamp: stamp, to: local, value) }
        case .begins, .ends: if isAlive { try noteEnded(change, stamp: stamp, clock: local, value) }
        case .merges(let winning, _):
            try noteOverwritten(winning, by: change, stamp: stamp, clock: local, value)
            try noteLosing(change.columns.subtracting(winning), of: change, stamp: stamp, to: local, value)
        }
    }

    /// Reports columns of an arriving change that lose to values here.
    private func noteLosing(
        _ columns: ColumnSet, of change: LogBody.Change, stamp: Stamp, to clock: RecordClock, _ here: (Int) throws -> RecordValue
    ) throws {
        guard recorder.isNews(stamp) else { return }
        let lost = try columns.numbers.filter { column in
            // Two branches of one peer may have given the same stamp to two values.
            guard isListed(column) else { return false }
            return try change.value(of: column) != here(column)
        }
        guard let first = lost.first else { return }
        try recorder.record(
            id(change), reason(first), lost: lost.map { field($0, change.value(of: $0)) }, written: stamp, winner: clock.stamp(of: first).peer,
            others: try lost.map { field($0, try here($0)) })
    }

    /// Reports columns here that an arriving change is about to overwrite.
    private func noteOverwritten(
        _ columns: ColumnSet, by change: LogBody.Change, stamp: Stamp, clock: RecordClock, _ here: (Int) throws -> RecordValue
    ) throws {
        var byStamp: [Stamp: [Int]] = [:]
        for column in recorder.unseen(clock, among: columns).numbers where isListed(column) {
            guard try change.value(of: column) != here(column) else { continue }
            byStamp[clock.stamp(of: column), default: []].append(column)
        }
        for (written, lost) in byStamp {
            try recorder.record(
                id(change), reason(lost[0]), lost: try lost.map { field($0, try here($0)) }, written: written, winner: stamp.peer,
                others: lost.map { field($0, change.value(of: $0)) })
        }
    }

    /// Reports the values of a record here that an arriving deletion or later life is about to end, unseen by its
    /// author.
    private func noteEnded(_ change: LogBody.Change, stamp: Stamp, clock: RecordClock, _ here: (Int) throws -> RecordValue)
        throws
    {
        let lost = recorder.unseen(clock, among: shape.allColumns)
        guard let first = lost.numbers.first(where: { _ in true }) else { return }
        let rest = shape.allColumns.subtracting(lost)
        func fields(_ columns: ColumnSet) throws -> [Conflict.Field] {
            try columns.numbers.compactMap { column in
                let value = try here(column)
                return value == .null ? nil : field(column, value)
            }
        }
        try recorder.record(
            id(change), .deletion, lost: try fields(lost), written: clock.stamp(of: first), winner: stamp.peer, others: try fields(rest))
    }

    /// Reports an arriving change of a record that was deleted here, or has a later life.
    private func noteTooLate(_ change: LogBody.Change, stamp: Stamp) throws {
        guard !change.columns.isEmpty, recorder.isNews(stamp) else { return }
        let lost = change.columns.numbers.map { field($0, change.value(of: $0)) }
        try recorder.record(id(change), .deletion, lost: lost, written: stamp, winner: nil, others: [])
    }

    /// Returns whether a losing value of a column is listed.
    ///
    /// A maximum or minimum discards values by design.
    private func isListed(_ column: Int) -> Bool { [.lastWriter, .firstWriter].contains(shape.rules.policy(of: column)) }

    private func reason(_ column: Int) -> Conflict.Reason { shape.rules.policy(of: column) == .firstWriter ? .earlierWrite : .laterWrite }

    private func id(_ change: LogBody.Change) -> ObjectID { ObjectID(table: shape.name, key: change.key) }

    private func field(_ column: Int, _ value: RecordValue) -> Conflict.Field { Conflict.Field(column: shape.columns[column], value: value) }
}

extension LogBody.Change {
    /// Returns the value of a column; NULL if the change does not name it.
    func value(of column: Int) -> RecordValue {
        let below = columns.rawValue & ((1 << Int64(column)) - 1)
        return columns.contains(ColumnSet(column: column)) ? values[below.nonzeroBitCount] : .null
    }
}
