public import GRDB

extension SyncedTable {
    /// Columns that no two records hold alike at once, although the records are two things, such as the places in a list.
    ///
    /// Where devices that did not know of each other have written the same values into two records, both stay. The record in which they were written last shows
    /// them, and the other shows another value in one column. What was written stays known: as soon as nobody else holds it, it is shown again.
    ///
    /// ```swift
    /// SyncedTable("song", exclusive: [["list", "position"]])
    /// SyncedTable("song", exclusive: [.init(["list", "position"], to: .nextFree)])
    /// ```
    public struct Exclusive: Sendable, ExpressibleByArrayLiteral {
        /// Chooses what a record shows in place of a value that another one holds.
        ///
        /// It must be pure: each device asks it by itself, inside a transaction and off the main thread, and all must come to the same. So it looks at nothing
        /// but what it is given: what the record holds, by column, and in `taken` what the column holds in the other records that it may not be equal to, in the order of
        /// the values. It returns the value; where that is taken after all, or is not of the column's type, or nil, NULL is shown, and where the column takes none, the
        /// next free value.
        public typealias Choice = @Sendable (_ record: Row, _ taken: [DatabaseValue]) -> (any DatabaseValueConvertible)?

        /// What a record shows in place of a value that another one holds.
        public enum Move: Sendable {
            /// NULL; the column must take it.
            case null
            /// The next value that is free: after a number the next greater whole one, behind text and blobs a number.
            case nextFree
            /// What the app chooses.
            case chosen(Choice)
        }

        /// The columns that are not alike together; a term of an index that is an expression stands here as it stands there.
        public let columns: [String]
        /// The column that shows another value.
        public let moved: String
        /// Which value it shows.
        public let move: Move

        /// Declares a rule.
        ///
        /// - Parameters:
        ///   - columns: the columns that are not alike together. They need no index; one that there is has these columns, in any order.
        ///   - moved: the column that shows another value; the last one, where none is named.
        ///   - move: which value it shows.
        public init(_ columns: [String], moving moved: String? = nil, to move: Move = .null) {
            self.columns = columns
            self.moved = moved ?? columns.last ?? ""
            self.move = move
        }

        /// Declares a rule by which the last column shows NULL.
        public init(arrayLiteral columns: String...) { self.init(columns) }
    }

    /// What the app chooses, by the column that is moved.
    package var choices: [String: Exclusive.Choice] {
        exclusive.reduce(into: [:]) { if case .chosen(let choice) = $1.move { $0[$1.moved.lowercased()] = choice } }
    }
}
