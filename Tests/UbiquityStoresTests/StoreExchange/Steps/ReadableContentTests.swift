import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What a newcomer reads of a content, a rebuild accepts: the baselines that can be joined, together, and the logs beside them.
struct ReadableContentTests {
    private let rows = "SELECT id, first FROM person ORDER BY id"

    private func insert(_ store: UbiquitousStore, _ key: String) async throws {
        try await store.execute("INSERT INTO person (id, first) VALUES ('\(key)', 'name of \(key)')")
    }

    /// Removes every log file, as trimming does once a baseline holds a log and all have read it.
    private func removeLogs(_ root: FilePath) throws {
        let directory = contentDirectory(root)
        for name in FileManager.default.enumerator(atPath: directory.string)!.compactMap({ $0 as? String }) where name.hasSuffix(".ublog") {
            try FileManager.default.removeItem(atPath: directory.string + "/" + name)
        }
    }

    private func baselines(_ root: FilePath) throws -> Int {
        FileManager.default.enumerator(atPath: contentDirectory(root).string)!.count { ($0 as? String)?.hasSuffix(".ubbaseline") == true }
    }

    @Test("a store is made anew from baselines that lack each other's logs, as a newcomer reads them")
    func apart() async throws {
        try await withDevices(3) { devices, root in
            let (a, b) = (try await devices[0].open(), try await devices[1].open())
            for (store, key) in [(a, "a"), (b, "b")] {
                try await insert(store, key)
                try await store.rollBaseline()
            }
            try removeLogs(root)
            try await settle(a, b)
            #expect(try baselines(root) == 2)
            let newcomer = try await devices[2].open()
            try await newcomer.settled()
            #expect(try await newcomer.rows(rows) == a.rows(rows))
            try await a.execute("UPDATE person SET first = 'edited' WHERE id = 'b'")
            for store in [a, b, newcomer] {
                try await store.settled()
                try await store.rebuildFromUbiquitousContent()
                #expect(try await store.rows(rows) == [["a", "name of a"], ["b", "edited"]])
            }
            #expect(try await a.status().knowledge.sequence(of: b.status().peer) == b.status().knowledge.sequence(of: b.status().peer))
        }
    }

    @Test("a store is made anew from a baseline of each of three versions of its schema")
    func versions() async throws {
        func schema(_ version: Int) -> SyncedSchema {
            var migrator = migrator("CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT)")
            if version > 1 { migrator.registerMigration("v2") { try $0.execute(sql: "ALTER TABLE person ADD COLUMN last TEXT") } }
            let age = "ALTER TABLE person ADD COLUMN age INTEGER NOT NULL DEFAULT 7"
            if version > 2 { migrator.registerMigration("v3") { try $0.execute(sql: age) } }
            return SyncedSchema(migrator: migrator) { SyncedTable("person") }
        }
        try await withDevices(4) { devices, root in
            var stores: [UbiquitousStore] = []
            for version in 1...3 {
                let store = try await devices[version - 1].open(schema(version))
                try await insert(store, "v\(version)")
                try await store.rollBaseline()
                stores.append(store)
            }
            try removeLogs(root)
            for store in stores { try await store.settled() }
            #expect(try baselines(root) == 3)
            let all = [["v1", "name of v1"], ["v2", "name of v2"], ["v3", "name of v3"]]
            let newcomer = try await devices[3].open(schema(3))
            try await newcomer.settled()
            #expect(try await newcomer.rows(rows) == all)
            // Of a newer version's baselines an older one reads nothing, nor did it.
            for (store, expected) in zip(stores, [Array(all[..<1]), Array(all[..<2]), all]) {
                try await store.rebuildFromUbiquitousContent()
                #expect(try await store.rows(rows) == expected)
            }
        }
    }

