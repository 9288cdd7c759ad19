public import Foundation

/// Another peer of a store's content, as its directory there tells.
public struct StorePeer: Sendable, Hashable, Codable {
    /// Its identifier.
    public var peer: String
    /// The device's name, from its newest receipt.
    public var device: String?
    /// The app's name, from its newest receipt.
    public var app: String?
    /// When it wrote that receipt, by its own clock; nil where there is none that can be read.
    public var seen: Date?
    /// The number of its newest receipt; 0 for none.
    public var receipt: Int64
    /// How many logs this store has taken in or written that it has not read.
    public var behind: Int64
    /// When the oldest of these was written, by its author's clock; nil where there are none.
    public var waitsSince: Date?
    /// Whether it is retired: it holds up nothing until it is back.
    public var isRetired: Bool
    /// The last of its logs that others need not wait for; 0 for none.
    public var passable: Int64

    /// Since when it could have read something and has not, as far as clocks can be trusted; nil where it has read all.
    public func silentSince(now: Date) -> Date? {
        // A clock that is ahead says nothing.
        waitsSince.map { max($0, seen.flatMap { $0 > now + 86_400 ? nil : $0 } ?? .distantPast) }
    }
}
