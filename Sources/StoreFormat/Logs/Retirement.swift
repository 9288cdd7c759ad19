/// What a log says of a peer that nobody expects back: nothing waits for it any more.
///
/// It is about what was there of the peer then, so that whoever returns is active again by itself: with its next receipt, for the log that says this is
/// news to it. Of several facts about one peer the greatest counts, in each part by itself, in whichever order they arrive.
package struct Retirement: Hashable, Sendable, Codable {
    /// The number of the peer's newest receipt: logs are removed without regard to that, and to those before it.
    package var receipt: Int64
    /// The last of its logs that need not be there for those that follow to be joined; 0 for none.
    package var sequence: Int64

    /// No number in one is greater: there is always a next one of twelve digits.
    package static let limit = Knowledge.Position.lastSequence - 1

    /// A fact; greater numbers than have twelve digits are taken for the greatest.
    ///
    /// - Parameters:
    ///   - receipt: the number of the peer's newest receipt.
    ///   - sequence: the last of its logs that others need not wait for; 0 for none.
    package init(receipt: Int64, sequence: Int64 = 0) {
        self.receipt = min(receipt, Self.limit)
        self.sequence = min(sequence, Self.limit)
    }

    /// Whether it still says something of a peer whose newest receipt has this number.
    package func isInForce(_ receipt: Int64) -> Bool { receipt <= self.receipt }

    /// What both say.
    func joined(with other: Retirement) -> Retirement {
        Retirement(receipt: max(receipt, other.receipt), sequence: max(sequence, other.sequence))
    }
}
