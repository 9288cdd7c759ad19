public import Foundation
public import StoreFormat

/// A value that lost against another device's, neither of which had seen the other.
///
/// A value that somebody saw and then changed is no conflict, and neither is one that a maximum or minimum leaves behind.
public struct Conflict: Sendable, Hashable, Identifiable {
    /// Why a value lost.
    public enum Reason: Int64, Sendable, Hashable {
        /// Another was written later.
        case laterWrite = 1
        /// Another was written earlier, in a column that keeps the first.
        case earlierWrite = 2
        /// The record was deleted, or deleted and inserted anew.
        case deletion = 3
    }

    /// A column and what it held.
    public struct Field: Sendable, Hashable {
        /// The column's name.
        public var column: String
        /// Its value.
        public var value: RecordValue

        package init(column: String, value: RecordValue) {
            self.column = column
            self.value = value
        }
    }

    /// The number under which this store file lists it.
    public var id: Int64
    /// The record.
    public var record: ObjectID
    /// Why it lost.
    public var reason: Reason
    /// What lost.
    public var lost: [Field]
    /// The values that stand there instead; of a deletion, what else the record held, as far as it was still known.
    public var others: [Field]
    /// The peer that wrote what lost.
    public var author: String
    /// When it was written, by that peer's clock.
    public var written: Date
    /// The peer that wrote what won; nil where only a deletion is known.
    public var winner: String?
    /// When this store noticed.
    public var noticed: Date
}

/// How long what lost is kept.
public struct ConflictRetention: Sendable, Hashable {
    /// The most entries; the oldest go first.
    public var count: Int
    /// The longest time, in days.
    public var days: Int

    /// Keeps so many entries for so long.
    public init(count: Int = 10_000, days: Int = 365) {
        self.count = count
        self.days = days
    }
}
