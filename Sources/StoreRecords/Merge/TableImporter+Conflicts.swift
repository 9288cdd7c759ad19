internal import StoreFormat

/// Reports to the recorder which values an import's changes take away.
extension TableImporter {
    /// Reports columns of an arriving change that lose to values here.
    func noteLosing(_ columns: ColumnSet, of change: LogBody.Change, stamp: Stamp, to clock: RecordClock, _ here: (Int) throws -> RecordValue)
        throws
    {
        guard conflicts.isNews(stamp) else { return }
        let lost = try columns.numbers.filter { column in
            // Two branches of one peer may have given the same stamp to two values.
            guard isListed(column) else { return false }
            return try value(of: column, in: change) != here(column)
        }
        guard let first = lost.first else { return }
        try conflicts.record(
            id(change), reason(first), lost: lost.map { field($0, value(of: $0, in: change)) }, written: stamp, winner: clock.stamp(of: first).peer,
            others: try lost.map { field($0, try here($0)) })
    }

    /// Reports columns here that an arriving change is about to overwrite.
    func noteOverwritten(_ columns: ColumnSet, by change: LogBody.Change, stamp: Stamp, clock: RecordClock, _ here: (Int) throws -> RecordValue)
        throws
    {
        var byStamp: [Stamp: [Int]] = [:]
        for column in conflicts.unseen(clock, among: columns).numbers where isListed(column) {
            guard try value(of: column, in: change) != here(column) else { continue }
            byStamp[clock.stamp(of: column), default: []].append(column)
        }
        for (written, lost) in byStamp {
            try conflicts.record(
                id(change), reason(lost[0]), lost: try lost.map { field($0, try here($0)) }, written: written, winner: stamp.peer,
                others: lost.map { field($0, value(of: $0, in: change)) })
        }
    }

    /// Reports the values of a record here that an arriving deletion or later life is about to end, unseen by its
    /// author.
    func noteEnded(_ change: LogBody.Change, stamp: Stamp, clock: RecordClock, _ here: (Int) throws -> RecordValue)
        throws
    {
        let lost = conflicts.unseen(clock, among: shape.allColumns)
        guard let first = lost.numbers.first(where: { _ in true }) else { return }
        let rest = shape.allColumns.subtracting(lost)
        func fields(_ columns: ColumnSet) throws -> [Conflict.Field] {
            try columns.numbers.compactMap { column in
                let value = try here(column)
                return value == .null ? nil : field(column, value)
            }
        }
        try conflicts.record(
            id(change), .deletion, lost: try fields(lost), written: clock.stamp(of: first), winner: stamp.peer, others: try fields(rest))
    }

    /// Reports an arriving change of a record that was deleted here, or has a later life.
    func noteTooLate(_ change: LogBody.Change, stamp: Stamp) throws {
        guard !change.columns.isEmpty, conflicts.isNews(stamp) else { return }
        let lost = change.columns.numbers.map { field($0, value(of: $0, in: change)) }
        try conflicts.record(id(change), .deletion, lost: lost, written: stamp, winner: nil, others: [])
    }

    /// Returns whether a losing value of a column is listed.
    ///
    /// A maximum or minimum discards values by design.
    private func isListed(_ column: Int) -> Bool { [.lastWriter, .firstWriter].contains(shape.rules.policy(of: column)) }

    private func reason(_ column: Int) -> Conflict.Reason { shape.rules.policy(of: column) == .firstWriter ? .earlierWrite : .laterWrite }

    private func id(_ change: LogBody.Change) -> ObjectID { ObjectID(table: shape.name, key: change.key) }

    private func field(_ column: Int, _ value: RecordValue) -> Conflict.Field { Conflict.Field(column: shape.columns[column], value: value) }
}
