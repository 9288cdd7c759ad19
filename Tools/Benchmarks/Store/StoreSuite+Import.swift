import Foundation
import GRDB
import UbiquityStores

extension StoreSuite {
    /// Measures an import of another peer's logs of 1,000 rows each, against plain inserts of equal rows in one
    /// transaction.
    static func importing(_ report: Report, _ metric: String, rows: Int) async throws {
        for keys in Item.Keys.allCases where report.wants(variant: keys.rawValue) {
            var ours: [Double] = []
            var plain: [Double] = []
            for _ in 0..<(rows > 500_000 ? 1 : 5) {
                try await withDevice { device in
                    ours.append(try await importSeconds(device, rows: rows, keys: keys).seconds)
                    plain.append(try plainSeconds(device, rows: rows, keys: keys))
                }
            }
            report.line(
                metric, variant: keys.rawValue, unit: "s", ours: median(ours), reference: median(plain),
                referenceName: "plain GRDB, one transaction")
        }
    }

    /// Measures opening a plain database of 100,000 rows as a store, until its logs are in the container, against the
    /// inserts that made it.
    static func adopting(_ report: Report) async throws {
        for keys in Item.Keys.allCases {
            var ours: [Double] = []
            var plain: [Double] = []
            for _ in 0..<5 {
                try await withDevice { device in
                    plain.append(try plainSeconds(device, rows: 100_000, keys: keys))
                    ours.append(
                        try await seconds {
                            let store = try await device.store(existing: "Plain")
                            try await store.settled()
                            let status = try await store.status()
                            precondition(status.unpublished == 0 && status.suspended == nil, "\(status)")
                            try await store.close()
                        })
                }
            }
            report.line(
                "adopt_100k", variant: keys.rawValue, unit: "s", ours: median(ours), reference: median(plain),
                referenceName: "plain GRDB, one transaction")
        }
    }

    /// Measures the peak memory of an import of 1,000,000 rows above the initial memory, against that of an import of
    /// 100,000.
    ///
    /// The smaller import runs first, and both are measured against the memory before it, because the allocator reuses
    /// its memory.
    static func importMemory(_ report: Report) async throws {
        var peaks: [Double] = []
        let before = ResidentMemory.reset()
        for rows in [100_000, 1_000_000] {
            try await withDevice { device in peaks.append(try await importSeconds(device, rows: rows, keys: .random).peak - before) }
        }
        report.line("import_peak_rss", variant: "1,000,000 rows", unit: "MB", ours: peaks[1], reference: peaks[0], referenceName: "100,000 rows")
    }

    /// Imports rows into an empty store.
    ///
    /// - Returns: the seconds, and the peak resident memory in megabytes.
    static func importSeconds(_ device: BenchDevice, rows: Int, keys: Item.Keys) async throws -> (seconds: Double, peak: Double) {
        let store = try await device.store()
        var forge = try LogForge(device.layout())
        try forge.add(0..<rows, keys: keys, rowsPerLog: 1000)
        _ = ResidentMemory.reset()
        let time = try await seconds { try await store.settled() }
        let peak = ResidentMemory.peak()
        let count = try await store.read { db in try Item.fetchCount(db) }
        let status = try await store.status()
        precondition(count == rows, "\(count) of \(rows) rows were imported: \(status)")
        try await store.close()
        return (time, peak)
    }

    /// Inserts equal rows with plain GRDB in one transaction; the time to make the rows is excluded.
    private static func plainSeconds(_ device: BenchDevice, rows: Int, keys: Item.Keys) throws -> Double {
        let pool = try device.plain()
        let clock = ContinuousClock()
        var spent = Duration.zero
        var end = clock.now
        try pool.write { db in
            let statement = try db.makeStatement(sql: "INSERT INTO item VALUES (?,?,?,?,?,?,?)")
            for start in stride(from: 0, to: rows, by: 1000) {
                let items = (start..<start + 1000).map { Item($0, key: keys.key($0)) }
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
}

/// This process's resident memory, by proc(5).
enum ResidentMemory {
    /// Resets the peak.
    ///
    /// - Returns: the resident memory in megabytes.
    static func reset() -> Double {
        // “5” resets the peak: proc(5), /proc/[pid]/clear_refs.
        try? Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
        return field("VmRSS:")
    }

    /// Returns the peak since the reset, in megabytes.
    static func peak() -> Double { field("VmHWM:") }

    private static func field(_ name: String) -> Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { Double($0.dropFirst(name.count).drop { !$0.isNumber }.prefix { $0.isNumber }) }.map { $0 / 1024 } ?? .nan
    }
}
