import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Seeds that cannot be taken in, and stores that have no container yet.
struct SeedingRefusalTests {
    private let seeds = SeedingTests()
    private var schema: SyncedSchema { seeds.schema }

    /// What is done to a seed file, and what the message then says.
    static let unfits: [(change: String, message: String)] = [
        ("DROP TABLE place", "no table “place”"),
        ("ALTER TABLE bird DROP COLUMN song", "“bird” has no song"),
        ("ALTER TABLE bird ADD COLUMN wings", "“bird” has wings, which the store lacks"),
        ("DROP TABLE place; CREATE TABLE place (bird TEXT, region INTEGER, months TEXT, PRIMARY KEY (region, bird))", "the key (region, bird)"),
        ("INSERT INTO grdb_migrations VALUES ('v7')", "newer version of the app, with the migrations v7"),
        ("CREATE TABLE ubiquity_state (format)", "writePlainCopy"),
        ("not SQLite", "not a whole SQLite database"),
        ("missing", "There is no seed"),
    ]

    @Test("a seed file that does not fit is refused by what is wrong with it, and nothing is written", arguments: unfits)
    func unfit(change: String, message: String) async throws {
        try await withDevices(1) { devices, _ in
            let file = try seeds.seed(in: devices[0].directory, birds: 4)
            switch change {
            case "missing": try FileManager.default.removeItem(atPath: file.string)
            case "not SQLite": try Data(repeating: 7, count: 9000).write(to: URL(filePath: file.string))
            default: try sqlite3(file, change)
            }
            let store = try await devices[0].open(schema)
            let error = await #expect(throws: UbiquitousStoreError.self) {
                try await store.seed(from: SeedFile(file, isRemovedAfterwards: true), token: "birds")
            }
            #expect(error?.path == file && error?.message.contains(message) == true, "\(String(describing: error))")
            #expect(try await seeds.content(store).isEmpty)
            #expect(try await store.sealedLogs().isEmpty)
            #expect(FileManager.default.fileExists(atPath: file.string) == (change != "missing"))
            try await seeds.expectWhole(store)
        }
    }

    @Test("with its tables named, a seed file may lack others")
    func someTables() async throws {
        try await withDevices(1) { devices, _ in
            let file = try seeds.seed(in: devices[0].directory, birds: 4)
            try sqlite3(file, "DROP TABLE bird")
            let store = try await devices[0].open(schema)
            #expect(try await store.seed(from: SeedFile(file, tables: ["place"]), token: "places").seeded == 4)
        }
    }

    /// Records that cannot be inserted, and what the message says.
    static let wrongs: [(record: SeedRecord, message: String)] = [
        (SeedRecord(table: "fish", values: ["id": "f"]), "“fish”, which is no synced table"),
        (SeedRecord(table: "bird", values: ["id": "x", "name": "N", "cached": "c"]), "“cached”, which “bird” does not sync"),
        (SeedRecord(table: "bird", values: ["id": nil, "name": "N"]), "no “id”, which is in the key"),
        (SeedRecord(table: "place", values: ["bird": "x"]), "no “region”, which is in the key"),
        (SeedRecord(table: "bird", values: ["id": "x"]), "NOT NULL constraint failed: bird.name"),
    ]

    @Test("a record that cannot be seeded is refused with what to do; the batch that it is in is not there, and no token", arguments: wrongs)
    func wrong(record: SeedRecord, message: String) async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(schema)
            let good = SeedRecord(table: "bird", values: ["id": "good", "name": "Good", "heard": 3])
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.seed(from: [good, record], token: "birds") }
            #expect(error?.message.contains(message) == true, "\(String(describing: error))")
            #expect(try await store.rows("SELECT id FROM bird").isEmpty)
            #expect(try await store.read { db in try Int.fetchOne(db, sql: "SELECT active FROM ubiquity_import") } == 0)
            let seeding = try await store.seed(from: [good], token: "birds")
            #expect(seeding.seeded == 1 && !seeding.wasComplete)
            #expect(try await store.rows("SELECT id, heard FROM bird") == [["good", "3"]])
            try await seeds.expectWhole(store)
        }
    }

    @Test("a key that a column's affinity turns into another type is kept as it is stored: the deleted stays dead, the rest syncs")
    func affinity() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await left.execute("INSERT INTO place VALUES ('1', 1, 'x')")
            try await left.execute("DELETE FROM place")
            let records = (1...3).map { number in
                SeedRecord(table: "place", values: ["bird": number, "region": String(number), "months": "m"])
            }
            let seeding = try await left.seed(from: records, token: "places")
            #expect(seeding.seeded == 2 && seeding.skipped == 1)
            try await settle(left, right)
            try await left.execute("UPDATE place SET months = 'n'")
            try await settle(left, right)
            for store in [left, right] {
                #expect(try await store.rows("SELECT quote(bird), region, months FROM place") == [["'2'", "2", "n"], ["'3'", "3", "n"]])
                try await seeds.expectWhole(store)
            }
        }
    }

    @Test("a store whose container is missing is seeded, read and written at once; when both are there, one set is left")
    func withoutContainer() async throws {
        try await withDevices(2) { devices, root in
            let away = FilePath(root.string + "-away")
            let container = try await devices[0].container()
            try FileManager.default.moveItem(atPath: root.string, toPath: away.string)
            func open() async throws -> UbiquitousStore {
                try await UbiquitousStore.open(
                    at: devices[0].directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                    in: container, schema: schema)
            }
            var left = try await open()
            try await left.execute("INSERT INTO bird (id, name) VALUES ('mine', 'Mine'), ('b9', 'Mine')")
            let first = try seeds.seed(in: devices[0].directory, birds: 20)
            #expect(try await left.seed(from: SeedFile(first), token: "birds").seeded == 39)
            #expect(try await seeds.content(left).count == 41)
            #expect(try await left.seed(from: SeedFile(first), token: "birds").wasComplete)
            // Of the last row SQLite would give the number to the next.
            try await left.execute("UPDATE bird SET name = 'Edited' WHERE id = 'b1'; DELETE FROM bird WHERE id IN ('b2', 'b19')")
            try await left.close()
            left = try await open()
            try FileManager.default.removeItem(atPath: first.string)
            let second = try seeds.seed(in: devices[0].directory, birds: 22)
            let more = try await left.seed(from: SeedFile(second), token: "birds, second edition")
            #expect(more.seeded == 4 && more.skipped == 40)

            try FileManager.default.moveItem(atPath: away.string, toPath: root.string)
            let right = try await devices[1].open(schema)
            try await right.seed(from: SeedFile(second), token: "birds")
            try await settle(right, left)
            for store in [left, right] {
                #expect(try await seeds.content(store) == seeds.content(left))
                let birds = try await store.rows("SELECT name, count(*) FROM bird WHERE id NOT IN ('b0') GROUP BY name LIKE 'Bird%' ORDER BY 2")
                #expect(birds.map { $0[1] } == ["3", "17"])
                #expect(try await store.rows("SELECT id FROM bird WHERE id IN ('b2', 'b19')").isEmpty)
                #expect(try await store.rows("SELECT name FROM bird WHERE id IN ('b1', 'b9') ORDER BY id") == [["Edited"], ["Mine"]])
                #expect(try await store.isSeeded("birds"))
                #expect(try await store.isSeeded("birds, second edition"))
                try await seeds.expectWhole(store)
            }
        }
    }
}
