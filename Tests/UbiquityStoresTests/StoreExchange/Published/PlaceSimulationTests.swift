import PlaceSimulation
import Testing

/// Random runs of a publisher and its readers; `Tools/simulate --places` runs more.
struct PlaceSimulationTests {
    @Test(
        "P-19, P-20, P-21, P-22, P-23: readers of a faulty server show only what was written, in the end all of it, and an audit finds nothing",
        arguments: UInt64(1)...8)
    func converge(seed: UInt64) async throws {
        let statistics = try await PlaceRun.run(seed: seed)
        #expect(statistics.heads > 3 && statistics.snapshots > 3 && statistics.readers > 0)
    }
}
