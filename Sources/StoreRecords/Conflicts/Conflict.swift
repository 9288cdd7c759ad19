public import Foundation
public import StoreFormat

/// A value that lost against another device's value, when neither writer had seen the other's value.
///
/// A value that somebody saw and then changed is not a conflict. A value that loses to a maximum or minimum is not one
/// either.
public struct Conflict: Sendable, Hashable, Identifiable {
    /// The reason why a value lost.
    public enum Reason: Int64, Sendable, Hashable {
        /// Another value was written later.
        case laterWrite = 1
        /// Another value was written earlier, in a column that keeps the first.
        case earlierWrite = 2
        /// The record was deleted, or deleted and inserted again.
        case deletion = 3
    }

    /// A column and its value.
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

    /// The number of the conflict in this store file.
    public var id: Int64
    /// The record that the values belong to.
    public var record: ObjectID
    /// The reason why the values lost.
    public var reason: Reason
    /// The values that lost.
    public var lost: [Field]
    /// The values that won.
    ///
    /// For a deletion: the other values of the record, as far as they were still known.
    public var others: [Field]
    /// The peer that wrote the lost values.
    public var author: String
    /// The time at which the lost values were written, by their writer's clock.
    public var written: Date
    /// The peer that wrote the winning values.
    ///
    /// Nil if only a deletion is known.
    public var winner: String?
    /// The time at which this store noticed the conflict.
    public var noticed: Date
}

/// The limits for keeping conflicts.
public struct ConflictRetention: Sendable, Hashable {
    /// The maximum number of conflicts.
    ///
    /// The oldest are removed first.
    public var count: Int
    /// The maximum age, in days.
    public var days: Int

    /// Creates a retention with a maximum number and age.
    public init(count: Int = 10_000, days: Int = 365) {
        self.count = count
        self.days = days
    }
}
