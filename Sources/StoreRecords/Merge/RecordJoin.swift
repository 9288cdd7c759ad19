package import StoreFormat

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
    /// Same life: these columns are written, the others stay; none where only the stamps become later.
    case merges(ColumnSet, RecordClock)

    /// Joins a change into a record.
    ///
    /// - Parameters:
    ///   - life: the change's life.
    ///   - columns: the columns that the change writes; empty for a death.
    ///   - stamp: the stamp of all of these.
    ///   - local: the record's clock here; nil where it has never lived here. A dead record's clock has no columns.
    ///   - rules: the policies and groups of the table's columns.
    ///   - peers: orders stamps.
    ///   - values: the change's value of a column and the record's, asked only where the stamps do not decide.
    /// - Returns: what is to be done to the record.
    /// - Throws: what `values` throws.
    package static func join<Failure>(
        life: Int64, columns: ColumnSet, stamp: Stamp, into local: RecordClock?, rules: ColumnRules = .plain, peers: PeerTable,
        values: (_ column: Int) throws(Failure) -> (new: RecordValue, old: RecordValue)
    ) throws(Failure) -> RecordJoin {
        let known = local?.life ?? 0
        if life < known { return .superseded }
        if life > known {
            if life % 2 == 0 { return .ends(life: life) }
            return .begins(RecordClock(life: life, stamp: stamp, columns: columns))
        }
        guard var clock = local, life % 2 == 1 else { return .superseded }
        var winning: ColumnSet = []
        // Equal values under a policy that compares values: the later stamp stays, so that clocks come to the same everywhere.
        var restamped: ColumnSet = []
        try rules.forEachRegister(of: columns) { register throws(Failure) in
            // Each save of a group stamps all its columns, so their stamps decide alike, and of two groups with one stamp the first column that
            // differs decides for all. A writer to which they were no group may have stamped some: then each column has its own last writer, in
            // whatever order the saves arrive.
            let isTied =
                rules.groups.contains(register)
                && register.numbers.allSatisfy { peers.compare(stamp, clock.stamp(of: $0)) == .equal }
            for column in register.numbers {
                let policy = rules.policy(of: column)
                let old = clock.stamp(of: column)
                switch try policy.order(stamp, against: old, peers: peers, values: { () throws(Failure) in try values(column) }) {
                case .greater where isTied: return winning.formUnion(register)
                case .greater: winning.insert(ColumnSet(column: column))
                case .less where isTied: return
                case .less: continue
                case .equal: if peers.compare(stamp, old) == .greater { restamped.insert(ColumnSet(column: column)) }
                }
            }
        }
        guard !winning.isEmpty || !restamped.isEmpty else { return .superseded }
        clock.set(winning.union(restamped), to: stamp)
        return .merges(winning, clock)
    }
}
