import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What of a store goes with its content's epoch, and what a store of a later epoch begins with.
struct EpochContentTests {
    private static let sql = """
        CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, email TEXT UNIQUE, name TEXT, best INTEGER);
        CREATE TABLE letter (id TEXT NOT NULL PRIMARY KEY, person TEXT REFERENCES person (id), text TEXT);
        """
    private let related = SyncedSchema(migrator: migrator(Self.sql)) {
        SyncedTable("person", unique: [["email"]])
        SyncedTable("letter")
    }

    @Test("the files of an ended epoch take no room on a full disk, where a save that is to go out finds none: the removal takes them away")
    func makesRoom() async throws {
        try await withDevices(1) { devices, _ in
            let files = MishapFileLayer(.fullDisk, below: try await devices[0].container().path)
            let store = try await devices[0].open(over: files)
            try await store.insert("old")
            try await store.settled()
            let old = try await devices[0].layout().logs(of: store.status().peer, epoch: 1)
            try await store.removeAll()
            try await store.insert("new")
            #expect(!FileManager.default.fileExists(atPath: old.string))
            files.arm(at: 1)
            await #expect(throws: UbiquitousStoreError.self) { try await store.settled() }
            #expect(!FileManager.default.fileExists(atPath: old.string))
            _ = try files.mend()
            try await store.settled()
            #expect(try await store.keys() == ["new"])
        }
    }

