import Foundation
import GRDB
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// The authors of a record: its creator, the last writer of each column, its deleter.
struct RecordProvenanceTests {
    @Test("T-68: a record tells who created it, who last wrote each column and when, and who deleted it")
    func authors() async throws {
        try await withDevices(2) { devices, _ in
            let (store, other) = (try await devices[0].open(), try await devices[1].open())
            let begin = ManualClock().now
            try await other.execute("INSERT INTO person (id, first, last) VALUES ('a', 'F', 'L')")
            try await other.settled()
            try await store.settled()
            devices[0].clock.advance(by: 60)
            try await store.execute("UPDATE person SET last = 'M', email = 'e' WHERE id = 'a'")
            let id = ObjectID.person("a")
            let found = try #require(try await store.record("a", in: "person"))
            #expect(found.record == id && !found.isDeleted && found.deleted == nil)
            let peer = try #require(try await store.peers().first)
            let created = try #require(found.created)
            #expect(created.time == begin && created.author.isThisDevice == false)
            #expect(created.author.peer.description == peer.peer)
            #expect(created.author.device == peer.device && peer.device != nil)
            #expect(Set(found.columns.keys) == ["first", "last", "email"])
            #expect(found.columns["first"] == found.created && found.oldestWrite == found.created)
            #expect(found.columns["last"]?.author.isThisDevice == true && found.columns["last"]?.time == begin + 60)
            #expect(found.lastWrite?.time == begin + 60)

            try await store.settled()
            devices[1].clock.advance(by: 90)
            try await other.settled()
            try await other.execute("DELETE FROM person WHERE id = 'a'")
            try await settle(other, store)
            let gone = try #require(try await store.record(id))
            let deleted = try #require(gone.deleted)
            #expect(gone.isDeleted && deleted.time == begin + 90)
            #expect(deleted.author.peer.description == peer.peer)
            #expect(gone.columns.isEmpty && gone.created == nil)
            #expect(try await other.record(id)?.deleted?.author.isThisDevice == true)
            try await store.insert("a")
            #expect(try await store.record(id)?.created?.author.isThisDevice == true)
            #expect(try await store.record("never", in: "person") == nil)
            for store in [store, other] { try await store.close() }
        }
    }

    @Test("without a history, the last writers are known, and the oldest of their writes stands for the creation")
    func withoutHistory() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(history: nil)
            let begin = ManualClock().now
            try await store.execute("INSERT INTO person (id, first) VALUES ('a', 'F'), ('b', NULL)")
            devices[0].clock.advance(by: 60)
            try await store.execute("UPDATE person SET last = 'M' WHERE id = 'a'; DELETE FROM person WHERE id = 'b'")
            let found = try #require(try await store.record("a", in: "person"))
            #expect(found.created == nil && found.oldestWrite?.time == begin && found.lastWrite?.time == begin + 60)
            let gone = try #require(try await store.record("b", in: "person"))
            #expect(gone.isDeleted && gone.deleted == nil)
            try await store.close()
        }
    }

    @Test("a record of a table that does not sync, and a key of another size, are refused with what there is")
    func refusals() async throws {
        try await withDevices(1) { devices, _ in
            let schema = SyncedSchema(
                migrator: migrator("CREATE TABLE visit (person TEXT NOT NULL, day INTEGER NOT NULL, note, PRIMARY KEY (person, day)) WITHOUT ROWID")
            ) { SyncedTable("visit") }
            let store = try await devices[0].open(schema)
            try await store.execute("INSERT INTO visit VALUES ('p', 3, 'x')")
            let other = await #expect(throws: UbiquitousStoreError.self) { try await store.record("p", in: "person") }
            #expect(other?.code == .notFound && other?.message.contains("the synced tables are visit") == true)
            let short = await #expect(throws: UbiquitousStoreError.self) { try await store.record("p", in: "visit") }
            #expect(short?.code == .notFound && short?.message.contains("person, day: give 2 values, not 1") == true)
            let found = try await store.record(ObjectID(table: "visit", key: [.text("p"), .integer(3)]))
            #expect(found?.columns.keys.sorted() == ["note"] && found?.created != nil)
            try await store.close()
        }
    }

    @Test("a record that waits for its parent, or is one with another, tells its own authors")
    func related() async throws {
        try await withDevices(2) { devices, _ in
            let schema = SyncedSchema(
                migrator: migrator(
                    "CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, email TEXT); CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, parent TEXT REFERENCES parent (id))"
                )
            ) {
                SyncedTable("parent", unique: [["email"]])
                SyncedTable("child")
            }
            let (store, other) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await store.execute("INSERT INTO parent VALUES ('m', 'same')")
            try await other.execute("INSERT INTO parent VALUES ('n', 'same')")
            try await settle(store, other)
            #expect(try await store.rows("SELECT id FROM parent") == [["m"]])
            let hidden = try #require(try await store.record("n", in: "parent"))
            #expect(hidden.columns["email"]?.author.isThisDevice == false && !hidden.isDeleted)
            #expect(try await store.record("m", in: "parent")?.columns["email"]?.author.isThisDevice == true)
            for store in [store, other] { try await store.close() }
        }
    }
}
