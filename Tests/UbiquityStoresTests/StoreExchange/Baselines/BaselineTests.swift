import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Baselines: written, joined, and what they make superfluous.
struct BaselineTests {
    private let rows = "SELECT id, first, last, email FROM person ORDER BY id"

    private func write(_ store: UbiquitousStore, _ count: Int, from first: Int = 0) async throws {
        for number in first..<first + count {
            try await store.execute("INSERT INTO person (id, first) VALUES ('\(number)', 'name\(number)')")
        }
    }

    /// The files of one kind that a store has in the content, by name.
    private func files(_ root: FilePath, _ store: UbiquitousStore, _ suffix: String) async throws -> [FilePath] {
        let directory = root.appending("alice/org.example.test/CoreData/People/\(try await store.status().peer)")
        let names = FileManager.default.enumerator(atPath: directory.string)!.compactMap { $0 as? String }
        return names.filter { $0.hasSuffix(suffix) }.sorted().map { directory.appending($0) }
    }

    @Test("a new device begins with a baseline where the logs are gone, and has every record, deletion and stamp")
    func firstImport() async throws {
        try await withDevices(2) { devices, root in
            let first = try await devices[0].open()
            try await write(first, 20)
            try await first.execute("DELETE FROM person WHERE id = '3'; UPDATE person SET last = 'L' WHERE id = '4'")
            #expect(try await first.rollBaseline() == 1)
            #expect(try await files(root, first, ".ublog").isEmpty, "nobody else reads them")
            let second = try await devices[1].open()
            try await second.settled()
            #expect(try await second.rows(rows) == first.rows(rows))
            #expect(try await second.status().knowledge == first.status().knowledge)
            // What is older than the baseline stays so, and what is newer wins.
            try await second.execute("INSERT INTO person (id, first) VALUES ('3', 'again'); UPDATE person SET last = 'M' WHERE id = '4'")
            try await settle(first, second)
            #expect(try await first.rows(rows) == second.rows(rows))
            #expect(try await first.rows("SELECT last FROM person WHERE id IN ('3', '4')").count == 2)
        }
    }

    @Test("what a device had sent to one other alone, and is in no file since that device was lost, reaches the rest by the one that has it")
    func stranded() async throws {
        try await withDevices(3) { devices, root in
            let (lost, first) = (try await devices[0].open(), try await devices[1].open())
            try await write(lost, 2)
            try await settle(lost, first)
            let peer = try await lost.status().peer
            // It has removed its logs for a baseline that has not arrived, and never will.
            try await lost.close()
            let directory = root.appending("alice/org.example.test/CoreData/People/\(peer)/1")
            for name in try FileManager.default.contentsOfDirectory(atPath: directory.string) where name.hasSuffix(".ublog") {
                try FileManager.default.removeItem(atPath: directory.appending(name).string)
            }
            let second = try await devices[2].open()
            try await settle(second, first, second)
            #expect(try await second.rows(rows) == first.rows(rows))
            #expect(try await first.rows(rows).count == 2)
            #expect(try await files(root, first, ".ubbaseline").count == 1)
            // Once is enough.
            try await settle(first, second)
            #expect(try await files(root, first, ".ubbaseline").map(\.lastComponent?.string).first??.hasPrefix("000000000001") == true)
        }
    }

    @Test("logs stay until every other peer has passed them and a baseline holds them")
    func trimming() async throws {
        try await withDevices(2) { devices, root in
            let (first, second) = (try await devices[0].open(), try await devices[1].open())
            try await settle(first, second)
            try await write(first, 5)
            try await first.settled()
            try await first.rollBaseline()
            #expect(try await files(root, first, ".ublog").count == 5, "the other has not said that it has them")
            try await settle(first, second)
            #expect(try await files(root, first, ".ublog").isEmpty)
            #expect(try await files(root, first, ".ubbaseline").count == 1)
            try await write(first, 5, from: 5)
            try await settle(first, second)
            try await second.rollBaseline()
            try await settle(first, second)
            #expect(try await files(root, first, ".ublog").isEmpty, "another's baseline will do")
            #expect(try await files(root, first, ".ubbaseline").isEmpty, "a greater baseline holds it")
            #expect(try await first.rows(rows) == second.rows(rows))
        }
    }

    @Test("F-05: a baseline that holds a corrupt log closes the gap, and a peer that has the log writes one for who waits")
    func rescue() async throws {
        try await withDevices(3) { devices, root in
            let stores = [try await devices[0].open(), try await devices[1].open(), try await devices[2].open()]
            try await write(stores[0], 3)
            try await settle(stores[0], stores[1])
            let log = try #require(try await files(root, stores[0], ".ublog").dropFirst().first)
            try Data("garbage".utf8).write(to: URL(fileURLWithPath: log.string))
            try await write(stores[1], 1, from: 100)
            try await settle(stores[1], stores[2])
            try await settle(stores[2], stores[1])
            try await settle(stores[2])
            #expect(try await stores[2].rows(rows) == stores[1].rows(rows))
            let status = try await stores[2].status()
            #expect(status.waiting.isEmpty && status.quarantined.isEmpty)
        }
    }

