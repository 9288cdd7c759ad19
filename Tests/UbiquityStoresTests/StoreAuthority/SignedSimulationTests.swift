import SignedSimulation
import Testing

/// The simulation of signed containers as CI runs it: few seeds; `Tools/simulate --signed` runs thousands.
struct SignedSimulationTests {
    @Test("P-09: readers that get statements, logs and baselines in any order, among attackers, show what all logs mean", arguments: 0..<15)
    func converge(group: UInt64) {
        for seed in group * 10 + 1...group * 10 + 10 {
            let outcome = SignedRun(seed: seed).outcome()
            #expect(outcome.failure == nil, "seed \(seed)")
            #expect(outcome.statistics.logs > 0 && outcome.statistics.rebuilds > 0)
        }
    }

    @Test("a run that lacks a rule goes wrong", arguments: zip(SignedRule.allCases, seeds))
    func rules(rule: SignedRule, seed: UInt64) {
        #expect(SignedRun(seed: seed, without: rule).outcome().failure != nil)
        #expect(SignedRun(seed: seed).outcome().failure == nil)
    }

    /// A seed that shows the lack of each rule, in their order.
    private static let seeds: [UInt64] = []

    @Test("a run repeats exactly")
    func repeats() {
        func trace() -> [String] {
            var lines: [String] = []
            _ = SignedRun(seed: 23).outcome { lines.append($0) }
            return lines
        }
        let first = trace()
        #expect(first.count > 90)
        #expect(trace() == first)
    }
}
