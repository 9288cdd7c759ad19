public import Foundation
internal import Synchronization

/// A wall clock that shows a fixed time until it is moved.
public final class ManualClock: Sendable {
    private let time: Mutex<Date>

    /// Makes a clock that shows a time.
    ///
    /// - Parameter start: the time; the default is some days after the start of 2027.
    public init(_ start: Date = Date(timeIntervalSince1970: 1_800_000_000)) { time = Mutex(start) }

    /// The time of the clock.
    public var now: Date { time.withLock { $0 } }

    /// Moves the clock, forward or back, as wall clocks do.
    ///
    /// - Parameter seconds: the change in seconds.
    public func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}
