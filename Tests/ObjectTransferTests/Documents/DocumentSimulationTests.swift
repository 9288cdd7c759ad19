import Testing
import TransferSimulation

/// Documents that devices edit, delete and evict at the same time.
struct DocumentSimulationTests {
    @Test(
        "K-15: in any order of bulletins, over lost indices and containers, devices show the same, lose no edit, and bring nothing back",
        arguments: 0..<4)
    func converges(_ part: UInt64) {
        var tally = DocumentRun.Tally()
        for seed in part * 125 + 1...part * 125 + 125 {
            var run = DocumentRun(seed: seed)
            do { try run.run() } catch { Issue.record("\(error)") }
            tally += run.tally
        }
        // A suite that meets nothing proves nothing.
        #expect(tally.conflicts > 500 && tally.resolutions > 50 && tally.deletions > 200 && tally.evictions > 50, "\(tally)")
        #expect(tally.lostIndices > 100 && tally.wipes > 100, "\(tally)")
    }
}
