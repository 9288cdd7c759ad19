package import StoreFormat

/// The rule that decides which of several values of one column stays, within one life of a record.
///
/// All devices must declare one policy for a column. It is part of the app's schema, like a column's type.
public enum MergePolicy: Sendable, Hashable, CaseIterable {
    /// The value that was written last.
    case lastWriter
    /// The value that was written first.
    ///
    /// Later writes, including local ones, change nothing.
    case firstWriter
    /// The greatest value, whenever it was written.
    ///
    /// NULL is below all other values.
    case maximum
    /// The least value, whenever it was written.
    ///
    /// Any value wins over NULL.
    case minimum
}

/// The rules for merging a table's columns: the policies, and the groups.
package struct ColumnRules: Hashable, Sendable {
    /// The policies of columns that do not use the last writer's value.
    package var policies: [Int: MergePolicy]
    /// Columns that are written and merged as one value.
    package var groups: [ColumnSet]

    package init(policies: [Int: MergePolicy] = [:], groups: [ColumnSet] = []) {
        self.policies = policies.filter { $0.value != .lastWriter }
        self.groups = groups
    }

    /// Rules where every column is a register of its own, and the last writer wins.
    package static let plain = ColumnRules()

    package func policy(of column: Int) -> MergePolicy { policies.isEmpty ? .lastWriter : policies[column] ?? .lastWriter }

    /// Makes columns one group, together with the groups that contain any of them.
    package mutating func group(_ columns: ColumnSet) {
        let group = completed(columns)
        groups.removeAll { !$0.isDisjoint(with: group) }
        groups.append(group)
    }

    /// Returns the columns, with all others of their groups.
    package func completed(_ columns: ColumnSet) -> ColumnSet {
        groups.reduce(columns) { $0.isDisjoint(with: $1) ? $0 : $0.union($1) }
    }

    /// Calls the body for each register that contains some of the columns, with these columns.
    package func forEachRegister<Failure>(of columns: ColumnSet, _ body: (ColumnSet) throws(Failure) -> Void) throws(Failure) {
        var rest = columns
        for group in groups {
            let part = rest.intersection(group)
            guard !part.isEmpty else { continue }
            rest.subtract(group)
            try body(part)
        }
        try rest.forEach { column throws(Failure) in try body(ColumnSet(column: column)) }
    }
}

extension MergePolicy {
    /// Orders a new value against the present one.
    ///
    /// The greater value stays.
    ///
    /// - Parameters:
    ///   - new: the stamp of the new value.
    ///   - old: the stamp of the present value.
    ///   - peers: the order of peers, for stamps.
    ///   - values: returns the two values. It is called only if the stamps do not decide.
    /// - Returns: the order. It is equal only if the values are equal, and the policy compares values or the stamps are
    ///   equal too.
    /// - Throws: the error of `values`.
    func order<Failure>(
        _ new: Stamp, against old: Stamp, peers: PeerTable, values: () throws(Failure) -> (new: RecordValue, old: RecordValue)
    ) throws(Failure) -> Ordering {
        switch self {
        case .lastWriter:
            let order = peers.compare(new, old)
            return order == .equal ? try Self.compare(values()) : order
        case .firstWriter:
            // The least stamp counts as unwritten.
            if new.time == .least || old.time == .least {
                if new.time != old.time { return new.time == .least ? .less : .greater }
                return try Self.compare(values())
            }
            let order = peers.compare(old, new)
            return order == .equal ? try Self.compare(values()) : order
        case .maximum: return try Self.compare(values())
        case .minimum:
            let (new, old) = try values()
            if new == .null || old == .null { return new.compare(old) }
            return old.compare(new)
        }
    }

    private static func compare(_ values: (new: RecordValue, old: RecordValue)) -> Ordering { values.new.compare(values.old) }
}
