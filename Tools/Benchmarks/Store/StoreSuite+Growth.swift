import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores

extension StoreSuite {
    /// Measures 5,000 single saves until they are published, joined by another device and rolled into a baseline,
    /// against as many files that are written durably and rows that are committed.
    static func settling(_ report: Report) async throws {
        let saves = 5000
        try await withDevices(2) { devices in
            let (writer, reader) = (try await devices[0].store(), try await devices[1].store())
            let rows = (0..<saves).map { Item(random: $0) }
            let ours = try await seconds {
                for row in rows { try await writer.write { db in try row.insert(db) } }
                try await writer.settled()
                try await reader.settled()
                try await reader.rollBaseline()
            }
            let count = try await reader.read { db in try Item.fetchCount(db) }
            precondition(count == saves, "\(count)")
            let bytes = try await oneLog(writer)
            let pool = try devices[0].plain()
            let directory = devices[0].directory.appending("files")
            try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
            let plain = try await seconds {
                for (number, row) in rows.enumerated() {
                    let draft = directory.appending("\(number).draft")
                    try LinuxFileLayer().writeNew(draft, bytes)
                    try LinuxFileLayer().renameNew(draft, to: directory.appending("\(number)"))
                    try await pool.write { db in try row.insert(db) }
                }
            }
            try pool.close()
            report.line(
                "settle_5000_saves", variant: "published, joined, rolled", unit: "s", ours: ours, reference: plain,
                referenceName: "5,000 times write, fsync, rename, commit")
            for store in [writer, reader] { try await store.close() }
        }
    }

    /// A content of some size, and the same of a tenth.
    struct Growth: Sendable {
        var metric: String
        var size: Int
        /// Writes the logs of other peers: a number of peers, logs each, rows each.
        var shape: @Sendable (_ size: Int) -> (peers: Int, logs: Int, rows: Int)

        static let all = [
            Growth(metric: "peers_500", size: 500) { (peers: $0, logs: 20, rows: 10) },
            Growth(metric: "logs_1m", size: 1_000_000) { (peers: 1, logs: $0, rows: 1) },
            Growth(metric: "records_10m", size: 10_000_000) { (peers: 1, logs: $0 / 1000, rows: 1000) },
        ]
    }

    /// Measures the cost of a change in a content of some size, against the cost in one of a tenth: a save here, and a
    /// log of another peer that arrives and is taken in.
    static func growth(_ growth: Growth, _ report: Report) async throws {
        try await withDevice { device in
            var contents: [(store: UbiquitousStore, forge: LogForge, notices: StoreNotices.AsyncIterator)] = []
            for size in [growth.size, growth.size / 10] {
                let name = "Items\(size)"
                let shape = growth.shape(size)
                var next = 0
                var forge: LogForge!
                for _ in 0..<shape.peers {
                    forge = try LogForge(device.layout(name), contentName: name)
                    try forge.add(next..<next + shape.logs * shape.rows, keys: .random, rowsPerLog: shape.rows)
                    next += shape.logs * shape.rows
                }
                let filling = try await device.store(contentName: name)
                try await filling.settled()
                let count = try await filling.read { db in try Item.fetchCount(db) }
                precondition(count == next, "\(count) of \(next)")
                try await filling.close()
                let store = try await device.store(contentName: name, exchangesAutomatically: true)
                try await store.settled()
                contents.append((store, forge, store.notices.makeAsyncIterator()))
            }
            var times: [[Double]] = [[], []]
            for round in 0..<220 {
                for place in contents.indices {
                    let (saved, other) = (Item(random: round), Item(random: round))
                    let store = contents[place].store
                    let time = try await seconds {
                        try await store.write { db in try saved.insert(db) }
                        try contents[place].forge.add([other])
                        var isThere = false
                        while !isThere, let notice = await contents[place].notices.next(isolation: nil) {
                            if case .didImport(let imported) = notice {
                                isThere = imported.inserted.contains { $0.key == [.text(ArraySlice(other.id.utf8))] }
                            }
                        }
                    }
                    // The first rounds fill caches.
                    if round >= 20 { times[place].append(time * 1000) }
                }
            }
            report.line(
                growth.metric, variant: "a save here and a log from elsewhere", unit: "ms", ours: median(times[0]), reference: median(times[1]),
                referenceName: "a tenth of the size")
            for content in contents { try await content.store.close() }
        }
    }
}
