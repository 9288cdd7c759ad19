package import StoreFormat

/// The numbers that a table's columns had, and those that they have: pure.
package struct ColumnRenumbering: Hashable, Sendable {
    /// For each former number the number now; nil for a column that is gone.
    package let numbers: [Int?]

    package init(numbers: [Int?]) { self.numbers = numbers }

    /// Whether every column has the number that it had; there may be new ones behind them.
    package var isIdentity: Bool { numbers.enumerated().allSatisfy { $0 == $1 } }

    private func number(_ former: Int) -> Int? { former < numbers.count ? numbers[former] : nil }

    /// The former number of a column; nil for a new one.
    package func former(_ column: Int) -> Int? { numbers.firstIndex(of: column) }

    /// A set of columns, without those that are gone.
    package func renumbered(_ columns: ColumnSet) -> ColumnSet {
        var present: ColumnSet = []
        for column in columns.numbers {
            if let number = number(column) { present.insert(ColumnSet(column: number)) }
        }
        return present
    }

    /// A record's clock, without the stamps of columns that are gone.
    package func renumbered(_ clock: RecordClock) -> RecordClock {
        var present = clock
        present.columns = renumbered(clock.columns)
        present.others = clock.others.compactMap { other in
            number(other.column).map { RecordClock.Other(column: $0, stamp: other.stamp) }
        }.sorted { $0.column < $1.column }
        return present
    }
}
