import GRDB
import Testing
import UbiquityTesting

@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What the history costs, counted.
struct HistoryCostTests {
    private static func insert(_ count: Int, from start: Int = 0, into store: UbiquitousStore) async throws {
        try await store.write { db in
            for row in start..<start + count {
                try db.execute(sql: "INSERT INTO person (id, first) VALUES (?, 'x')", arguments: ["key \(row)"])
            }
        }
    }

    /// Returns the number of statements that a save and an import run.
    private static func statements(rows: Int, history: HistoryRetention?) async throws -> (save: Int, import: Int) {
        var counts = (save: 0, import: 0)
        try await withDevices(2) { devices, _ in
            for device in devices {
                let store = try await device.open(history: history)
                try await store.settled()
                try await store.close()
            }
            let meters = devices.map { SQLiteMeter(below: $0.directory) }
            let (author, reader) = (try await devices[0].open(history: history), try await devices[1].open(history: history))
            try await insert(1, into: author)
            try await settle(author, reader)
            meters[0].reset()
            try await insert(rows, from: 1, into: author)
            counts.save = meters[0].runs.count
            try await author.publish()
            meters[1].reset()
            try await reader.settled()
            counts.import = meters[1].runs.count
            for store in [author, reader] { try await store.close() }
        }
        return counts
    }

    @Test("T-69: the history costs a save and an import two statements at most, however many records, and about the bytes of their keys")
    func statements() async throws {
        for rows in [1, 200] {
            let with = try await Self.statements(rows: rows, history: HistoryRetention())
            let without = try await Self.statements(rows: rows, history: nil)
            #expect(with.save - without.save <= 2 && with.import - without.import <= 2, "\(rows) rows: \(with), without \(without)")
        }
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await Self.insert(1000, into: store)
            let bytes = try await store.read { db in try Int.fetchOne(db, sql: "SELECT sum(length(bytes)) FROM ubiquity_history")! }
            #expect(bytes <= 1000 * ("key 999".utf8.count + 3) + 100, "\(bytes)")
            try await store.close()
        }
    }

    @Test("a save of more records than are listed lists its table, in the memory of the records that would be listed")
    func largeSave() async throws {
        try await withDevices(2) { devices, _ in
            let (store, reader) = (try await devices[0].open(), try await devices[1].open())
            let (start, begin) = (try await store.currentChangeToken, try await reader.currentChangeToken)
            try await Self.insert(ChangeRun.limit, into: store)
            let listed = try await store.changes(since: start)
            #expect(listed.changes.count == ChangeRun.limit)
            try await Self.insert(ChangeRun.limit + 1, from: ChangeRun.limit, into: store)
            let large = try await store.changes(since: listed.token)
            #expect(large.words == ["*person"] && large.transactions[0].origin == .save)
            try await settle(store, reader)
            let imported = try await reader.changes(since: begin)
            #expect(imported.words.contains("*person") || imported.changes.count == 2 * ChangeRun.limit + 1)
            for store in [store, reader] { try await store.close() }
        }
    }
}
