import Foundation
import TransferSimulation

/// Runs seeds of devices that share nothing but a faulty cloud.
struct TransferSeeds {
    let seeds: ClosedRange<UInt64>
    let operations: Int
    let traces: Bool

    /// Returns whether all have converged, and prints which have not.
    func run() async -> Bool {
        let start = ContinuousClock.now
        var tally = TransferRun.Tally()
        var failed = 0
        for seed in seeds {
            var run = TransferRun(seed: seed, trace: traces)
            do {
                try await run.run(operations: operations)
            } catch {
                print("seed \(seed): \(error)")
                print("to repeat it: --transfers --seeds \(seed) --operations \(operations) --trace")
                failed += 1
            }
            tally += run.tally
        }
        let time = (ContinuousClock.now - start).formatted(.units(allowed: [.seconds]))
        print(
            "\(seeds.count) seeds: \(failed == 0 ? "all converged" : "\(failed) failed"), in \(time); \(tally.passes) passes, \(tally.crashes) crashes, \(tally.files) files, \(tally.removals) removals, \(tally.epochs) epochs, \(tally.wipes) lost containers, \(tally.lostIndices) lost indices, \(tally.repairs) repairs"
        )
        return failed == 0
    }
}

/// Runs seeds of devices whose users edit, delete and evict documents.
struct DocumentSeeds {
    let seeds: ClosedRange<UInt64>
    let operations: Int
    let traces: Bool

    /// Returns whether all have converged and lost nothing, and prints which have not.
    func run() -> Bool {
        let start = ContinuousClock.now
        var tally = DocumentRun.Tally()
        var failed = 0
        for seed in seeds {
            var run = DocumentRun(seed: seed)
            if traces { run.tells = { print($0) } }
            do {
                try run.run(operations: operations)
            } catch {
                print("\(error)")
                print("to repeat it: --documents --seeds \(seed) --operations \(operations) --trace")
                failed += 1
            }
            tally += run.tally
        }
        let time = (ContinuousClock.now - start).formatted(.units(allowed: [.seconds]))
        print(
            "\(seeds.count) seeds: \(failed == 0 ? "all converged" : "\(failed) failed"), in \(time); \(tally.edits) edits, \(tally.deletions) deletions, \(tally.conflicts) conflict copies, \(tally.resolutions) resolutions, \(tally.evictions) evictions, \(tally.wipes) lost containers, \(tally.lostIndices) lost indices"
        )
        return failed == 0
    }
}
