import Testing
import UbiquityTesting

@testable import FileCoordination

/// When a broker's loop tells its service manager what.
struct BrokerPulseTests {
    private let second: UInt64 = 1_000_000_000

    @Test("The first news are the clients and a sign of life; the next sign is due an interval later, a new number of clients a second later")
    func script() {
        var pulse = BrokerPulse(every: .seconds(10))
        #expect(pulse.next(clients: 0) == nil)
        #expect(pulse.news(clients: 0, at: 5 * second) == [.serving(clients: 0), .alive])
        #expect(pulse.next(clients: 0) == 15 * second && pulse.next(clients: 1) == 6 * second)
        #expect(pulse.news(clients: 1, at: 6 * second - 1) == [])
        #expect(pulse.news(clients: 1, at: 6 * second) == [.serving(clients: 1)])
        #expect(pulse.news(clients: 1, at: 14 * second) == [])
        #expect(pulse.news(clients: 1, at: 15 * second) == [.alive] && pulse.next(clients: 1) == 25 * second)
        var quiet = BrokerPulse(every: nil)
        #expect(quiet.news(clients: 2, at: 0) == [.serving(clients: 2)] && quiet.next(clients: 2) == nil)
    }

    @Test("However clients come and go, numbers are told a second apart and no number twice, and each sign of life comes when it is due")
    func random() {
        for seed in 0..<100 as Range<UInt64> {
            var (random, pulse, now, clients) = (SeededRandom(seed: seed), BrokerPulse(every: .seconds(3)), UInt64(0), 0)
            var (told, beats): ([(clients: Int, time: UInt64)], [UInt64]) = ([], [])
            for _ in 0..<300 {
                for news in pulse.news(clients: clients, at: now) {
                    if case .serving(let clients) = news { told.append((clients, now)) } else { beats.append(now) }
                }
                // After what is due, the loop sleeps until the next news or until clients change.
                let next = pulse.next(clients: clients)
                #expect(next.map { $0 > now } ?? false, "seed \(seed)")
                if Bool.random(using: &random) {
                    now = next ?? now
                } else {
                    now = min(now + UInt64.random(in: 1...second, using: &random), next ?? .max)
                }
                clients = max(0, clients + Int.random(in: -1...1, using: &random))
            }
            for (one, other) in zip(told, told.dropFirst()) {
                #expect(other.time >= one.time + second && one.clients != other.clients, "seed \(seed)")
            }
            for (one, other) in zip(beats, beats.dropFirst()) { #expect(other == one + 3 * second, "seed \(seed)") }
        }
    }
}
