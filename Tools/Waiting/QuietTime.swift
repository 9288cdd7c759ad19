internal import Foundation

/// The duration of a wait, measured as on an otherwise idle machine.
///
/// While three processes compete for each core, a second counts as a third of one. A wait with a limit in quiet time
/// therefore does not fail because the machine is busy. It still ends at ``mostWallTime`` times its limit by the wall
/// clock, at any load.
package struct QuietTime: Sendable {
    /// The time that has passed, divided by the load during that time.
    package private(set) var passed = Duration.zero
    /// The time that has passed by the wall clock.
    package private(set) var wall = Duration.zero

    /// The longest wait by the wall clock, in multiples of its limit.
    package static let mostWallTime = 10
    /// The interval at which the load is read.
    package static let step = Duration.milliseconds(250)

    /// Makes a time of zero.
    package init() {}

    /// Counts a step.
    ///
    /// - Parameters:
    ///   - elapsed: the time by the wall clock since the last step. Time beyond two steps was spent waiting for a core,
    ///     and counts only in ``wall``.
    ///   - load: the number of processes that compete for each core.
    package mutating func count(_ elapsed: Duration, load: Double) {
        wall += elapsed
        passed += min(elapsed, Self.step * 2) / max(1, load)
    }

    /// Returns whether a wait with this limit has ended.
    package func isOver(_ limit: Duration) -> Bool { passed >= limit || wall >= limit * Self.mostWallTime }

    /// Returns when the limit has passed.
    ///
    /// - Returns: the measured time.
    /// - Throws: `CancellationError`.
    package static func sleep(_ limit: Duration) async throws -> QuietTime {
        let clock = SuspendingClock()
        var (time, last) = (QuietTime(), clock.now)
        while !time.isOver(limit) {
            try await clock.sleep(for: min(step, limit))
            let now = clock.now
            time.count(last.duration(to: now), load: machineLoad())
            last = now
        }
        return time
    }

    /// Returns the number of threads that compete for each core, now or in the last minute; see proc_loadavg(5).
    ///
    /// Returns 1 if the system does not report it.
    package static func machineLoad() -> Double {
        guard let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8) else { return 1 }
        let words = text.split(separator: " ")
        guard words.count >= 4, let average = Double(words[0]), let running = Double(words[3].prefix { $0 != "/" }) else { return 1 }
        return max(average, running) / Double(ProcessInfo.processInfo.activeProcessorCount)
    }
}
