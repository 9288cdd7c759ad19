import ArgumentParser
import Foundation
import SignedSimulation

/// Runs signed containers: accounts, stewards and attackers over the rules of StoreAuthority, without files.
struct SignedCommand {
    let seeds: ClosedRange<UInt64>
    /// The rules to leave out, each in turn; empty for runs with all rules.
    let without: [SignedRule]
    let traces: Bool

    /// Returns the rules that an argument names; nil if it names none.
    static func rules(_ name: String?) -> [SignedRule]? {
        switch name {
        case nil: []
        case "all"?: SignedRule.allCases
        case let name?: SignedRule(rawValue: name).map { [$0] }
        }
    }

    /// Prints what the runs come to, and returns whether all rules held, or each missing rule showed.
    func run() -> Bool {
        without.isEmpty ? report(nil) == 0 : without.map { report($0) > 0 }.allSatisfy { $0 }
    }

    private func report(_ rule: SignedRule?) -> Int {
        let start = ContinuousClock.now
        var (failed, total): ([UInt64], SignedOutcome.Statistics) = ([], .init())
        for seed in seeds {
            let outcome = SignedRun(seed: seed, without: rule).outcome(trace: traces ? { print($0) } : nil)
            total.add(outcome.statistics)
            guard let failure = outcome.failure else { continue }
            if failed.isEmpty || rule == nil { print("seed \(seed): \(failure)") }
            failed.append(seed)
        }
        let duration = (ContinuousClock.now - start).formatted(.units(allowed: [.seconds]))
        let counts = """
            \(total.logs) logs, \(total.trimmed) trimmed, \(total.putBack) put back, \(total.rebuilds) rebuilds, \(total.policies) policies, \
            \(total.forks) forks, \(total.merges) merged, \(total.thefts) stolen stewards
            """
        let name = rule.map { "without \($0.rawValue)" } ?? "with all rules"
        let list = failed.isEmpty ? "" : ": \(failed.prefix(12).map(String.init).joined(separator: ", "))\(failed.count > 12 ? ", …" : "")"
        print("\(seeds.count) signed containers \(name): \(failed.count) wrong\(list), in \(duration); \(counts)")
        if let first = failed.first, !traces {
            print("to see one: --signed --trace --seeds \(first)\(rule.map { " --without \($0.rawValue)" } ?? "")")
        }
        return failed.count
    }
}
