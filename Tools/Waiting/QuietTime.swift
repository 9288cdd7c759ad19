internal import Foundation

/// The time that a wait has taken, counted as on a machine that has nothing else to do.
///
/// While three processes want each core, a second counts for a third of one. A wait that is limited in quiet time therefore does not fail because the
/// machine is busy. It still ends: at ``mostWallTime`` times its limit by the wall clock, whatever the load.
package struct QuietTime: Sendable {
    /// What has passed, divided by the load that was there meanwhile.
    package private(set) var passed = Duration.zero
    /// What has passed by the wall clock.
    package private(set) var wall = Duration.zero

    /// How many times its limit a wait may take by the wall clock.
    package static let mostWallTime = 10
    /// How often the load is looked at.
    package static let step = Duration.milliseconds(250)

    /// No time yet.
    package init() {}

    /// Counts a step.
    ///
    /// - Parameters:
    ///   - elapsed: what has passed by the wall clock since the last step. Whatever is beyond two steps was spent waiting for a core, and counts in
    ///     ``wall`` only.
    ///   - load: how many processes want each core.
    package mutating func count(_ elapsed: Duration, load: Double) {
        wall += elapsed
        passed += min(elapsed, Self.step * 2) / max(1, load)
    }

    /// Whether a wait with this limit is over.
    package func isOver(_ limit: Duration) -> Bool { passed >= limit || wall >= limit * Self.mostWallTime }

    /// Returns when a limit is over.
    ///
    /// - Returns: the time that was counted.
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

    /// How many threads want each core, now or in the last minute; see proc_loadavg(5).
    ///
    /// 1 where the system does not say.
    package static func machineLoad() -> Double {
        guard let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8) else { return 1 }
        let words = text.split(separator: " ")
        guard words.count >= 4, let average = Double(words[0]), let running = Double(words[3].prefix { $0 != "/" }) else { return 1 }
        return max(average, running) / Double(ProcessInfo.processInfo.activeProcessorCount)
    }
}
