import Foundation
import GRDB
import Glibc
import SystemPackage
import UbiquityContainers
import UbiquityStores

extension StoreSuite {
    /// Measures one update in a store of a million records, against one in a store of a thousand.
    static func updateOne(_ report: Report) async throws {
        for keys in Item.Keys.allCases {
            try await withDevices(2) { devices in
                var stores: [UbiquitousStore] = []
                let sizes = [1_000_000, 1_000]
                for (device, rows) in zip(devices, sizes) {
                    // Each store has its own content, because the devices share a container.
                    let store = try await device.store(contentName: "Items\(rows)")
                    var forge = try LogForge(device.layout("Items\(rows)"), contentName: "Items\(rows)")
                    try forge.add(0..<rows, keys: keys, rowsPerLog: 1000)
                    try await store.settled()
                    stores.append(store)
                }
                var times: [[Double]] = [[], []]
                var random = SystemRandomNumberGenerator()
                for round in 0..<2200 {
                    for (place, store) in stores.enumerated() {
                        let key = keys.key(Int.random(in: 0..<sizes[place], using: &random))
                        let time = try await seconds {
                            try await store.write { db in
                                try db.cachedStatement(sql: "UPDATE item SET rating = ? WHERE id = ?").execute(arguments: [round + 10, key])
                            }
                        }
                        if round >= 200 { times[place].append(time * 1e6) }
                    }
                }
                report.line(
                    "update_1_of_1m", variant: keys.rawValue, unit: "µs", ours: median(times[0]), reference: median(times[1]),
                    referenceName: "1 of 1,000")
                for store in stores { try await store.close() }
            }
        }
    }

    /// Measures 10,000 logs of 10 rows by 50 peers, against as many by one peer, and an exchange without work
    /// afterwards.
    static func fiftyPeers(_ report: Report) async throws {
        var imports: [Double] = []
        var idle: [Double] = []
        for peers in [50, 1] {
            try await withDevice { device in
                let store = try await device.store()
                for peer in 0..<peers {
                    var forge = try LogForge(device.layout())
                    let share = 100_000 / peers
                    try forge.add(peer * share..<(peer + 1) * share, keys: .random, rowsPerLog: 10)
                }
                imports.append(try await seconds { try await store.settled() })
                idle.append(try await settledSeconds(store))
                try await store.close()
            }
        }
        report.line("peers_50", variant: "import of 10,000 logs", unit: "s", ours: imports[0], reference: imports[1], referenceName: "1 peer")
        report.line(
            "peers_50", variant: "an exchange with nothing to do", unit: "ms", ours: idle[0] * 1000, reference: idle[1] * 1000,
            referenceName: "1 peer")
    }

    /// Measures a content of 100,000 logs: joining them, opening with them, an exchange without work, and a second of
    /// waiting for changes.
    static func manyLogs(_ report: Report) async throws {
        try await withDevice { device in
            var store = try await device.store()
            let count = 100_000
            var forge = try LogForge(device.layout())
            try forge.add(0..<count, keys: .random, rowsPerLog: 1)
            let names = device.layout().logs(of: forge.peer, epoch: 1)
            let joined = try await seconds { try await store.settled() }
            let plain = try plainOneByOne(device, rows: count)
            report.line(
                "logs_100k", variant: "import", unit: "s", ours: joined, reference: plain, referenceName: "plain GRDB, one row a transaction")
            try await store.close()
            let listed = try await seconds { for _ in 0..<5 { _ = try LinuxFileLayer().names(in: names) } } / 5
            let opened = try await seconds { store = try await device.store() }
            report.line(
                "logs_100k", variant: "opening", unit: "ms", ours: opened * 1000, reference: listed * 1000, referenceName: "listing the directory")
            report.line(
                "logs_100k", variant: "an exchange that lists again", unit: "ms", ours: try await settledSeconds(store) * 1000,
                reference: listed * 1000, referenceName: "listing the directory")
            try await store.close()
            var before = cpuSeconds()
            let automatic = try await device.store(exchangesAutomatically: true)
            try await automatic.settled()
            try await Task.sleep(for: .seconds(2))
            report.line(
                "logs_100k", variant: "opening and watching, processor time", unit: "ms", ours: (cpuSeconds() - before) * 1000,
                reference: listed * 1000, referenceName: "listing the directory")
            before = cpuSeconds()
            try await Task.sleep(for: .seconds(2))
            report.line("logs_100k", variant: "waiting, of a processor", unit: "%", ours: (cpuSeconds() - before) * 50)
            try await automatic.close()
        }
    }

    private static func settledSeconds(_ store: UbiquitousStore) async throws -> Double {
        var times: [Double] = []
        for _ in 0..<5 { times.append(try await seconds { try await store.settled() }) }
        return median(times)
    }

    private static func plainOneByOne(_ device: BenchDevice, rows: Int) throws -> Double {
        let pool = try device.plain()
        let clock = ContinuousClock()
        let time = try clock.measure {
            for index in 0..<rows {
                try pool.write { db in
                    let item = Item(index, key: Item.Keys.random.key(index))
                    try db.cachedStatement(sql: "INSERT INTO item VALUES (?,?,?,?,?,?,?)")
                        .execute(arguments: [item.id, item.title, item.body, item.rating, item.price, item.created, item.note])
                }
            }
        }
        try pool.close()
        return Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
    }

    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
