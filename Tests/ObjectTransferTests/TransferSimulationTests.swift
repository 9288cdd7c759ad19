import Testing
import TransferSimulation

/// Devices that share nothing but a faulty remote.
struct TransferSimulationTests {
    @Test(
        "K-02, K-03, K-07: with lost, late, repeated, cut and applied-but-unanswered operations, empty listings and crashes between any two steps, devices converge",
        arguments: 0..<4)
    func converges(_ part: UInt64) async throws {
        var tally = TransferRun.Tally()
        for seed in part * 50 + 1...part * 50 + 50 {
            var run = TransferRun(seed: seed)
            do {
                try await run.run()
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            tally += run.tally
        }
        // A suite that meets nothing proves nothing.
        #expect(tally.repairs <= 1, "the daily repair is for rare cases")
        #expect(tally.crashes > 50 && tally.removals > 50 && tally.epochs > 5 && tally.wipes > 5 && tally.lostIndices > 3, "\(tally)")
    }

    @Test("K-03: an index that is lost twice, with an upload that is cut off in between, leaves nothing to the daily repair")
    func lostTwice() async throws {
        var run = TransferRun(seed: 4954)
        try await run.run()
        #expect(run.tally.repairs == 0 && run.tally.lostIndices == 2)
    }
}
