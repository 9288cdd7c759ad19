import CoreMetrics
import Foundation
import MetricsReading
import ObjectTransfer
import SystemPackage
import Testing
import TreeWatching

/// What is recorded of a cloud's operations.
struct MeteredObjectStoreTests {
    @Test("the bytes that are sent and fetched are counted, and failures by their kind; what fails has no bytes")
    func bytes() async throws {
        try await TransferWorld.with { world in
            let readings = MetricReadings()
            let store = withMetricsFactory(readings.factory) { MeteredObjectStore(DirectoryObjectStore(world.remote)) }
            let (file, copy) = (world.directory.appending("file"), world.directory.appending("copy"))
            try Data(repeating: 7, count: 4321).write(to: URL(filePath: file.string))
            try await store.put(file, at: "files/a") { _ in }
            try await store.put(file, at: "files/b") { _ in }
            try await store.get("files/a", size: 4321, to: copy) { _ in }
            #expect(readings.total(.transferBytes, [.direction: "sent"]) == 8642 && readings.total(.transferBytes, [.direction: "fetched"]) == 4321)
            #expect(readings.total(.transferFailures) == 0)
            // A missing object is an answer, and a missing disk is not.
            await #expect(throws: ObjectStoreError.self) { try await store.get("files/c", size: nil, to: world.directory.appending("c")) { _ in } }
            #expect(readings.total(.transferFailures) == 0)
            try FileManager.default.removeItem(atPath: world.remote.string)
            await #expect(throws: ObjectStoreError.self) { try await store.put(file, at: "files/d") { _ in } }
            await #expect(throws: ObjectStoreError.self) { try await store.list("files") }
            #expect(readings.total(.transferFailures, [.reason: "unreachable"]) == 2 && readings.total(.transferFailures) == 2)
            #expect(readings.total(.transferBytes) == 12_963)
        }
    }

    @Test("what a runner sends and fetches is recorded for the task that has made it")
    func runner() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write(String(repeating: "a", count: 1000), to: mac.path("1.ublog"))
            let (sent, fetched) = (MetricReadings(), MetricReadings())
            try await withMetricsFactory(sent.factory) { try mac.runner() }.settle()
            try await withMetricsFactory(fetched.factory) { try phone.runner() }.settle()
            #expect(phone.text(mac.path("1.ublog"))?.count == 1000)
            // Bulletins come besides.
            #expect(sent.total(.transferBytes, [.direction: "sent"]) > 1000 && sent.total(.transferFailures) == 0)
            #expect(fetched.total(.transferBytes, [.direction: "fetched"]) > 1000)
        }
    }
}
