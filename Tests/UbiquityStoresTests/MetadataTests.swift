import Foundation
import GRDB
import Testing
import UbiquityTesting

@testable import UbiquityStores

/// The key-value table of every store.
struct MetadataTests {
    private func values(_ store: UbiquitousStore) async throws -> [String: DatabaseValue] {
        try await store.read { db in
            let metadata = StoreMetadata(db)
            return try Dictionary(uniqueKeysWithValues: metadata.keys.map { ($0, try metadata.value(DatabaseValue.self, for: $0) ?? .null) })
        }
    }

    @Test("S-119: every store has a small table of keys and values, which syncs, merges, and is there again after a restart")
    func syncs() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await devices[0].open()
            var right = try await devices[1].open()
            try await left.write { db in
                try StoreMetadata(db).set("2026-02", for: "edition")
                try StoreMetadata(db).set(7, for: "count")
                try db.execute(sql: "INSERT INTO person (id) VALUES ('p')")
            }
            #expect(try await left.sealedLogs().count == 1, "metadata and records are one save")
            try await settle(left, right)
            #expect(try await values(right) == ["edition": "2026-02".databaseValue, "count": 7.databaseValue])

            devices[1].clock.advance(by: 10)
            try await left.write { db in try StoreMetadata(db).set("older", for: "edition") }
            try await right.write { db in
                try StoreMetadata(db).set("later", for: "edition")
                try StoreMetadata(db).set(nil, for: "count")
            }
            try await settle(left, right)
            try await right.close()
            right = try await devices[1].open()
            for store in [left, right] { #expect(try await values(store) == ["edition": "later".databaseValue]) }
            for store in [left, right] { #expect(try StoreInspection(store.file, readOnly: true).check(container: nil).problems.isEmpty) }
        }
    }

    @Test("a key of this package's is refused, and is not among the app's")
    func ownKeys() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            let error = await #expect(throws: UbiquitousStoreError.self) {
                try await store.write { db in try StoreMetadata(db).set(1, for: "ubiquity.seed.x") }
            }
            #expect(error?.description.contains("take another") == true)
            try await store.execute("INSERT INTO ubiquity_metadata VALUES ('ubiquity.seed.x', 1), ('mine', 2)")
            #expect(try await values(store).keys.sorted() == ["mine"])
        }
    }

    @Test("a store from before there was metadata gets its table when it is opened")
    func older() async throws {
        try await withDevices(1) { devices, _ in
            var store = try await devices[0].open()
            try await store.settled()
            try await store.close()
            try sqlite3(
                store.file,
                """
                DROP TABLE ubiquity_metadata; DROP TABLE ubiquity_clock_2; DROP TABLE ubiquity_dead_2; DROP TABLE ubiquity_capture_2;
                DELETE FROM ubiquity_table WHERE number = 2;
                """)
            store = try await devices[0].open()
            try await store.write { db in try StoreMetadata(db).set(1, for: "a") }
            #expect(try await store.sealedLogs().flatMap { try $0.changes } == ["ubiquity_metadata/a 1 value=1"])
        }
    }
}
