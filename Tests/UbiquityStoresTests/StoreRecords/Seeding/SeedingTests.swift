import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// Stores that are filled once from what comes with the app.
struct SeedingTests {
    static let tables = """
        CREATE TABLE bird (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, song TEXT, heard INTEGER NOT NULL DEFAULT 0, cached TEXT);
        CREATE TABLE place (bird TEXT NOT NULL, region INTEGER NOT NULL, months TEXT, PRIMARY KEY (bird, region)) WITHOUT ROWID;
        """
    let schema = SyncedSchema(migrator: migrator(tables)) {
        SyncedTable("bird", excluding: ["cached"])
        SyncedTable("place")
    }

    /// A seed of so many birds, each with a place.
    func seed(in directory: FilePath, birds: Int, named prefix: String = "b") throws -> FilePath {
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let file = directory.appending("Birds.sqlite")
        let queue = try DatabaseQueue(path: file.string)
        try migrator(Self.tables).migrate(queue)
        try queue.write { db in
            for index in 0..<birds {
                try db.execute(sql: "INSERT INTO bird VALUES (?, ?, NULL, ?, 'seed')", arguments: ["\(prefix)\(index)", "Bird \(index)", index])
                try db.execute(sql: "INSERT INTO place VALUES (?, ?, 'all')", arguments: ["\(prefix)\(index)", index % 9])
            }
        }
        try queue.close()
        return file
    }

    func content(_ store: UbiquitousStore) async throws -> [[String]] {
        try await store.rows("SELECT id, name, song, heard FROM bird ORDER BY id") + store.rows("SELECT * FROM place ORDER BY bird, region")
    }

    func expectWhole(_ store: UbiquitousStore) async throws {
        #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty)
        #expect(try await store.read { db in try db.tableExists("ubiquity_seed") || Adopter.isPending(db) } == false)
    }

    @Test("a seeded record whose row another takes is kept with the types in which its table stores it, and read so by others")
    func storedTypes() async throws {
        let sql = "CREATE TABLE item (id INTEGER NOT NULL, code TEXT, size REAL, PRIMARY KEY (id), UNIQUE (code)) WITHOUT ROWID"
        let schema = SyncedSchema(migrator: migrator(sql)) { SyncedTable("item", unique: [["code"]]) }
        let rows = "SELECT typeof(id), id, code, typeof(size), size FROM item"
        try await withDevices(2) { devices, _ in
            let store = try await devices[0].open(schema)
            try await store.settled()
            try await store.execute("INSERT INTO item VALUES (9, 'x', NULL)")
            _ = try await store.seed(from: [SeedRecord(table: "item", values: ["id": "1", "code": "x", "size": 5])], token: "items")
            try await store.rollBaseline()
            let other = try await devices[1].open(schema)
            try await settle(other, store)
            for store in [store, other] {
                #expect(try await store.rows(rows) == [["integer", "1", "x", "real", "5.0"]])
                #expect(try await store.status().quarantined.isEmpty)
                let kept = "SELECT DISTINCT typeof(k0), typeof(v1) FROM ubiquity_aside_1 WHERE v1 IS NOT NULL"
                #expect(try await store.rows(kept) == [["integer", "real"]])
            }
        }
    }

    @Test("S-078, S-082: a store is filled from a database; other devices get its records and seed no more")
    func file() async throws {
        try await withDevices(3) { devices, _ in
            let left = try await devices[0].open(schema)
            let file = try seed(in: devices[0].directory, birds: 120)
            let seeding = try await left.seed(from: SeedFile(file), token: "birds")
            #expect(seeding.seeded == 240 && seeding.skipped == 0 && seeding.total == 240 && !seeding.wasComplete)
            #expect(try await left.rows("SELECT count(*), count(cached) FROM bird") == [["120", "0"]], "what does not sync is no seed's")
            try await left.publish()

            // Never settled before: the seeding itself looks at what is there.
            let right = try await devices[1].open(schema)
            let second = try await right.seed(from: SeedFile(file), token: "birds")
            #expect(second == Seeding(wasComplete: true))
            #expect(try await right.sealedLogs().isEmpty)
            #expect(try await right.isSeeded("birds"))
            // The file is not even looked for, and other records are not asked for.
            let third = try await devices[2].open(schema)
            #expect(try await third.seed(from: SeedFile("/nowhere"), token: "birds").wasComplete)
            #expect(try await third.seed(from: [SeedRecord(table: "bird", values: [:])], token: "birds").wasComplete)
            for store in [left, right, third] {
                #expect(try await content(store) == content(left))
                #expect(try await content(store).count == 240)
                try await expectWhole(store)
            }
        }
    }

