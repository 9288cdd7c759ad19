public import GRDB

extension SyncedTable {
    /// Columns in which no two records hold equal values at once, although the records are two things.
    ///
    /// The places in a list are an example. If devices without knowledge of each other write equal values into two
    /// records, both records stay. The record in which the values were written last shows them, and the other shows
    /// another value in one column. The written value is kept: as soon as no other record holds it, it is shown again.
    ///
    /// ```swift
    /// SyncedTable("song", exclusive: [["list", "position"]])
    /// SyncedTable("song", exclusive: [.init(["list", "position"], to: .nextFree)])
    /// ```
    public struct Exclusive: Sendable, ExpressibleByArrayLiteral {
        /// Chooses what a record shows in place of a value that another record holds.
        ///
        /// It must be pure: each device calls it inside a transaction and off the main thread, and all devices must get
        /// equal results. It may therefore use only its arguments: the record's values, by column, and in `taken`,
        /// sorted, the column's values in the other records, which it may not equal. It returns the value. If that is
        /// taken, or not of the column's type, or nil, NULL is shown; if the column does not allow NULL, the next free
        /// value is shown.
        public typealias Choice = @Sendable (_ record: Row, _ taken: [DatabaseValue]) -> (any DatabaseValueConvertible)?

        /// The kind of value that a record shows in place of a value that another record holds.
        public enum Move: Sendable {
            /// NULL, which the column must allow.
            case null
            /// The next free value: the next greater whole number after a number; text and blobs get a number appended.
            case nextFree
            /// A value that the app chooses.
            case chosen(Choice)
        }

        /// The columns that must differ together; an expression of an index is written as in the index.
        public let columns: [String]
        /// The column that shows another value.
        public let moved: String
        /// The kind of value that it shows.
        public let move: Move

        /// Declares a rule.
        ///
        /// - Parameters:
        ///   - columns: the columns that must differ together. They need no index; an existing one has these columns,
        ///     in any order.
        ///   - moved: the column that shows another value; by default the last one.
        ///   - move: the kind of value that it shows.
        public init(_ columns: [String], moving moved: String? = nil, to move: Move = .null) {
            self.columns = columns
            self.moved = moved ?? columns.last ?? ""
            self.move = move
        }

        /// Declares a rule whose last column shows NULL.
        public init(arrayLiteral columns: String...) { self.init(columns) }
    }

    /// The app's choices, by the column that is moved.
    package var choices: [String: Exclusive.Choice] {
        exclusive.reduce(into: [:]) { if case .chosen(let choice) = $1.move { $0[$1.moved.lowercased()] = choice } }
    }
}
