/// When a remote is asked next: often after something has happened, and seldom when nothing does.
///
/// Times are durations since the last activity; no decision depends on what a clock shows.
package struct PollSchedule: Hashable, Sendable {
    /// Whether each request costs the user money.
    package var isMetered = false

    package init(isMetered: Bool = false) { self.isMetered = isMetered }

    /// Returns how long to wait until the next poll.
    ///
    /// - Parameter quiet: how long nothing has happened, here or there.
    /// - Returns: the time until the next poll.
    package func wait(after quiet: Duration) -> Duration {
        if isMetered { return .seconds(300) }
        switch quiet {
        case ..<Duration.seconds(30): return .seconds(2)
        case ..<Duration.seconds(120): return .seconds(5)
        case ..<Duration.seconds(600): return .seconds(15)
        default: return .seconds(60)
        }
    }
}

/// How long to wait after failures of a remote: 2 s, then twice as long each time, up to 15 minutes.
package struct Backoff: Hashable, Sendable {
    /// How often it has failed in a row.
    package private(set) var failures = 0

    package init() {}

    /// Notes a success.
    package mutating func reset() { failures = 0 }

    /// Notes a failure, and returns how long to wait.
    ///
    /// - Parameter jitter: a random number from 0 to 1, so that devices do not ask all at once.
    /// - Returns: the time until the next attempt.
    package mutating func next(jitter: Double) -> Duration {
        failures += 1
        let seconds = min(900, 2 * Double(1 << min(failures - 1, 20)))
        return .seconds(seconds * (0.75 + jitter / 2))
    }
}
