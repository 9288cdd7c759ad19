package import StoreFormat

/// The mapping of a table's former column numbers to its present ones.
package struct ColumnRenumbering: Hashable, Sendable {
    /// The present number for each former number.
    ///
    /// Nil for a dropped column.
    package let numbers: [Int?]

    package init(numbers: [Int?]) { self.numbers = numbers }

    /// Whether every column keeps its number.
    ///
    /// New columns may follow.
    package var isIdentity: Bool { numbers.enumerated().allSatisfy { $0 == $1 } }

    private func number(_ former: Int) -> Int? { former < numbers.count ? numbers[former] : nil }

    /// Returns the former number of a column, or nil for a new one.
    package func former(_ column: Int) -> Int? { numbers.firstIndex(of: column) }

    /// Returns a set of columns with present numbers, without dropped columns.
    package func renumbered(_ columns: ColumnSet) -> ColumnSet {
        var present: ColumnSet = []
        for column in columns.numbers {
            if let number = number(column) { present.insert(ColumnSet(column: number)) }
        }
        return present
    }

    /// Returns a record's clock with present numbers, without the stamps of dropped columns.
    package func renumbered(_ clock: RecordClock) -> RecordClock {
        var present = clock
        present.columns = renumbered(clock.columns)
        present.others = clock.others.compactMap { other in
            number(other.column).map { RecordClock.Other(column: $0, stamp: other.stamp) }
        }.sorted { $0.column < $1.column }
        return present
    }
}