    @Test("S-079: a seed file can be read, and a write to it fails by its name; seeding leaves it as it was")
    func readOnly() async throws {
        try await withDevices(1) { devices, _ in
            let file = try seed(in: devices[0].directory, birds: 5)
            let bytes = try Data(contentsOf: URL(filePath: file.string))
            #expect(try await SeedFile(file).read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM bird") } == 5)
            let error = await #expect(throws: UbiquitousStoreError.self) {
                try await SeedFile(file).read { db in try db.execute(sql: "DELETE FROM bird") }
            }
            #expect(error?.code == .unsupported && error?.path == file && error?.message.contains("only read") == true)
            let store = try await devices[0].open(schema)
            try await store.seed(from: SeedFile(file), token: "birds")
            #expect(try Data(contentsOf: URL(filePath: file.string)) == bytes)
            let beside = try FileManager.default.contentsOfDirectory(atPath: devices[0].directory.string).filter { $0.hasPrefix("Birds") }
            #expect(beside == ["Birds.sqlite"])
        }
    }

    @Test("S-078, S-080: supplied records are asked for as they are taken in: never more at once than a batch holds, by number and by size")
    func flat() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(schema)
            for (count, size, most) in [(25_003, 10, 10_000), (30, 1 << 20, 4)] {
                let asked = Mutex(0)
                let ahead = Mutex(0)
                let records = (0..<count).lazy.map { index in
                    asked.withLock { $0 += 1 }
                    return SeedRecord(table: "bird", values: ["id": "\(size)-\(index)", "name": String(repeating: "x", count: size)])
                }
                let seeding = try await store.seed(from: records, token: "\(size)") { seeding in
                    let batch = asked.withLock { number in
                        defer { number = 0 }
                        return number
                    }
                    ahead.withLock { $0 = max($0, batch) }
                }
                #expect(seeding.seeded == count && seeding.total == nil)
                #expect(ahead.withLock { $0 } == most)
            }
            #expect(try await store.rows("SELECT count(*) FROM bird") == [["25033"]])
        }
    }

    @Test(
        "S-080: a seed file is read by the batch, by number and by size, in the order in which its rows lie: nothing is sorted, whatever its size",
        arguments: [(12_001, 10, 10_000), (30, 1 << 20, 4)])
    func flatFile(birds: Int, size: Int, most: Int) async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(schema)
            let file = try seed(in: devices[0].directory, birds: birds)
            try sqlite3(file, "UPDATE bird SET name = printf('%.*c', \(size), 'x'); DELETE FROM place WHERE \(size) > 1000")
            let meter = SQLiteMeter(below: file)
            let seeding = try await store.seed(from: SeedFile(file), token: "birds")
            #expect(seeding.seeded == (size > 1000 ? birds : 2 * birds))
            let runs = meter.runs.filter { $0.sql.contains(" ORDER BY ") && ["\"bird\"", "\"place\""].contains(where: $0.sql.contains) }
            #expect(runs.map(\.rows).max() == most && runs.allSatisfy { $0.sorts == 0 }, "\(runs)")
            // Each batch is one log, so that none of it waits for the next.
            let logs = try await store.sealedLogs()
            #expect(logs.count == (seeding.seeded + most - 1) / most)
        }
    }

    @Test("S-081: records go in by the batch, the remainder too; a seeding that is cut off goes on behind the last batch")
    func resumes() async throws {
        try await withDevices(2) { devices, root in
            let file = try seed(in: devices[0].directory, birds: 12_001)
            let store = try await devices[0].open(schema)
            let steps = Mutex<[Int]>([])
            let task = Task {
                try await store.seed(from: SeedFile(file), token: "birds") { seeding in
                    steps.withLock { $0.append(seeding.seeded) }
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
            let outcome = await task.result
            #expect(throws: CancellationError.self) { try outcome.get() }
            #expect(try await !store.isSeeded("birds"))
            // Somebody deletes and edits what is there by then.
            try await store.execute("DELETE FROM bird WHERE id = 'b7'; UPDATE bird SET song = 'trill' WHERE id = 'b8'")
            let seeding = try await store.seed(from: SeedFile(file), token: "birds") { seeding in steps.withLock { $0.append(seeding.seeded) } }
            #expect(steps.withLock { $0 } == [10_000, 20_000, 24_002])
            #expect(seeding.seeded == 24_002 && seeding.skipped == 0)
            let other = try await devices[1].open(schema)
            try await settle(store, other)
            let logs = try FileManager.default.subpathsOfDirectory(atPath: root.string).filter { $0.hasSuffix(".ublog") }.map {
                try LogFile(decoding: LinuxFileLayer().read(root.appending($0), limit: LogFile.limit))
            }
            let inserted = try logs.flatMap { try $0.changes }.filter { $0.hasPrefix("bird/") }.map { $0.prefix { $0 != " " } }
            #expect(inserted.count == 12_003 && Set(inserted).count == 12_001, "each once, a deletion and an edit")
            #expect(try await content(store).count == 24_001)
            #expect(try await content(other) == content(store))
            try await expectWhole(store)
        }
    }

    @Test("S-081: where the file has become another meanwhile, it is begun anew, and what is here is passed over")
    func changedFile() async throws {
        try await withDevices(1) { devices, _ in
            let file = try seed(in: devices[0].directory, birds: 6_000)
            let store = try await devices[0].open(schema)
            let task = Task {
                try await store.seed(from: SeedFile(file), token: "birds") { _ in withUnsafeCurrentTask { $0?.cancel() } }
            }
            _ = await task.result
            try sqlite3(file, "INSERT INTO bird (id, name) VALUES ('a first', 'New')")
            let seeding = try await store.seed(from: SeedFile(file), token: "birds")
            #expect(seeding.seeded == 2_001 && seeding.skipped == 10_000)
            #expect(try await content(store).count == 12_001)
            try await expectWhole(store)
        }
    }

    @Test("S-082, F-26: two devices that seed offline end with one set, in which every edit stands and what was deleted stays so")
    func offline() async throws {
        try await withDevices(2) { devices, _ in
            var stores: [UbiquitousStore] = []
            for device in devices {
                device.clock.advance(by: device.directory == devices[0].directory ? -1e6 : 0)
                let store = try await device.open(schema)
                #expect(try await store.seed(from: SeedFile(seed(in: device.directory, birds: 50)), token: "birds").seeded == 100)
                stores.append(store)
            }
            try await stores[0].execute("UPDATE bird SET name = 'Early edit' WHERE id = 'b1'; DELETE FROM bird WHERE id = 'b2'")
            try await settle(stores[0], stores[1])
            for store in stores {
                #expect(try await content(store).count == 99)
                #expect(try await store.rows("SELECT id, name FROM bird WHERE id IN ('b1', 'b2')") == [["b1", "Early edit"]])
                #expect(try await content(store) == content(stores[0]))
                #expect(try await store.conflicts().isEmpty)
                #expect(try await store.isSeeded("birds"))
                try await expectWhole(store)
            }
        }
    }

    @Test("a record that is here is left as it is, and one that was deleted stays dead, whoever deleted it and however lately")
    func passedOver() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await left.execute("INSERT INTO bird (id, name) VALUES ('b0', 'Mine'), ('b1', 'Mine'), ('b2', 'Mine'), ('b3', 'Mine')")
            try await settle(left, right)
            try await right.execute("DELETE FROM bird WHERE id = 'b1'")
            try await settle(right, left)
            // Not sealed when the seeding begins, and without the triggers of a rowid.
            try sqlite3(left.file, "DELETE FROM bird WHERE id = 'b2'; INSERT INTO place VALUES ('b4', 4, 'May'); DELETE FROM place WHERE bird = 'b5'")
            let seeding = try await left.seed(from: SeedFile(seed(in: devices[0].directory, birds: 6)), token: "birds")
            #expect(seeding.seeded == 7 && seeding.skipped == 5)
            try await settle(left, right)
            for store in [left, right] {
                let birds = try await store.rows("SELECT id, name FROM bird ORDER BY id")
                #expect(birds == [["b0", "Mine"], ["b3", "Mine"], ["b4", "Bird 4"], ["b5", "Bird 5"]])
                #expect(try await store.rows("SELECT months FROM place WHERE bird = 'b4'") == [["May"]])
                try await expectWhole(store)
            }
        }
    }

    @Test("a record that another program deletes while a seeding is under way stays dead")
    func deletedMeanwhile() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(schema)
            try await store.execute("INSERT INTO place VALUES ('b1', 1, 'Mine')")
            let file = try seed(in: devices[0].directory, birds: 10_000)
            let seeding = try await store.seed(from: SeedFile(file), token: "birds") { [file = store.file] seeding in
                if seeding.seeded == 10_000 { _ = try? sqlite3(file, "DELETE FROM place WHERE bird = 'b1'") }
            }
            #expect(seeding.seeded == 19_999 && seeding.skipped == 1)
            #expect(try await store.rows("SELECT * FROM place WHERE bird = 'b1'").isEmpty)
            try await store.settled()
            try await expectWhole(store)
        }
    }

    @Test("S-083: the file goes once all of it is in the store, with what SQLite keeps beside it, and where another device has seeded it")
    func removed() async throws {
        try await withDevices(2) { devices, _ in
            for (index, device) in devices.enumerated() {
                let store = try await device.open(schema)
                let file = try seed(in: device.directory, birds: 3)
                try sqlite3(file, "PRAGMA journal_mode = WAL")
                func names() throws -> [String] {
                    try FileManager.default.contentsOfDirectory(atPath: device.directory.string).filter { $0.hasPrefix("Birds") }
                }
                if index == 0 {
                    await #expect(throws: UbiquitousStoreError.self) {
                        try await store.seed(from: SeedFile(file, tables: ["person"], isRemovedAfterwards: true), token: "birds")
                    }
                    #expect(try names().contains("Birds.sqlite"))
                }
                let seeding = try await store.seed(from: SeedFile(file, isRemovedAfterwards: true), token: "birds")
                #expect(seeding.seeded == (index == 0 ? 6 : 0))
                #expect(try names() == [])
                #expect(try await store.seed(from: SeedFile(file, isRemovedAfterwards: true), token: "birds").wasComplete)
                try await store.publish()
            }
        }
    }
}

