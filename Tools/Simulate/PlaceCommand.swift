import Foundation
import PlaceSimulation

/// Runs publishers of public containers and their readers, over a faulty server.
struct PlaceCommand {
    let seeds: ClosedRange<UInt64>
    let turns: Int
    let traces: Bool

    /// Prints what the runs come to, and returns whether all were right.
    func run() async -> Bool {
        let start = ContinuousClock.now
        var (failed, total): ([UInt64], PlaceRun.Statistics) = ([], .init())
        for seed in seeds {
            do {
                total.add(try await PlaceRun.run(seed: seed, turns: turns, trace: traces ? { print($0) } : { _ in }))
            } catch {
                print("seed \(seed): \(error)")
                failed.append(seed)
            }
        }
        let duration = (ContinuousClock.now - start).formatted(.units(allowed: [.minutes, .seconds]))
        let counts = """
            \(total.heads) heads, \(total.snapshots) snapshots, \(total.audited) audited, \(total.readers) readers, \(total.polls) polls of which \
            \(total.failedPolls) failed, \(total.removals) removals
            """
        print("\(seeds.count) public places: \(failed.count) wrong, in \(duration); \(counts)")
        if let first = failed.first, !traces { print("to see one: --places --trace --seeds \(first)") }
        return failed.isEmpty
    }
}
