internal import Foundation
internal import StoreFormat
internal import StoreRecords

/// What is wanted of an exchange.
package enum ExchangeWork: Equatable, Sendable {
    /// Find the place, and nothing else.
    case place
    /// Publish all, and import nothing.
    case publish
    /// Publish, import, tell what has been read, and maintain baselines; without waiting for more saves, or for logs, where `all`.
    case exchange(all: Bool)
    /// Publish all, and write a baseline.
    case roll
    /// Do something else under the lease.
    case task(publishesBefore: Bool)
}

/// What does not change about exchanges while a store is open.
struct ExchangeRules: Sendable {
    /// How long a save waits for others; nil where it does not.
    var maximumDelay: Duration?
    /// When a baseline is written; nil for never.
    var baselines: BaselinePolicy? = BaselinePolicy()
    /// In seconds: how long a peer may be silent before it is retired; nil for as long as it likes.
    var silenceLimit: TimeInterval?
    /// What becomes of content that is gone.
    var wipes = ContentAbsence.Rule.wait
}
