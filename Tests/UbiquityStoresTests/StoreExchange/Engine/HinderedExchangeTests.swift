import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What one row, one file or one directory must not hold up: everybody else's exchange.
struct HinderedExchangeTests {
    @Test("a row of a table with a foreign key whose CHECK merging broke holds up no exchange, and is put right by any device")
    func brokenChild() async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE invoice (id TEXT NOT NULL PRIMARY KEY);
                CREATE TABLE line (id TEXT NOT NULL PRIMARY KEY, invoice TEXT REFERENCES invoice, low, high, CHECK (low <= high));
                """)
        ) {
            SyncedTable("invoice")
            SyncedTable("line")
        }
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(schema), devices[1].open(schema))
            try await left.execute("INSERT INTO invoice VALUES ('i'); INSERT INTO line VALUES ('l', 'i', 1, 9)")
            try await settle(left, right)
            try await left.execute("UPDATE line SET low = 8")
            try await right.execute("UPDATE line SET high = 2")
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.status().broken.map(\.record.text) == ["line/t:l"]) }
            try await right.execute("INSERT INTO invoice VALUES ('j')")
            try await settle(right, left)
            #expect(try await left.rows("SELECT id FROM invoice ORDER BY id") == [["i"], ["j"]])
            try await right.execute("UPDATE line SET high = 10")
            try await settle(right, left)
            for store in [left, right] {
                #expect(try await store.rows("SELECT low, high FROM line") == [["8", "10"]])
                #expect(try await store.status().broken.isEmpty)
            }
        }
    }

    @Test("a log at which an index of this schema fails is quarantined with the reason, and other peers' logs go on")
    func failingIndex() async throws {
        let indexed = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT, last TEXT, email TEXT, age);
                CREATE INDEX kinds ON person (json_extract(first, '$.kind'));
                """)
        ) { SyncedTable("person") }
        try await withDevices(3) { devices, _ in
            let (lax, good, reader) = try await (devices[0].open(), devices[1].open(indexed), devices[2].open(indexed))
            try await lax.execute("INSERT INTO person (id, first) VALUES ('ok', '{}')")
            try await lax.execute("INSERT INTO person (id, first) VALUES ('bad', 'no JSON')")
            try await lax.publish()
            try await good.execute("INSERT INTO person (id, first) VALUES ('good', '{}')")
            try await good.publish()
            try await reader.settled()
            #expect(try await reader.rows().map { $0[0] } == ["'good'", "'ok'"])
            let quarantined = try await reader.status().quarantined
            #expect(quarantined.count == 1 && quarantined.first?.reason.contains("malformed JSON") == true)
        }
    }

    @Test("a trigger that refuses what merging made of records that are one holds up nobody: all devices show the same")
    func failingTrigger() async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, email TEXT UNIQUE, low, high);
                CREATE TRIGGER range BEFORE UPDATE ON person WHEN NEW.low > NEW.high BEGIN SELECT RAISE(ABORT, 'out of range'); END;
                """)
        ) { SyncedTable("person", unique: [["email"]]) }
        try await withDevices(3) { devices, _ in
            let (left, right, third) = try await (devices[0].open(schema), devices[1].open(schema), devices[2].open(schema))
            try await left.execute("INSERT INTO person VALUES ('a', 'e', 1, 9)")
            try await right.execute("INSERT INTO person VALUES ('b', 'e', 1, 9)")
            try await settle(left, right, third)
            #expect(try await third.rows("SELECT low, high FROM person") == [["1", "9"]])
            try await left.execute("UPDATE person SET low = 8")
            try await right.execute("UPDATE person SET high = 2")
            try await third.execute("INSERT INTO person VALUES ('c', 'f', 1, 1)")
            try await settle(left, right, third)
            for store in [left, right, third] {
                #expect(try await store.rows("SELECT email, low, high FROM person ORDER BY email") == [["e", "8", "2"], ["f", "1", "1"]])
                #expect(try await store.status().quarantined.isEmpty)
            }
        }
    }

    @Test("records that are one and refer to themselves, and in a circle, and whose row this schema refuses are held, not tried for ever")
    func refusedCircle() async throws {
        func schema(_ index: String) -> SyncedSchema {
            SyncedSchema(
                migrator: migrator(
                    "CREATE TABLE node (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE, parent TEXT NOT NULL REFERENCES node, body TEXT); \(index)")
            ) { SyncedTable("node", unique: [["name"]]) }
        }
        try await withDevices(3) { devices, _ in
            let (left, right) = (try await devices[0].open(schema("")), try await devices[1].open(schema("")))
            let strict = try await devices[2].open(schema("CREATE INDEX kinds ON node (json_extract(body, '$.kind'))"))
            try await left.execute("INSERT INTO node VALUES ('a', 'n', 'a', '{}'), ('b', 'm', 'a', '{}')")
            try await right.execute("INSERT INTO node VALUES ('c', 'n', 'c', '{}')")
            try await settle(left, right, strict)
            #expect(try await strict.rows("SELECT id, parent FROM node ORDER BY id") == [["a", "a"], ["b", "a"]])
            for parent in ["a", "b"] {
                try await left.execute("UPDATE node SET body = 'no JSON', parent = ? WHERE id = 'a'", [parent])
                try await left.publish()
                try await strict.settled()
                #expect(try await strict.rows("SELECT id FROM node") == [])
                #expect(try await strict.held().contains { $0.reason.contains("malformed JSON") })
                try await left.execute("UPDATE node SET body = '{}'")
                try await settle(left, strict)
                #expect(try await strict.rows("SELECT id, parent FROM node ORDER BY id") == [["a", parent], ["b", "a"]])
                #expect(try await strict.held().isEmpty)
            }
        }
    }

    @Test("logs that say they hold more changes than can be counted are joined like others")
    func countless() async throws {
        try await withDevices(3) { devices, _ in
            let reader = try await devices[2].open()
            for (index, device) in devices[..<2].enumerated() {
                let author = try await device.open()
                try await author.execute("INSERT INTO person (id) VALUES (?)", ["\(index)"])
                try await author.publish()
                try await author.close()
                let container = try await device.container()
                let directory = ContentLayout(container: container.path, content: "People").logs(of: container.peer, epoch: 1)
                let name = try #require(try FileManager.default.contentsOfDirectory(atPath: directory.string).first { $0.hasSuffix(".ublog") })
                let log = try LogFile(decoding: [UInt8](Data(contentsOf: URL(filePath: directory.appending(name).string))))
                var header = log.header
                header.changes = .max
                let forged = LogFile.encode(header, body: Array(log.body))
                try FileManager.default.removeItem(atPath: directory.appending(name).string)
                let other = LogFileName(sequence: 1, hash: ContentHash(of: forged)).description
                try Data(forged).write(to: URL(filePath: directory.appending(other).string))
            }
            try await reader.settled()
            #expect(try await reader.rows().map { $0[0] } == ["'0'", "'1'"])
        }
    }

    @Test(
        "a link in the place of a peer's directory for drafts, or of its large values, is not followed to remove anything",
        arguments: ["tmp.nosync", "values"])
    func links(name: String) async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id, email) VALUES ('a', zeroblob(2000000))")
            try await store.settled()
            let peer = try await store.status().peer
            try await store.close()
            let layout = ContentLayout(container: try await devices[0].container().path, content: "People")
            let (outside, link) = (root.removingLastComponent().appending("outside"), layout.logs(of: peer, epoch: 1).appending(name))
            let theirs = outside.appending(ContentHash(of: [7]).description)
            try FileManager.default.createDirectory(atPath: outside.string, withIntermediateDirectories: true)
            try Data().write(to: URL(filePath: theirs.string))
            try? FileManager.default.removeItem(atPath: link.string)
            try FileManager.default.createSymbolicLink(atPath: link.string, withDestinationPath: outside.string)
            let again = try await devices[0].open()
            try await again.execute("DELETE FROM person")
            do {
                try await again.settled()
                try await again.rollBaseline()
                try await again.settled()
                #expect(name == "values")
            } catch let error as UbiquitousStoreError {
                // Nothing is drafted there either.
                #expect(error.code == .fileSystem && name == "tmp.nosync")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside.string) == [theirs.lastComponent!.string])
        }
    }

    @Test("F-05: a large value whose file is lost, or damaged, is brought by a baseline of a peer that holds it", arguments: [nil, Data([1, 2, 3])])
    func lostValue(left content: Data?) async throws {
        try await withDevices(3) { devices, _ in
            let (first, second, third) = (try await devices[0].open(), try await devices[1].open(), try await devices[2].open())
            try await first.execute("INSERT INTO person (id, email) VALUES ('a', zeroblob(2000000))")
            try await first.publish()
            try await second.settled()
            let container = try await devices[0].container()
            let values = ContentLayout(container: container.path, content: "People").values(of: container.peer, epoch: 1)
            let name = try #require(try FileManager.default.contentsOfDirectory(atPath: values.string).first)
            try FileManager.default.removeItem(atPath: values.appending(name).string)
            try content?.write(to: URL(filePath: values.appending(name).string))
            try await third.settled()
            #expect(try await third.rows("SELECT id FROM person") == [])
            try await settle(second, third)
            #expect(try await third.rows("SELECT id, length(email) FROM person") == [["a", "2000000"]])
            #expect(try await third.status().waiting.isEmpty)
        }
    }

    @Test(
        "S-179: where the container has no room, by its disk or a quota, saves succeed, the status says why, and all go out in order once there is room",
        arguments: [Errno.noSpace, .diskQuotaExceeded])
    func noRoom(error: Errno) async throws {
        try await withDevices(2) { devices, root in
            let isFull = Mutex(false)
            let published = Mutex<[Int64]>([])
            let files = HookedFileLayer { (operation, path, _) throws(Errno) in
                guard path.starts(with: root) else { return }
                if [.writeNew, .makeDirectory].contains(operation), isFull.withLock({ $0 }) { throw error }
                if operation == .rename, let name = LogFileName(path.lastComponent!.string) { published.withLock { $0.append(name.sequence) } }
            }
            let store = try await devices[0].open(over: files)
            let other = try await devices[1].open()
            try await store.insert("0")
            try await settle(store, other)
            isFull.withLock { $0 = true }
            for number in 1...3 {
                try await store.insert("\(number)")
                let refusal = await #expect(throws: UbiquitousStoreError.self) { try await store.settled() }
                #expect(refusal?.code == .fileSystem && refusal?.message.contains("free space") == true)
            }
            #expect(try await store.keys() == ["0", "1", "2", "3"])
            let status = try await store.status()
            let reason = error == .noSpace ? "No space left on device" : "Disk quota exceeded"
            #expect(status.unpublished == 3 && status.failure?.contains(reason) == true && status.suspended == nil, "\(status)")
            try await other.settled()
            #expect(try await other.keys() == ["0"])
            #expect(published.withLock { $0 } == [1])
            isFull.withLock { $0 = false }
            try await settle(store, other)
            #expect(published.withLock { $0 } == [1, 2, 3, 4], "each save is a log, the oldest first")
            #expect(try await other.keys() == ["0", "1", "2", "3"])
            let after = try await store.status()
            #expect(after.failure == nil && after.unpublished == 0)
        }
    }

    @Test("a peer whose receipts have come to the last number of twelve digits goes on with thirteen, and is read")
    func lastReceipt() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await settle(left, right)
            let peer = try await left.status().peer
            let receipts = ContentLayout(container: try await devices[0].container().path, content: "People").receipts(of: peer, epoch: 1)
            try Data().write(to: URL(filePath: receipts.appending("999999999999").string))
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(left, right)
            let seen = try #require(try await right.peers().first { $0.peer == peer.description })
            #expect(seen.receipt == 1_000_000_000_000 && seen.seen != nil && seen.behind == 0)
        }
    }
}
