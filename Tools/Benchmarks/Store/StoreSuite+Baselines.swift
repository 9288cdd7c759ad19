import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores

extension StoreSuite {
    /// Measures a baseline of a million rows: writing it, filling a new store, rebuilding in place, and joining it in a
    /// store that has the rows.
    static func baselines(_ report: Report) async throws {
        let count = 1_000_000
        for keys in Item.Keys.allCases where report.wants(variant: keys.rawValue) {
            try await withDevices(3) { devices in
                let layout = devices[0].layout()
                let writer = try await devices[0].store()
                var forge = try LogForge(layout)
                try forge.add(0..<count, keys: keys, rowsPerLog: 1000)
                try await writer.settled()
                let rolled = try await seconds { _ = try await writer.rollBaseline() }
                let copied = try await copySeconds(writer, devices[0])
                report.line(
                    "roll_1m", variant: keys.rawValue, unit: "s", ours: rolled, reference: copied, referenceName: "cp and quick_check of the store")
                let plain = try plainInKeyOrder(devices[0], rows: count, keys: keys)

                // A new device has the baseline, and the logs in the baseline.
                let new = try await devices[1].store()
                let filled = try await seconds { try await new.settled() }
                try await check(new, count)
                for (time, name) in [(filled, "a new store"), (try await seconds { try await new.rebuildFromUbiquitousContent() }, "in place")] {
                    report.line(
                        "rebuild_1m", variant: "\(keys.rawValue), \(name)", unit: "s", ours: time, reference: copied,
                        referenceName: "cp and quick_check of the store")
                    report.line(
                        "rebuild_1m", variant: "\(keys.rawValue), \(name), against inserts", unit: "s", ours: time, reference: plain,
                        referenceName: "plain GRDB, one transaction, in key order", main: false)
                }
                try await check(new, count)
                try await new.close()

                // A store that has all rows but lacks one log, which is gone.
                let behind = try await devices[2].store()
                var fork = try LogForge(layout)
                try removeBaselines(layout)
                try await behind.settled()
                try fork.add(count..<count + 1000, keys: keys, rowsPerLog: 1000)
                try await writer.settled()
                try await writer.rollBaseline()
                try FileManager.default.removeItem(atPath: layout.logs(of: fork.peer, epoch: 1).string)
                let joined = try await seconds { try await behind.settled() }
                try await check(behind, count + 1000)
                report.line(
                    "join_1m_into_1m", variant: keys.rawValue, unit: "s", ours: joined, reference: copied,
                    referenceName: "cp and quick_check of the store")
                report.line(
                    "join_1m_into_1m", variant: "\(keys.rawValue), against inserts", unit: "s", ours: joined, reference: plain,
                    referenceName: "plain GRDB, one transaction, in key order", main: false)
                try await behind.close()
                try await writer.close()
            }
        }
    }

    /// Removes the baselines of a content, as if they had not arrived yet.
    private static func removeBaselines(_ layout: ContentLayout) throws {
        let names = FileManager.default.enumerator(atPath: layout.directory.string)!.compactMap { $0 as? String }
            .filter { $0.hasSuffix(".ubbaseline") }
        for name in names { try FileManager.default.removeItem(atPath: layout.directory.appending(name).string) }
    }

    private static func check(_ store: UbiquitousStore, _ rows: Int) async throws {
        let count = try await store.read { db in try Item.fetchCount(db) }
        let status = try await store.status()
        precondition(count == rows && status.waiting.isEmpty && status.quarantined.isEmpty, "\(count) of \(rows) rows: \(status)")
    }

    /// Returns the time to copy a store's file and check the copy.
    private static func copySeconds(_ store: UbiquitousStore, _ device: BenchDevice) async throws -> Double {
        try await store.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        let copy = device.directory.appending("copy.sqlite")
        var times: [Double] = []
        for _ in 0..<3 {
            times.append(
                try await seconds {
                    try FileManager.default.copyItem(atPath: store.file.string, toPath: copy.string)
                    let queue = try DatabaseQueue(path: copy.string)
                    let result = try await queue.read { db in try String.fetchOne(db, sql: "PRAGMA quick_check") }
                    precondition(result == "ok")
                    try queue.close()
                })
            try FileManager.default.removeItem(atPath: copy.string)
        }
        return median(times)
    }

    private static func plainInKeyOrder(_ device: BenchDevice, rows: Int, keys: Item.Keys) throws -> Double {
        let pool = try device.plain("InOrder")
        let order = (0..<rows).map { ($0, keys.key($0)) }.sorted { $0.1 < $1.1 }
        let clock = ContinuousClock()
        var spent = Duration.zero
        var end = clock.now
        try pool.write { db in
            let statement = try db.makeStatement(sql: "INSERT INTO item VALUES (?,?,?,?,?,?,?)")
            for start in stride(from: 0, to: rows, by: 1000) {
                let items = order[start..<start + 1000].map { Item($0.0, key: $0.1) }
                spent += try clock.measure {
                    for item in items {
                        try statement.execute(arguments: [item.id, item.title, item.body, item.rating, item.price, item.created, item.note])
                    }
                }
            }
            end = clock.now
        }
        spent += clock.now - end
        try pool.close()
        return Double(spent.components.seconds) + Double(spent.components.attoseconds) * 1e-18
    }

    /// Measures a new device with a content of 100,000 logs of one row: with a baseline of them, and without.
    static func firstImport(_ report: Report) async throws {
        try await withDevices(3) { devices in
            let layout = devices[0].layout()
            var forge = try LogForge(layout)
            try forge.add(0..<100_000, keys: .random, rowsPerLog: 1)
            let first = try await devices[0].store()
            let without = try await seconds { try await first.settled() }
            try await first.rollBaseline()
            let second = try await devices[1].store()
            let with = try await seconds { try await second.settled() }
            try await check(second, 100_000)
            report.line(
                "first_import_100k_logs", variant: "with a baseline", unit: "s", ours: with, reference: without, referenceName: "without")
            try await first.close()
            try await second.close()
        }
    }

    /// Measures the size of a content after 2,000 saves of 50 rows and a trim, against the store's SQLite file.
    static func contentBytes(_ report: Report) async throws {
        try await withDevices(2) { devices in
            let (first, second) = (try await devices[0].store(), try await devices[1].store())
            for save in 0..<2000 {
                let rows = (0..<50).map { Item(random: save * 50 + $0) }
                try await first.write { db in for row in rows { try row.insert(db) } }
                if save % 500 == 499 {
                    try await first.settled()
                    try await second.settled()
                }
            }
            let layout = devices[0].layout()
            let before = try size(layout.directory)
            try await first.settled()
            try await first.rollBaseline()
            let after = try size(layout.directory)
            try await first.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
            let file = Double(try LinuxFileLayer().size(of: first.file))
            report.line(
                "content_bytes_after_trim", variant: "after", unit: "MB", ours: after / 1e6, reference: file / 1e6, referenceName: "the SQLite file")
            report.line(
                "content_bytes_after_trim", variant: "before", unit: "MB", ours: before / 1e6, reference: file / 1e6,
                referenceName: "the SQLite file")
            try await first.close()
            try await second.close()
        }
    }

    private static func size(_ directory: FilePath) throws -> Double {
        try FileManager.default.subpathsOfDirectory(atPath: directory.string).reduce(0) { sum, name in
            let path = directory.appending(name)
            return try LinuxFileLayer().kind(of: path) == .file ? sum + Double(try LinuxFileLayer().size(of: path)) : sum
        }
    }
}
