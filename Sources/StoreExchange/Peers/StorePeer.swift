public import Foundation

/// Another peer of a store's content, as its directory in the container describes it.
public struct StorePeer: Sendable, Hashable, Codable {
    /// Its identifier.
    public var peer: String
    /// The device's name, from its newest receipt.
    public var device: String?
    /// The app's name, from its newest receipt.
    public var app: String?
    /// When it wrote that receipt, by its own clock; nil if no receipt can be read.
    public var seen: Date?
    /// The number of its newest receipt; 0 for none.
    public var receipt: Int64
    /// The number of logs that this store has joined or written and the peer has not read.
    public var behind: Int64
    /// When the oldest of these was written, by its author's clock; nil if there are none.
    public var waitsSince: Date?
    /// Whether the peer is retired: nothing waits for it until it returns.
    public var isRetired: Bool
    /// The last of its logs that others need not wait for; 0 for none.
    public var passable: Int64

    /// Returns the time since when the peer has left logs unread that it could read; nil if it has read everything.
    ///
    /// - Parameter now: the current time; a receipt from more than a day later is ignored.
    /// - Returns: the time, as far as the clocks are correct.
    public func silentSince(now: Date) -> Date? {
        // A receipt from a clock that is ahead says nothing.
        waitsSince.map { max($0, seen.flatMap { $0 > now + 86_400 ? nil : $0 } ?? .distantPast) }
    }
}
