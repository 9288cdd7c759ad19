package import StoreFormat

/// The effect of another peer's change on a record here: the merge rules, without a database.
///
/// The larger life wins as a whole. Within a life, the larger stamp of each column wins. Values with equal stamps are
/// ordered by value. The result of joining any changes therefore does not depend on their order or repetition.
package enum RecordJoin: Hashable, Sendable {
    /// The record here already includes the change, or something that wins over it.
    case superseded
    /// The life of the change is larger, and alive.
    ///
    /// The record takes its columns; all others are NULL with the least stamp.
    case begins(RecordClock)
    /// The life of the change is larger, and dead.
    case ends(life: Int64)
    /// The lives are equal.
    ///
    /// These columns are written, the others stay. The set is empty if only stamps become later.
    case merges(ColumnSet, RecordClock)

    /// Joins a change into a record.
    ///
    /// - Parameters:
    ///   - life: the life of the change.
    ///   - columns: the columns that the change writes. Empty for a death.
    ///   - stamp: the stamp of these columns.
    ///   - local: the clock of the record here. Nil if it has never lived here. The clock of a dead record has no
    ///     columns.
    ///   - rules: the policies and groups of the table's columns.
    ///   - peers: the order of peers, for stamps.
    ///   - values: returns the values of a column in the change and in the record. It is called only if the stamps do
    ///     not decide.
    /// - Returns: the effect on the record.
    /// - Throws: the error of `values`.
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
        // Equal values under a policy that compares values. The later stamp stays, so that clocks become equal on all
        // peers.
        var restamped: ColumnSet = []
        try rules.forEachRegister(of: columns) { register throws(Failure) in
            // Each save of a group stamps all its columns, so their stamps decide alike. For two groups with equal
            // stamps, the first column that differs decides for all. A writer without this group may have stamped some
            // columns only. Then each column has its own last writer, in whatever order the saves arrive.
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
