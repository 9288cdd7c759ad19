/// A set of columns of one synced table, by their numbers in the table, 0 to 62.
package struct ColumnSet: OptionSet, Hashable, Sendable {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package init(column: Int) { rawValue = 1 << Int64(column) }
    /// Creates a set of the first columns, up to a count.
    package init(first count: Int) { rawValue = (1 << Int64(count)) &- 1 }

    /// The maximum number of columns of a synced table.
    ///
    /// SQLite's integers have 64 bits, and the sign bit is not used.
    package static let capacity = 63

    /// Calls the body with each column, lowest first.
    @inline(__always)
    package func forEach<Failure>(_ body: (Int) throws(Failure) -> Void) throws(Failure) {
        var rest = rawValue
        while rest != 0 {
            try body(rest.trailingZeroBitCount)
            rest &= rest - 1
        }
    }

    package var count: Int { rawValue.nonzeroBitCount }
}

extension ColumnSet {
    /// The columns' numbers, lowest first.
    package var numbers: Numbers { Numbers(rest: rawValue) }

    /// The numbers of a set's columns, lowest first.
    package struct Numbers: Sequence, IteratorProtocol {
        fileprivate var rest: Int64

        package mutating func next() -> Int? {
            guard rest != 0 else { return nil }
            defer { rest &= rest - 1 }
            return rest.trailingZeroBitCount
        }
    }
}
