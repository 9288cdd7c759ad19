public import Foundation
internal import Synchronization

/// A wall clock that stands still until it is moved.
public final class ManualClock: Sendable {
    private let time: Mutex<Date>

    /// A clock that shows a time.
    ///
    /// - Parameter start: the time; 2027 began some days before the default.
    public init(_ start: Date = Date(timeIntervalSince1970: 1_800_000_000)) { time = Mutex(start) }

    /// What it shows.
    public var now: Date { time.withLock { $0 } }

    /// Moves it, back too, as wall clocks do.
    ///
    /// - Parameter seconds: how far.
    public func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}
