internal import Foundation
internal import StoreFormat
internal import StoreRecords

/// The purpose of an exchange.
package enum ExchangeWork: Equatable, Sendable {
    /// Finds the place, and does nothing else.
    case place
    /// Publishes everything, and imports nothing.
    case publish
    /// Publishes, imports, writes a receipt, and maintains baselines; with `all` it waits neither for saves nor for
    /// logs.
    case exchange(all: Bool)
    /// Publishes everything, and writes a baseline.
    case roll
    /// Runs the caller's task under the lease.
    case task(publishesBefore: Bool)
}

/// The settings of exchanges that stay constant while a store is open.
struct ExchangeRules: Sendable {
    /// The time for which a save waits for more saves; nil if it does not wait.
    var maximumDelay: Duration?
    /// The limits after which a baseline is written; nil for never.
    var baselines: BaselinePolicy? = BaselinePolicy()
    /// The time in seconds after which a silent peer is retired; nil for never.
    var silenceLimit: TimeInterval?
    /// The rule for content that is gone.
    var wipes = ContentAbsence.Rule.wait
    /// Whether the content lies in a container with a scope: nothing there is trimmed, and receipts prove nothing.
    var isScoped = false
}
