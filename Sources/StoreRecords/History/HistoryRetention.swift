internal import Foundation

/// The limits for keeping the history of changes.
///
/// Changes beyond either limit are removed, the oldest first. The store looks for them when it is opened, and after
/// every few hundred changes. The last transaction always stays. A ``ChangeToken`` from before a removed change has
/// expired.
public struct HistoryRetention: Sendable, Hashable {
    /// The maximum number of changes; each takes about the bytes of its key.
    public var count: Int
    /// The maximum age, in days.
    public var days: Int

    /// Creates a retention with a maximum number and age.
    public init(count: Int = 100_000, days: Int = 30) {
        self.count = count
        self.days = days
    }

    /// Returns the first moment whose changes stay.
    func beginning(now: Date) -> Double { now.timeIntervalSince1970 - Double(days) * 86_400 }
}
