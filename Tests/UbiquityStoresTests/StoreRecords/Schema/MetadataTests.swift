import Foundation
import GRDB
import Testing
import UbiquityTesting

@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
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
            for store in [left, right] { #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty) }
        }
    }

    @Test("S-119: of a value and its removal written apart the later stays, whichever it is, also where one device has never had the key")
    func removalAndValue() async throws {
        for isRemovalLater in [false, true] {
            try await withDevices(3) { devices, _ in
                let (left, right, third) = (try await devices[0].open(), try await devices[1].open(), try await devices[2].open())
                try await left.write { db in try StoreMetadata(db).set("old", for: "shared") }
                try await settle(left, right)
                devices[isRemovalLater ? 1 : 0].clock.advance(by: 10)
                try await left.write { db in
                    try StoreMetadata(db).set("new", for: "shared")
                    try StoreMetadata(db).set("new", for: "own")
                }
                try await right.write { db in
                    try StoreMetadata(db).set(nil, for: "shared")
                    // Where there is nothing it is written, too.
                    try StoreMetadata(db).set(nil, for: "own")
                }
                #expect(try await right.read { db in try StoreMetadata(db).value(String.self, for: "shared") } == nil)
                for _ in 0..<2 { try await settle(left, right, third) }
                let expected: [String: DatabaseValue] = isRemovalLater ? [:] : ["shared": "new".databaseValue, "own": "new".databaseValue]
                for store in [left, right, third] { #expect(try await values(store) == expected, "the removal is later: \(isRemovalLater)") }
                // Through a baseline as through logs, and it may be written again.
                try await left.rollBaseline()
                try await third.write { db in try StoreMetadata(db).set(DatabaseValue.null, for: "shared") }
                try await third.write { db in try StoreMetadata(db).set(2, for: "own") }
                for _ in 0..<2 { try await settle(left, right, third) }
                for store in [left, right, third] {
                    #expect(try await values(store) == ["own": 2.databaseValue])
                    #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty)
                }
            }
        }
    }

    @Test("S-119: a store may have nothing but its metadata, which syncs, is in baselines, and goes with a removal")
    func alone() async throws {
        try await withDevices(3) { devices, _ in
            let (left, right) = (try await devices[0].open(SyncedSchema()), try await devices[1].open(SyncedSchema()))
            try await left.write { db in try StoreMetadata(db).set("dark", for: "theme") }
            try await settle(left, right)
            #expect(try await values(right) == ["theme": "dark".databaseValue])
            try await right.write { db in try StoreMetadata(db).set("light", for: "theme") }
            try await settle(left, right)
            try await left.rollBaseline()
            try await settle(left, right)
            let late = try await devices[2].open(SyncedSchema())
            try await late.settled()
            #expect(try await values(late) == ["theme": "light".databaseValue])
            // The app gets a table later.
            try await late.close()
            let grown = try await devices[2].open()
            try await grown.execute("INSERT INTO person (id) VALUES ('p')")
            try await grown.settled()
            #expect(try await values(grown) == ["theme": "light".databaseValue])
            try await left.removeAll()
            #expect(try await values(left).isEmpty)
            for store in [left, right, grown] {
                #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty)
            }
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