/// Seeds of records that relate to others.
struct RelatedSeedingTests {
    private static let tables = """
        CREATE TABLE sighting (id TEXT NOT NULL PRIMARY KEY, bird TEXT NOT NULL REFERENCES bird (id));
        CREATE TABLE bird (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, song TEXT CHECK (song <> 'silence'));
        """
    private let schema = SyncedSchema(migrator: migrator(tables)) {
        SyncedTable("sighting")
        SyncedTable("bird", unique: [["name"]])
    }

    private func seed(in directory: FilePath, _ prefix: String) throws -> FilePath {
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let file = directory.appending("Birds.sqlite")
        try sqlite3(
            file,
            """
            \(Self.tables) INSERT INTO bird VALUES ('\(prefix)1', 'Wren', 'trill'), ('\(prefix)2', 'Tit', NULL);
            INSERT INTO sighting VALUES ('\(prefix)s1', '\(prefix)1'), ('\(prefix)s2', '\(prefix)2'), ('\(prefix)s3', 'nobody');
            """)
        return file
    }

    @Test("S-082, S-084: seeds whose records have other keys on each device end as one set by a uniqueness rule, which holds after each seeding")
    func unique() async throws {
        try await withDevices(2) { devices, root in
            let stores = [try await devices[0].open(schema), try await devices[1].open(schema)]
            let away = FilePath(root.string + "-away")
            try FileManager.default.moveItem(atPath: root.string, toPath: away.string)
            for (number, prefix) in ["a", "b"].enumerated() {
                let (device, store) = (devices[number], stores[number])
                try await store.execute("INSERT INTO bird VALUES ('\(prefix)0', 'Wren', NULL)")
                let seeding = try await store.seed(from: SeedFile(seed(in: device.directory, prefix)), token: "birds")
                #expect(seeding.seeded == 5 && seeding.skipped == 0)
                // The wren that was here and the seed's are one; whoever refers to one refers to the other, and to nobody nobody.
                #expect(try await store.rows("SELECT * FROM bird ORDER BY id") == [["\(prefix)0", "Wren", "trill"], ["\(prefix)2", "Tit", "NULL"]])
                #expect(
                    try await store.rows("SELECT * FROM sighting ORDER BY id") == [["\(prefix)s1", "\(prefix)0"], ["\(prefix)s2", "\(prefix)2"]])
                #expect(try await store.held().map(\.record.description) == ["sighting/\(prefix)s3"])
            }
            try FileManager.default.moveItem(atPath: away.string, toPath: root.string)
            try await settle(stores[0], stores[1])
            for store in stores {
                #expect(try await store.rows("SELECT * FROM bird ORDER BY id") == [["a0", "Wren", "trill"], ["a2", "Tit", "NULL"]])
                let sightings = try await store.rows("SELECT id, bird FROM sighting ORDER BY id")
                #expect(sightings == [["as1", "a0"], ["as2", "a2"], ["bs1", "a0"], ["bs2", "a2"]])
                #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty)
            }
        }
    }

    @Test("a record that is held, or shown as another, is here: a seed passes it over; one that breaks a CHECK is refused")
    func hidden() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(schema)
            try await store.seed(from: SeedFile(seed(in: devices[0].directory, "a")), token: "birds")
            let again = [
                SeedRecord(table: "sighting", values: ["id": "as3", "bird": "a1"]), SeedRecord(table: "bird", values: ["id": "a1", "name": "Other"]),
            ]
            let seeding = try await store.seed(from: again, token: "again")
            #expect(seeding.seeded == 0 && seeding.skipped == 2)
            #expect(try await store.held().count == 1)
            let silent = SeedRecord(table: "bird", values: ["id": "x", "name": "X", "song": "silence"])
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.seed(from: [silent], token: "silent") }
            #expect(error?.message.contains("CHECK") == true)
            // As ever for what the app writes.
            await #expect(throws: DatabaseError.self) { try await store.execute("INSERT INTO bird VALUES ('y', 'Y', 'silence')") }
            await #expect(throws: DatabaseError.self) { try await store.execute("INSERT INTO sighting VALUES ('y', 'nobody')") }
        }
    }
}
