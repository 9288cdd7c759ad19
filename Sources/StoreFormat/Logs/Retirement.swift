/// A logged fact that a peer is not expected back, so that nothing waits for it.
///
/// It covers only what the peer had written by then, so a peer that returns is active again without further steps: with
/// its next receipt, because the log that states its retirement is news to it. Several facts about one peer join to the
/// greatest value of each part, in whichever order they arrive.
package struct Retirement: Hashable, Sendable, Codable {
    /// The number of the peer's newest receipt; that receipt and earlier ones no longer keep logs from being removed.
    package var receipt: Int64
    /// The last of its logs that later logs can be joined without; 0 for none.
    package var sequence: Int64

    /// The greatest valid number in a fact; its successor still has twelve digits.
    package static let limit = Knowledge.Position.lastSequence - 1

    /// Creates a fact; numbers above the limit become the limit.
    ///
    /// - Parameters:
    ///   - receipt: the number of the peer's newest receipt.
    ///   - sequence: the last of its logs that others need not wait for; 0 for none.
    package init(receipt: Int64, sequence: Int64 = 0) {
        self.receipt = min(receipt, Self.limit)
        self.sequence = min(sequence, Self.limit)
    }

    /// Returns whether the fact still applies to a peer whose newest receipt has this number.
    package func isInForce(_ receipt: Int64) -> Bool { receipt <= self.receipt }

    /// Returns the join of two facts.
    package func joined(with other: Retirement) -> Retirement {
        Retirement(receipt: max(receipt, other.receipt), sequence: max(sequence, other.sequence))
    }
}
