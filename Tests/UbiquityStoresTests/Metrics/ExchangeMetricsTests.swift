import CoreMetrics
import Foundation
import MetricsReading
import Synchronization
import SystemPackage
import Testing
import TreeWatching
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What is recorded of stores, each on a device with a backend of its own.
@Suite(.timeLimit(.minutes(40)))
struct ExchangeMetricsTests {
    private typealias Opened = (store: UbiquitousStore, readings: MetricReadings)

    private static func open(_ device: TestDevice, _ schema: SyncedSchema = personSchema) async throws -> Opened {
        let readings = MetricReadings()
        return (try await withMetricsFactory(readings.factory) { try await device.open(schema) }, readings)
    }

    /// The logs of a device's peer, oldest first.
    private static func logs(of device: TestDevice) async throws -> [FilePath] {
        let container = try await device.container()
        let directory = container.path.appending("CoreData/People/\(container.peer)/1")
        return try FileManager.default.contentsOfDirectory(atPath: directory.string).filter { $0.hasSuffix(".ublog") }.sorted().map {
            directory.appending($0)
        }
    }

    @Test("saves, their logs, bytes and records are counted where they go out and where they come in, and nowhere else")
    func exchange() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = (try await Self.open(devices[0]), try await Self.open(devices[1]))
            try await settle(left.store, right.store)
            for number in 0..<7 { try await left.store.insert("p\(number)") }
            try await left.store.execute("UPDATE person SET age = 1 WHERE id = 'p0'")
            try await left.store.execute("DELETE FROM person WHERE id IN ('p1', 'p2')")
            try await settle(left.store, right.store)
            #expect(try await right.store.keys().count == 5)
            let sizes = try await Self.logs(of: devices[0]).map { try FileManager.default.attributesOfItem(atPath: $0.string)[.size] as? Int ?? 0 }
            #expect(sizes.count == 9)
            #expect(left.readings.total(.publishedLogs, [.content: "People"]) == 9)
            #expect(left.readings.total(.publishedBytes) == sizes.reduce(0, +))
            #expect(right.readings.total(.importedLogs, [.content: "People"]) == 9)
            #expect(right.readings.total(.importedBytes) > 0)
            #expect(right.readings.durations(.deliveryDelay).count == 9)
            #expect(right.readings.durations(.importDuration).count >= 1)
            let changes = ["inserted", "updated", "deleted"].map { right.readings.total(.importedChanges, [.change: $0]) }
            #expect(changes == [7, 1, 2])
            #expect(left.readings.total(.importedLogs) == 0 && right.readings.total(.publishedLogs) == 0)
            for one in [left, right] {
                #expect(one.readings.total(.conflicts) == 0 && one.readings.total(.quarantines) == 0 && one.readings.total(.suspensions) == 0)
                #expect(one.readings.level(.unpublishedLogs) == 0 && one.readings.level(.waitingLogs) == 0)
                try await one.store.close()
            }
        }
    }

    @Test("each exchange is recorded once with its duration and how it ended")
    func outcomes() async throws {
        try await withDevices(1) { devices, root in
            let readings = MetricReadings()
            let isFull = Mutex(false)
            let files = HookedFileLayer { (operation, path, _) throws(Errno) in
                if operation == .writeNew, path.starts(with: root), isFull.withLock({ $0 }) { throw .noSpace }
            }
            let store = try await withMetricsFactory(readings.factory) { try await devices[0].open(over: files) }
            func count(_ outcome: String) -> Int { readings.durations(.exchangeDuration, [.content: "People", .outcome: outcome]).count }
            try await store.settled()
            let completed = count("completed")
            for _ in 0..<3 { try await store.runner.exchange() }
            #expect(count("completed") == completed + 3)
            try await store.pause()
            let impossible = count("impossible")
            try await store.runner.exchange()
            #expect(count("impossible") == impossible + 1)
            try await store.resume()
            try await store.insert("a")
            isFull.withLock { $0 = true }
            #expect(count("failed") == 0)
            for _ in 0..<2 { await #expect(throws: (any Error).self) { try await store.runner.exchange() } }
            #expect(count("failed") == 2 && readings.level(.unpublishedLogs) == 1)
            isFull.withLock { $0 = false }
            try await store.settled()
            #expect(count("failed") == 2 && readings.level(.unpublishedLogs) == 0 && readings.total(.publishedLogs) == 1)
            try await store.close()
        }
    }

    @Test("the delay of a delivery is the time from the save to the import, by the clocks of the devices")
    func delay() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = (try await Self.open(devices[0]), try await Self.open(devices[1]))
            try await settle(left.store, right.store)
            try await left.store.insert("a")
            try await left.store.settled()
            devices[1].clock.advance(by: 3600)
            try await right.store.settled()
            let delays = right.readings.durations(.deliveryDelay)
            #expect(delays.count == 1 && delays.allSatisfy { abs($0 / .seconds(1) - 3600) < 1 }, "\(delays)")
            // A device whose clock is behind receives nothing before it was saved.
            try await right.store.insert("b")
            try await settle(right.store, left.store)
            #expect(left.readings.durations(.deliveryDelay) == [.zero])
            for one in [left, right] { try await one.store.close() }
        }
    }

    @Test("a value that loses a conflict is counted once on each device that sees it lose")
    func conflicts() async throws {
        try await withDevices(2) { devices, _ in
            devices[1].clock.advance(by: 10)
            let (left, right) = (try await Self.open(devices[0]), try await Self.open(devices[1]))
            try await left.store.insert("a", first: "Ann")
            try await settle(left.store, right.store)
            try await left.store.execute("UPDATE person SET first = 'Anna', age = 31")
            try await right.store.execute("UPDATE person SET first = 'Anne', email = 'x'")
            try await settle(left.store, right.store)
            for one in [left, right] {
                #expect(try await one.store.conflicts().count == 1)
                #expect(one.readings.total(.conflicts, [.content: "People"]) == 1)
                try await one.store.close()
            }
        }
    }

    @Test("a suspension is counted with its reason, and the store counts as suspended until the content is back, or the store closes")
    func suspension() async throws {
        try await withDevices(1) { devices, root in
            let readings = MetricReadings()
            let away = root.removingLastComponent().appending("away")
            func suspendTwice() async throws {
                let store = try await withMetricsFactory(readings.factory) { try await devices[0].open() }
                try await store.insert("a")
                try await store.settled()
                let container = try await devices[0].container().path
                #expect(readings.level(.suspendedStores) ?? 0 == 0)
                for count in 1...2 {
                    try FileManager.default.moveItem(atPath: container.string, toPath: away.string)
                    await #expect(throws: UbiquitousStoreError.self) { try await store.settled() }
                    #expect(readings.total(.suspensions, [.content: "People", .reason: "containerGone"]) == count)
                    #expect(readings.level(.suspendedStores, [.content: "People"]) == 1)
                    if count == 2 { break }
                    try FileManager.default.moveItem(atPath: away.string, toPath: container.string)
                    try await store.settled()
                    #expect(readings.level(.suspendedStores) == 0)
                }
                try await store.close()
            }
            try await suspendTwice()
            #expect(readings.level(.suspendedStores) == 0 && readings.total(.suspensions) == 2)
        }
    }

    @Test("logs that wait for another, and logs that wait for more saves, are levels, which fall when the wait is over")
    func levels() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await devices[0].open()
            let right = try await Self.open(devices[1])
            for key in ["a", "b", "c"] { try await left.insert(key) }
            try await left.settled()
            let first = try #require(try await Self.logs(of: devices[0]).first)
            try FileManager.default.moveItem(atPath: first.string, toPath: first.string + ".away")
            try await right.store.settled()
            #expect(right.readings.level(.waitingLogs, [.content: "People"]) == 2)
            #expect(try await right.store.status().waiting.map(\.logs) == [2])
            try FileManager.default.moveItem(atPath: first.string + ".away", toPath: first.string)
            try await right.store.settled()
            #expect(right.readings.level(.waitingLogs) == 0 && right.readings.total(.importedLogs) == 3)
            try await left.close()
            try await right.store.close()

            var options = UbiquitousStore.Options(contentName: "Later", exchangesAutomatically: false)
            options.advanced.coalescing = Coalescing(maximumDelay: .seconds(3600))
            let (readings, container) = (MetricReadings(), try await devices[0].container())
            let later = try await withMetricsFactory(readings.factory) {
                try await UbiquitousStore.open(
                    at: devices[0].directory.appending("Later.sqlite"), options: options, in: container, schema: personSchema)
            }
            // The first exchange lets go what an earlier process has left.
            try await later.settled()
            try await later.insert("a")
            try await later.runner.exchange()
            #expect(readings.level(.unpublishedLogs, [.content: "Later"]) == 1 && readings.total(.publishedLogs) == 0)
            try await later.settled()
            #expect(readings.level(.unpublishedLogs) == 0 && readings.total(.publishedLogs) == 1)
            try await later.close()
        }
    }

    @Test("a damaged log is counted with the kind of its fault, once while it stays")
    func quarantine() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await devices[0].open()
            let right = try await Self.open(devices[1])
            try await left.insert("a")
            try await left.settled()
            let log = try #require(try await Self.logs(of: devices[0]).first)
            try Data("no log".utf8).write(to: URL(filePath: log.string))
            for _ in 0..<3 { try await right.store.settled() }
            #expect(right.readings.total(.quarantines, [.content: "People", .reason: "damaged"]) == 1)
            #expect(right.readings.total(.quarantines) == 1 && right.readings.total(.importedLogs) == 0)
            try await left.close()
            try await right.store.close()
        }
    }

    @Test("a baseline is counted where it is written and where it is joined")
    func baselines() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await Self.open(devices[0])
            for number in 0..<20 { try await left.store.insert("p\(number)") }
            #expect(try await left.store.rollBaseline() == 1)
            let right = try await Self.open(devices[1])
            try await right.store.settled()
            #expect(try await right.store.keys().count == 20)
            #expect(left.readings.total(.baselines, [.content: "People", .action: "written"]) == 1)
            #expect(right.readings.total(.baselines, [.content: "People", .action: "joined"]) == 1)
            #expect(left.readings.total(.baselines) == 1 && right.readings.total(.baselines) == 1 && right.readings.total(.importedLogs) == 0)
            for one in [left, right] { try await one.store.close() }
        }
    }

    @Test("what a store that exchanges by itself watches is recorded for the task that has opened it")
    func watching() async throws {
        try await withDevices(1) { devices, _ in
            let readings = MetricReadings()
            let store = try await withMetricsFactory(readings.factory) { try await devices[0].open(automatically: true) }
            try await until("its directories are watched") { readings.level(.watchedDirectories) ?? 0 > 0 }
            try await store.insert("a")
            try await until("its own changes are delivered") { readings.total(.watchChanges) > 0 }
            try await store.close()
            try await until("nothing is watched for it") { readings.level(.watchedDirectories) == 0 }
        }
    }
}
