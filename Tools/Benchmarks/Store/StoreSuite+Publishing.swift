import Foundation
import GRDB
import Glibc
import Synchronization
import SystemPackage
import UbiquityContainers
import UbiquityStores

extension StoreSuite {
    /// Measures the publication of a save of one row, against writing equal bytes to a file, with its syncs.
    static func publishOne(_ report: Report) async throws {
        var ours: [Double] = []
        var plain: [Double] = []
        try await withDevice { device in
            let store = try await device.store()
            let bytes = try await oneLog(store)
            try await store.publish()
            let directory = device.directory.appending("plain")
            try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
            for index in 0..<300 {
                try await store.write { db in try Item(random: index).insert(db) }
                ours.append(try await seconds { try await store.publish() } * 1e6)
                plain.append(try await seconds { try durableFile(bytes, directory, "\(index)") } * 1e6)
            }
            try await store.close()
        }
        report.line(
            "publish_1", unit: "µs", ours: median(ours), reference: median(plain), referenceName: "write, fsync, rename, fsync of the directory")
    }

    /// Measures the bytes of a log for each row, against JSON of equal changes.
    static func logBytes(_ report: Report) async throws {
        for count in [1, 1000] {
            try await withDevice { device in
                let store = try await device.store()
                let items = (0..<count).map { Item(random: $0) }
                try await store.write { db in for item in items { try item.insert(db) } }
                let log = try await oneLogBytes(store)
                struct Change: Encodable {
                    var table = "item"
                    var life = 1
                    var row: Item
                }
                let json = try JSONEncoder().encode(items.map { Change(row: $0) })
                report.line(
                    "log_bytes_per_row", variant: count == 1 ? "a save of 1 row" : "a save of 1,000 rows", unit: "bytes",
                    ours: Double(log.count) / Double(count), reference: Double(json.count) / Double(count),
                    referenceName: "JSON, without header and stamp")
                try await store.close()
            }
        }
    }

    /// Returns the bytes of the log for a save of one row.
    static func oneLog(_ store: UbiquitousStore) async throws -> [UInt8] {
        try await store.write { db in try Item(random: 0).insert(db) }
        return try await oneLogBytes(store)
    }

    private static func oneLogBytes(_ store: UbiquitousStore) async throws -> [UInt8] {
        try await store.read { db in [UInt8](try Data.fetchOne(db, sql: "SELECT bytes FROM ubiquity_outbox ORDER BY sequence DESC")!) }
    }

    /// Writes a file durably.
    static func durableFile(_ bytes: [UInt8], _ directory: FilePath, _ name: String) throws {
        let files = LinuxFileLayer()
        let draft = directory.appending("\(name).draft")
        try files.writeNew(draft, bytes)
        try files.renameNew(draft, to: directory.appending(name))
        try files.syncDirectory(directory)
    }
}

extension StoreSuite {
    /// Measures the time from the start of a save on one peer until a query on another shows it, on one disk, against
    /// the least that the kernel and SQLite need.
    static func propagation(_ report: Report) async throws {
        var ours: [Double] = []
        var plain: [Double] = []
        try await withDevices(2) { devices in
            let writer = try await devices[0].store(exchangesAutomatically: true)
            let reader = try await devices[1].store(exchangesAutomatically: true)
            var notices = reader.notices.makeAsyncIterator()
            try await writer.settled()
            try await reader.settled()
            let bytes = try await oneLog(writer)
            while let notice = await notices.next(isolation: nil) {
                if case .didImport = notice { break }
            }
            let reference = try Relay(devices[0].directory, bytes)
            let rounds = 220
            for round in 0..<rounds {
                let item = Item(random: round)
                let start = ContinuousClock.now
                try await writer.write { db in try item.insert(db) }
                var isThere = false
                while !isThere {
                    guard case .didImport = await notices.next(isolation: nil) else { continue }
                    isThere = try await reader.read { db in try Item.exists(db, key: item.id) }
                }
                let time = ContinuousClock.now - start
                // Receipts are still being written.
                try await writer.settled()
                try await reader.settled()
                let relayed = try reference.round(round)
                guard round >= 20 else { continue }
                ours.append(Double(time.components.attoseconds) * 1e-12 + Double(time.components.seconds) * 1e6)
                plain.append(relayed * 1e6)
            }
            reference.stop()
            try await writer.close()
            try await reader.close()
        }
        for (metric, part) in [("propagation_p50", 0.5), ("propagation_p99", 0.99)] {
            report.line(
                metric, unit: "µs", ours: percentile(ours, part), reference: percentile(plain, part),
                referenceName: "write, fsync, rename, inotify, read, one commit")
        }
    }

    private static func percentile(_ figures: [Double], _ part: Double) -> Double {
        let sorted = figures.sorted()
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
    }
}

/// A minimal relay: one thread writes files durably, another is notified by inotify, reads each file and commits a row.
private final class Relay: Sendable {
    private let directory: FilePath
    private let bytes: [UInt8]
    private let pool: DatabasePool
    private let descriptor: Int32
    private let committed = DispatchSemaphore(value: 0)

    init(_ device: FilePath, _ bytes: [UInt8]) throws {
        directory = device.appending("relay")
        self.bytes = bytes
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        pool = try DatabasePool(path: device.appending("relay.sqlite").string)
        try Item.migrator.migrate(pool)
        descriptor = inotify_init1(0)
        // IN_MOVED_TO
        guard descriptor >= 0, inotify_add_watch(descriptor, directory.string, 0x80) >= 0 else { throw Errno(rawValue: errno) }
        Thread.detachNewThread { [self] in listen() }
    }

    /// Returns the seconds from the start of a write to its commit on the other side.
    func round(_ number: Int) throws -> Double {
        let start = ContinuousClock.now
        let files = LinuxFileLayer()
        let draft = directory.appending("\(number).draft")
        try files.writeNew(draft, bytes)
        try files.renameNew(draft, to: directory.appending("\(number)"))
        committed.wait()
        let time = ContinuousClock.now - start
        return Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
    }

    func stop() { close(descriptor) }

    private func listen() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            guard read(descriptor, &buffer, buffer.count) > 0 else { return }
            // One event at a time: the next file is written after this commit.
            let name = buffer[16...].prefix { $0 != 0 }
            let file = directory.appending(String(decoding: name, as: UTF8.self))
            _ = try? LinuxFileLayer().read(file, limit: 1 << 20)
            try? pool.write { db in try Item(random: 0).insert(db) }
            committed.signal()
        }
    }
}