    @Test("a store is made anew after an older copy of the content was put back, in which a baseline stands in two parts again")
    func olderCopy() async throws {
        try await withDevices(3) { devices, root in
            let (a, b) = (try await devices[0].open(), try await devices[1].open())
            for (store, key) in [(a, "a"), (b, "b")] {
                try await insert(store, key)
                try await store.rollBaseline()
            }
            try removeLogs(root)
            try await settle(a, b)
            let copy = root.removingLastComponent().appending("copy")
            try FileManager.default.copyItem(atPath: contentDirectory(root).string, toPath: copy.string)
            for store in [a, b] { try await store.rollBaseline() }
            try FileManager.default.removeItem(atPath: contentDirectory(root).string)
            try FileManager.default.moveItem(atPath: copy.string, toPath: contentDirectory(root).string)
            let newcomer = try await devices[2].open()
            try await newcomer.settled()
            #expect(try await newcomer.rows(rows) == a.rows(rows))
            for store in [a, b] {
                try await store.rebuildFromUbiquitousContent()
                #expect(try await store.rows(rows) == [["a", "name of a"], ["b", "name of b"]])
            }
        }
    }

    @Test("a store that was made anew from a content in which nothing lies yet notes what is saved next")
    func fromNothing() async throws {
        try await withDevices(2) { devices, root in
            let (store, other) = (try await devices[0].open(), try await devices[1].open())
            try await store.rebuildFromUbiquitousContent()
            try await insert(store, "a")
            try await settle(store, other)
            #expect(try await other.rows(rows) == [["a", "name of a"]])
        }
    }

    @Test("a baseline that is joined record by record brings rows in which nobody has written a column that must not be NULL")
    func unwritten() async throws {
        func schema(_ version: Int) -> SyncedSchema {
            var migrator = migrator("CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT)")
            let age = "ALTER TABLE person ADD COLUMN age INTEGER NOT NULL DEFAULT 7"
            if version > 1 { migrator.registerMigration("v2") { try $0.execute(sql: age) } }
            return SyncedSchema(migrator: migrator) { SyncedTable("person") }
        }
        try await withDevices(2) { devices, root in
            let old = try await devices[0].open(schema(1))
            try await insert(old, "a")
            try await old.close()
            let upgraded = try await devices[0].open(schema(2))
            try await upgraded.rollBaseline()
            try removeLogs(root)
            let other = try await devices[1].open(schema(2))
            // In a table that is not empty each record is joined by itself.
            try await insert(other, "b")
            try await settle(other, upgraded)
            for store in [other, upgraded] {
                #expect(try await store.rows("SELECT id, age FROM person ORDER BY id") == [["a", "7"], ["b", "7"]])
                #expect(try await store.status().quarantined.isEmpty)
            }
        }
    }

    @Test("a baseline of a device whose clock stands before 1970 is read like any other")
    func before1970() async throws {
        try await withDevices(2) { devices, root in
            devices[0].clock.advance(by: -1_900_000_000)
            let early = try await devices[0].open()
            try await insert(early, "a")
            try await early.rollBaseline()
            try removeLogs(root)
            let other = try await devices[1].open()
            try await other.settled()
            #expect(try await other.rows(rows) == [["a", "name of a"]])
            #expect(try await other.status().quarantined.isEmpty)
        }
    }

    @Test("a newcomer reads a baseline whose last stamp stands just behind the last one that counts, as those did who followed it there")
    func lastStamps() async throws {
        try await withDevices(2) { devices, root in
            devices[0].clock.advance(by: HybridTime.latest.date.timeIntervalSince(devices[0].clock.now))
            let late = try await devices[0].open()
            for key in ["a", "b", "c"] { try await insert(late, key) }
            try await late.rollBaseline()
            try removeLogs(root)
            let other = try await devices[1].open()
            try await other.settled()
            #expect(try await other.rows(rows) == late.rows(rows))
            try await other.rebuildFromUbiquitousContent()
            #expect(try await other.rows(rows) == late.rows(rows))
        }
    }
}
