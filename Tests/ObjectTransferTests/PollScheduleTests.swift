import ObjectTransfer
import Testing

/// When a remote is asked.
struct PollScheduleTests {
    @Test("A remote is asked each 2 s after something has happened, and each minute when nothing does")
    func quiet() {
        let schedule = PollSchedule()
        let cases: [(Double, Double)] = [(0, 2), (29, 2), (31, 5), (119, 5), (121, 15), (599, 15), (601, 60), (86400, 60)]
        for (quiet, wait) in cases { #expect(schedule.wait(after: .seconds(quiet)) == .seconds(wait)) }
    }

    @Test("K-11: on a metered connection a remote is asked each five minutes, whatever has happened")
    func metered() {
        for quiet in [0.0, 60, 3600] { #expect(PollSchedule(isMetered: true).wait(after: .seconds(quiet)) == .seconds(300)) }
    }

    @Test("After failures the wait doubles from 2 s to 15 min, and begins again after a success")
    func backoff() {
        var backoff = Backoff()
        let waits = (0..<12).map { _ in backoff.next(jitter: 0.5) }
        #expect(waits.prefix(4) == [.seconds(2), .seconds(4), .seconds(8), .seconds(16)])
        #expect(waits.last == .seconds(900))
        backoff.reset()
        #expect(backoff.next(jitter: 0) == .seconds(1.5) && backoff.next(jitter: 1) == .seconds(5))
    }
}
