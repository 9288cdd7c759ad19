import CoreMetrics
import Foundation
import MetricsReading
import Testing
import TreeWatching
import UbiquityTesting
import Waiting

@testable import FileCoordination

/// What is recorded of coordinated accesses.
struct CoordinationMetricsTests {
    @Test("an access that waits is recorded once, with its kind and its outcome, and one that is granted at once is not")
    func waiting() async throws {
        try await withWorld { world in
            let readings = MetricReadings()
            let url = try world.file("a.txt", "old")
            try await withMetricsFactory(readings.factory) { try await world.coordinator().write(url) { _ in } }
            #expect(readings.labels.isEmpty)
            let gate = Gate()
            let first = Task { try await world.coordinator().write(url) { _ in await gate.wait() } }
            await world.until { $0.claims.contains { $0.state == .held } }
            let (reading, writing, cancelled) = withMetricsFactory(readings.factory) {
                (
                    Task { try await world.coordinator().read(url) { _ in } }, Task { try await world.coordinator().write(url) { _ in } },
                    Task { try await world.coordinator().write(url) { _ in } }
                )
            }
            await world.waiting(3)
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            gate.open()
            try await first.value
            try await reading.value
            try await writing.value
            #expect(readings.durations(.coordinationWait, [.access: "read", .outcome: "granted"]).count == 1)
            #expect(readings.durations(.coordinationWait, [.access: "write", .outcome: "granted"]).count == 1)
            #expect(readings.durations(.coordinationWait, [.access: "write", .outcome: "failed"]).count == 1)
            #expect(readings.durations(.coordinationWait).count == 3 && readings.durations(.coordinationWait).allSatisfy { $0 > .zero })
        }
    }
}