    @Test("F-05: the last log of its author, which no other names, is brought by a baseline too where it is damaged")
    func rescueOfLast() async throws {
        try await withDevices(2) { devices, root in
            let (first, second) = (try await devices[0].open(), try await devices[1].open())
            try await write(first, 1)
            try await first.publish()
            let log = try #require(try await files(root, first, ".ublog").first)
            try Data("garbage".utf8).write(to: URL(fileURLWithPath: log.string))
            try await second.settled()
            #expect(try await second.status().quarantined.count == 1)
            try await settle(first, second)
            #expect(try await second.rows(rows) == first.rows(rows))
            #expect(try await second.status().quarantined.isEmpty)
        }
    }

    @Test("a store is made anew from its content, keeps its identifier and what stays on the device, and goes on")
    func rebuild() async throws {
        try await withDevices(2) { devices, root in
            let (first, second) = (try await devices[0].open(), try await devices[1].open())
            try await write(first, 10)
            try await second.execute("INSERT INTO person (id, first) VALUES ('other', 'O'); INSERT INTO person (id, first) VALUES ('5', 'mine')")
            try await settle(first, second)
            try await second.rollBaseline()
            try await settle(first, second)
            try await write(first, 3, from: 50)
            let before = (try await first.rows(rows), try await first.status())
            try await first.rebuildFromUbiquitousContent()
            #expect(try await first.rows(rows) == before.0)
            #expect(try await first.status().peer == before.1.peer)
            try await write(first, 1, from: 90)
            try await settle(first, second)
            #expect(try await first.rows(rows) == second.rows(rows))
            #expect(try await second.status().knowledge == first.status().knowledge)
        }
    }

    @Test("a store is not made anew from a content that lacks something, and says what")
    func incomplete() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].open()
            try await write(store, 3)
            try await store.settled()
            let log = try #require(try await files(root, store, ".ublog").first)
            try FileManager.default.removeItem(atPath: log.string)
            let before = try await store.rows(rows)
            await #expect { try await store.rebuildFromUbiquitousContent() } throws: { error in
                (error as? UbiquitousStoreError)?.code == .contentIncomplete
            }
            #expect(try await store.rows(rows) == before)
        }
    }

    @Test("a baseline that this store's schema cannot hold is listed, and everything else goes on")
    func refused() async throws {
        try await withDevices(2) { devices, root in
            let first = try await devices[0].open()
            try await first.execute("INSERT INTO person (id, first) VALUES ('nameless', NULL)")
            try await first.rollBaseline()
            let strict = SyncedSchema(
                migrator: migrator(
                    "CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT NOT NULL, last TEXT COLLATE NOCASE, email TEXT, age)")
            ) { SyncedTable("person") }
            let second = try await devices[1].open(strict)
            try await second.execute("INSERT INTO person (id, first) VALUES ('mine', 'M')")
            for _ in 0..<2 {
                try await second.settled()
                #expect(try await second.status().quarantined.map(\.kind) == [.refused])
            }
            try await first.settled()
            #expect(try await first.rows("SELECT id FROM person ORDER BY id") == [["mine"], ["nameless"]])
        }
    }

    @Test(
        "a running store waits for the few logs by which a baseline is ahead, and joins the baseline by itself when they do not come",
        .timeLimit(.minutes(40)))
    func late() async throws {
        try await withDevices(2) { devices, root in
            let first = try await devices[0].open()
            let second = try await devices[1].open()
            try await write(first, 2)
            try await settle(first, second)
            try await second.close()
            try await write(first, 1, from: 2)
            try await first.rollBaseline()
            let log = try #require(try await files(root, first, ".ublog").last)
            try FileManager.default.removeItem(atPath: log.string)
            let running = try await devices[1].open(automatically: true)
            let notices = running.notices.limited().makeAsyncIterator()
            // It may have come before anybody listened.
            while try await running.rows(rows) != first.rows(rows) { _ = try await notices.next() }
            try await running.close()
        }
    }

    @Test("a few large logs call for a baseline as many small ones do")
    func large() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].open(baselines: BaselinePolicy(bytes: 100_000))
            try await store.settled()
            for _ in 0..<2 {
                try await store.execute("INSERT INTO person (id, first) VALUES (hex(randomblob(4)), hex(randomblob(20000)))")
                try await store.settled()
            }
            #expect(try await files(root, store, ".ubbaseline").isEmpty)
            try await store.execute("INSERT INTO person (id, first) VALUES ('last', hex(randomblob(20000)))")
            try await store.settled()
            #expect(try await files(root, store, ".ubbaseline").count == 1)
            #expect(try await files(root, store, ".ublog").isEmpty)
        }
    }
}
