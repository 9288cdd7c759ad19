/// What a change that another peer made does to a record here: the merge rules of the design, without a database.
///
/// The larger life wins whole; within a life each column's larger stamp wins; equal stamps are ordered by value. So the outcome of
/// any set of changes is the same in whatever order, and however often, they are joined.
package enum RecordJoin: Hashable, Sendable {
    /// The record here has seen all of it, or something stronger.
    case superseded
    /// The change's life is larger, and alive: its columns become the record, every other is NULL with the least stamp.
    case begins(RecordClock)
    /// The change's life is larger, and dead.
    case ends(life: Int64)
    /// Same life: these columns are written, the others stay.
    case merges(ColumnSet, RecordClock)

    /// Joins a change into a record.
    ///
    /// - Parameters:
    ///   - life: the change's life.
    ///   - columns: the columns that the change writes; empty for a death.
    ///   - stamp: the stamp of all of these.
    ///   - local: the record's clock here; nil where it has never lived here. A dead record's clock has no columns.
    ///   - peers: orders stamps.
    ///   - outranks: whether the change's value of a column is above the record's, asked only where the stamps are equal.
    /// - Returns: what is to be done to the record.
    /// - Throws: what `outranks` throws.
    package static func join<Failure>(
        life: Int64, columns: ColumnSet, stamp: Stamp, into local: RecordClock?, peers: PeerTable,
        outranks: (_ column: Int) throws(Failure) -> Bool
    ) throws(Failure) -> RecordJoin {
        let known = local?.life ?? 0
        if life < known { return .superseded }
        if life > known {
            if life % 2 == 0 { return .ends(life: life) }
            return .begins(RecordClock(life: life, stamp: stamp, columns: columns))
        }
        guard var clock = local, life % 2 == 1 else { return .superseded }
        var winning: ColumnSet = []
        try columns.forEach { column throws(Failure) in
            switch peers.compare(stamp, clock.stamp(of: column)) {
            case .less: break
            case .greater: winning.insert(ColumnSet(column: column))
            case .equal: if try outranks(column) { winning.insert(ColumnSet(column: column)) }
            }
        }
        guard !winning.isEmpty else { return .superseded }
        clock.set(winning, to: stamp)
        return .merges(winning, clock)
    }
}
