import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// Logs that arrive one by one, in every order.
struct DeliveryOrderTests {
    private static let schema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, isrc TEXT UNIQUE);
            CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY);
            CREATE TABLE entry (list TEXT NOT NULL REFERENCES list (id) ON DELETE CASCADE, song TEXT NOT NULL REFERENCES song (id) ON DELETE CASCADE,
                note TEXT, PRIMARY KEY (list, song)) WITHOUT ROWID;
            """)
    ) { ["entry", "list", "song"].map { SyncedTable($0, unique: $0 == "song" ? [["isrc"]] : []) } }

    private static func orders(_ count: Int) -> [[Int]] {
        guard count > 0 else { return [[]] }
        return orders(count - 1).flatMap { order in (0..<count).map { Array(order[..<$0]) + [count - 1] + order[$0...] } }
    }

    @Test("F-06: concurrent edits of relationships come to the same set on every device, in whatever order their logs arrive")
    func relationships() async throws {
        try await withDevices(3) { devices, root in
            var stores: [UbiquitousStore] = []
            for device in devices { stores.append(try await device.open(Self.schema, baselines: nil)) }
            try await stores[0].execute(
                """
                INSERT INTO list VALUES ('l'), ('m'); INSERT INTO song VALUES ('s1', NULL), ('s2', NULL), ('s3', NULL);
                INSERT INTO entry VALUES ('l', 's1', 'old'), ('l', 's2', 'old'), ('m', 's1', 'old')
                """)
            for store in stores { try await store.settled() }
            // Apart: one adds, removes and edits, one adds what becomes one with the first's, one deletes what the others refer to.
            try await stores[0].execute(
                """
                INSERT INTO song VALUES ('sA', 'x'); INSERT INTO entry VALUES ('l', 'sA', 'of a'); DELETE FROM entry WHERE song = 's2';
                UPDATE entry SET note = 'edited' WHERE list = 'l' AND song = 's1'
                """)
            devices[1].clock.advance(by: 60)
            try await stores[1].execute("INSERT INTO song VALUES ('sB', 'x'); INSERT INTO entry VALUES ('l', 'sB', 'of b'), ('m', 's2', NULL)")
            try await stores[2].execute("DELETE FROM list WHERE id = 'm'; INSERT INTO entry VALUES ('l', 's3', NULL)")
            for store in stores { try await store.publish() }

            let content = try await devices[0].container().path.appending("CoreData/People")
            let logs = try FileManager.default.subpathsOfDirectory(atPath: content.string).filter { $0.hasSuffix(".ublog") }
            try #require(logs.count == 4)
            let (files, aside) = (LinuxFileLayer(), root.removingLastComponent().appending("aside"))
            try files.makeDirectory(aside)
            func place(_ log: Int) -> FilePath { content.pushing(FilePath(logs[log])) }
            func expectSame(_ store: UbiquitousStore, _ order: [Int]) async throws {
                #expect(
                    try await store.rows("SELECT list, song, quote(note) FROM entry ORDER BY 1, 2") == [
                        ["l", "s1", "'edited'"], ["l", "s3", "NULL"], ["l", "sA", "'of b'"],
                    ], "\(order)")
                #expect(try await store.rows("SELECT id FROM song ORDER BY id") == [["s1"], ["s2"], ["s3"], ["sA"]], "\(order)")
                let status = try await store.status()
                #expect(status.waiting.isEmpty && status.quarantined.isEmpty, "\(order)")
            }
            for log in logs.indices { try files.renameNew(place(log), to: aside.appending("\(log)")) }
            for (number, order) in Self.orders(4).enumerated() {
                let late = try await TestDevice("late\(number)", in: aside, root: root).open(Self.schema, baselines: nil)
                for log in order {
                    try files.renameNew(aside.appending("\(log)"), to: place(log))
                    try await late.settled()
                }
                try await expectSame(late, order)
                try await late.close()
                for log in logs.indices { try files.renameNew(place(log), to: aside.appending("\(log)")) }
            }
            for log in logs.indices { try files.renameNew(aside.appending("\(log)"), to: place(log)) }
            for store in stores {
                try await store.settled()
                try await expectSame(store, [])
            }
        }
    }
}