    @Test("what was one, held, lost or unusable goes with the epoch, and none of it touches records of the next")
    func relations() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(related), try await devices[1].open(related))
            try await a.execute("INSERT INTO person VALUES ('p2', 'ann@x', 'Ann', 1), ('q', NULL, 'Q', 1)")
            try await b.execute("INSERT INTO person VALUES ('p1', 'ann@x', 'Anna', 2)")
            try await settle(a, b)
            try await a.execute("DELETE FROM person WHERE id = 'q'")
            try await b.execute("INSERT INTO letter VALUES ('l', 'q', 'held')")
            try await a.execute("UPDATE person SET name = 'a'")
            try await b.execute("UPDATE person SET name = 'b'")
            try await settle(a, b)
            #expect(try await a.duplicates().count == 1)
            #expect(try await a.held().count == 1)
            #expect(try await b.conflicts().count + a.conflicts().count > 0)
            let foreign = try await devices[0].layout().logs(of: b.status().peer, epoch: 1)
            let name = LogFileName(sequence: 1, hash: ContentHash(of: [1]))
            try Data("x".utf8).write(to: URL(filePath: foreign.appending(name.description).string))
            try await settle(a)
            #expect(try await a.status().quarantined.count == 1)

            try await a.removeAll()
            try await settle(a, b)
            for store in [a, b] {
                #expect(try await store.duplicates().isEmpty)
                #expect(try await store.held().isEmpty)
                #expect(try await store.conflicts().isEmpty)
                let status = try await store.status()
                #expect(status.quarantined.isEmpty && status.waiting.isEmpty && status.held == 0 && status.unpublished == 0)
                let tables = try await store.read { db in
                    try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ubiquity\\_%' ESCAPE '\\'")
                }
                let kept = ["state", "import", "table", "peer", "declaration", "tracking", "history"].map { "ubiquity_\($0)" }
                for table in tables where !kept.contains(table) {
                    #expect(try await store.rows("SELECT count(*) FROM \(table)") == [["0"]], "\(table)")
                }
            }
            // The two that were one are two, and a key that had died lives.
            try await b.execute("INSERT INTO person VALUES ('p1', 'anna@x', 'Anna', 2), ('p2', 'ann@x', 'Ann', 1), ('q', NULL, 'Q', 1)")
            try await b.execute("INSERT INTO letter VALUES ('l', 'q', 'shown')")
            try await settle(b, a)
            for store in [a, b] {
                #expect(try await store.rows("SELECT id, email FROM person ORDER BY id") == [["p1", "anna@x"], ["p2", "ann@x"], ["q", "NULL"]])
                #expect(try await store.rows("SELECT id, person FROM letter") == [["l", "q"]])
            }
        }
    }

    @Test("what is kept with references, a deletion and large values is restored byte for byte, in its order and in one save")
    func restored() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(related), try await devices[1].open(related))
            try await a.execute("INSERT INTO person VALUES ('gone', 'x@y', 'X', 1)")
            try await settle(a, b)
            let text = String(repeating: "äöü", count: 400_000)
            // One published with its value, which nobody has read; one not.
            try await b.execute("INSERT INTO person (id, name) VALUES ('p', ?)", [text])
            try await b.publish()
            try await b.execute("INSERT INTO letter VALUES ('l', 'p', ?)", [text + "!"])
            try await b.execute("INSERT INTO letter VALUES ('m', 'p', 'm')")
            try await b.execute("DELETE FROM letter WHERE id = 'm'; UPDATE person SET best = 7 WHERE id = 'p'")
            try await a.removeAll()
            try await a.execute("INSERT INTO person VALUES ('p', 'new@x', 'new', 1)")
            try await settle(a, b)
            let kept = devices[1].kept()
            let entry = try #require(try kept.list().first?.entry)
            #expect(entry.logs == 4 && entry.missingValues == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: devices[1].home.kept.appending("\(entry.id)/values").string).count == 2)

            let (written, deleted) = try kept.restore(entry.id, into: nil)
            #expect(written == 4 && deleted == 1)
            try await settle(b, a)
            for store in [a, b] {
                #expect(try await store.rows("SELECT id, email, length(name), best FROM person") == [["p", "new@x", "1200000", "7"]])
                #expect(try await store.rows("SELECT id, person, text FROM letter") == [["l", "p", text + "!"]])
            }
            // One save: the last log of it.
            #expect(try await b.status().knowledge.sequence(of: b.status().peer) == 1)
        }
    }

    @Test(
        "what a copy of a store has published under the identifier of both, and those had not read who removed the content, is set aside by that copy, under its new identifier too",
        arguments: [false, true])
    func copied(isRenewed: Bool) async throws {
        try await withDevices(2) { devices, root in
            let (a, c) = (try await devices[0].open(), try await devices[1].open())
            try await a.execute("INSERT INTO person (id) VALUES ('both')")
            try await settle(a, c)
            let parent = devices[0].directory.removingLastComponent()
            try FileManager.default.copyItem(atPath: devices[0].directory.string, toPath: parent.appending("copy").string)
            try await a.execute("INSERT INTO person (id) VALUES ('a')")
            try await a.publish()
            try await c.settled()
            try await a.close()
            let copy = try TestDevice("copy", in: parent, root: root)
            let container = try await copy.container()
            let logs = ContentLayout(container: container.path, content: "People").logs(of: container.peer, epoch: 1)
            let name = try #require(try FileManager.default.contentsOfDirectory(atPath: logs.string).first { $0.hasPrefix("000000000002.") })
            // It does not see that yet.
            try FileManager.default.moveItem(atPath: logs.appending(name).string, toPath: parent.appending(name).string)
            let b = try await copy.open()
            try await b.execute("INSERT INTO person (id) VALUES ('b')")
            try await b.publish()
            try FileManager.default.moveItem(atPath: parent.appending(name).string, toPath: logs.appending(name).string)
            let before = try await b.status().peer
            if isRenewed { try await b.settled() }
            #expect((try await b.status().peer != before) == isRenewed)
            try await c.removeAll()
            try await c.settled()
            try await settle(b, c)
            for store in [b, c] { #expect(try await store.rows() == []) }
            let entry = try #require(try copy.kept().list().first?.entry)
            let kept = try copy.kept().changes(of: entry.id).flatMap(\.changes).map(\.record)
            #expect(kept.contains("person/t:b") && !kept.contains("person/t:a"))
            #expect(try devices[1].kept().list().isEmpty)
            _ = try copy.kept().restore(entry.id, into: nil)
            try await settle(b, c)
            #expect(try await c.rows("SELECT id FROM person WHERE id = 'b'") == [["b"]])
        }
    }

    @Test("a restored child without its parent is refused whole, and goes in once the parent is there")
    func restoredChild() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(related), try await devices[1].open(related))
            try await a.execute("INSERT INTO person VALUES ('p', NULL, 'P', 1)")
            try await settle(a, b)
            try await b.execute("INSERT INTO letter VALUES ('l', 'p', 'text')")
            try await b.execute("INSERT INTO person VALUES ('other', NULL, 'O', 1)")
            try await a.removeAll()
            try await settle(a, b)
            let entry = try #require(try devices[1].kept().list().first?.entry)
            let error = #expect(throws: UbiquitousStoreError.self) { try devices[1].kept().restore(entry.id, into: nil) }
            #expect(error?.message.contains("record letter/t:l refers to a record of “person” that is not there") == true)
            #expect(error?.message.contains("Nothing has been restored") == true)
            #expect(throws: UbiquitousStoreError.self) { try devices[1].kept().restore(entry.id, into: nil, isRehearsal: true) }
            #expect(try await b.rows("SELECT count(*) FROM person") == [["0"]])
            try await b.execute("INSERT INTO person VALUES ('p', NULL, 'P', 1)")
            #expect(try devices[1].kept().restore(entry.id, into: nil) == (2, 0))
            #expect(try await b.rows("SELECT id, person FROM letter") == [["l", "p"]])
        }
    }

    @Test("nothing that is kept is restored into a store of another content")
    func otherStore() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(), try await devices[1].open())
            try await settle(a, b)
            try await b.execute("INSERT INTO person (id) VALUES ('p')")
            try await a.removeAll()
            try await settle(b)
            let other = try await UbiquitousStore.open(
                at: devices[1].directory.appending("Other.sqlite"), options: .init(contentName: "Other", exchangesAutomatically: false),
                in: devices[1].container(), schema: personSchema)
            let entry = try #require(try devices[1].kept().list().first?.entry)
            let error = #expect(throws: UbiquitousStoreError.self) { try devices[1].kept().restore(entry.id, into: other.file) }
            #expect(error?.code == .foreignStore)
            #expect(try await other.rows("SELECT count(*) FROM person") == [["0"]])
        }
    }

    @Test("a store that is new begins in the present epoch, and reads no log or baseline of the one before")
    func newStore() async throws {
        try await withDevices(3) { devices, _ in
            let (one, two) = (try await devices[0].open(), try await devices[1].open())
            try await one.execute("INSERT INTO person (id) VALUES ('old')")
            #expect(try await one.rollBaseline() == 1)
            try await settle(one, two)
            try await two.execute("INSERT INTO person (id) VALUES ('unread')")
            try await two.publish()
            try await one.removeAll()
            try await one.execute("INSERT INTO person (id) VALUES ('new')")
            try await settle(one)
            // Somebody brings back what was removed.
            let peer = try await one.status().peer
            let old = try await devices[0].layout().logs(of: peer, epoch: 1)
            try FileManager.default.createDirectory(atPath: old.string, withIntermediateDirectories: true)
            let unread = try await devices[0].layout().logs(of: two.status().peer, epoch: 1)
            try FileManager.default.copyItem(atPath: unread.string, toPath: old.appending("baselines").string)
            let third = try await devices[2].open()
            try await settle(third, one)
            #expect(try await third.status().epoch == 2)
            #expect(try await third.rows("SELECT id FROM person") == [["new"]])
            #expect(try await one.rollBaseline() == 1)
            try await settle(two, third, one)
            for store in [one, two, third] { #expect(try await store.rows("SELECT id FROM person") == [["new"]]) }
        }
    }

    @Test("a seeding under way when the content is removed ends with the reason, and seeds all when it is begun again")
    func seeding() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await settle(store)
            @Sendable func record(_ number: Int) -> SeedRecord { SeedRecord(table: "person", values: ["id": "\(number)"]) }
            let made = Mutex(0)
            let records = AsyncThrowingStream<SeedRecord, any Error> {
                let number = made.withLock { made in
                    made += 1
                    return made
                }
                // In the second batch.
                if number == 10_400 { try await store.removeAll() }
                return number > 10_500 ? nil : record(number)
            }
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.seed(from: records, token: "people") }
            #expect(error?.message.contains("was removed while") == true)
            #expect(try await store.rows("SELECT count(*) FROM person") == [["0"]])
            #expect(try await !store.isSeeded("people"))
            let seeding = try await store.seed(from: (0..<10_500).map(record), token: "people")
            #expect(seeding.seeded == 10_500)
            #expect(try await store.rows("SELECT count(*) FROM person") == [["10500"]])
        }
    }
}
