import Foundation
import GRDB
import StoreFormat
import StoreRecords
import Testing
import UbiquityStores
import UbiquityTesting

/// Records that are hidden and emptied first, and deleted after a set time.
struct TrashTests {
    private static let day = 86_400.0
    private static let trash = Trash("score", lifetime: .seconds(30 * 86_400))

    private static let schema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE score (
                player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER, level TEXT NOT NULL DEFAULT 'none', seen INTEGER,
                isTrashed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (player, id));
            CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY, title TEXT);
            """)
    ) {
        SyncedTable("score", access: .creator("player"), excluding: ["seen"])
        SyncedTable("template", access: .role("editor"))
    }

    private static func insert(_ device: PublicDevice, _ id: String, _ points: Int) -> String {
        "INSERT INTO score (player, id, points, level, seen) VALUES ('\(device.name)', '\(id)', \(points), 'cave', 1)"
    }

    private static func record(_ device: PublicDevice, _ id: String) -> ObjectID {
        ObjectID(table: "score", key: [.text(Array(device.name.utf8)[...]), .text(Array(id.utf8)[...])])
    }

    /// The identifiers of the records that the trash does not hide.
    private static func shown(_ store: UbiquitousStore) async throws -> [String] {
        try await store.read { db in try String.fetchAll(db, sql: "SELECT id FROM score WHERE \(trash.hides) ORDER BY id") }
    }

    /// All rows of the table.
    private static func rows(_ store: UbiquitousStore) async throws -> [[String]] {
        try await store.rows("SELECT id, quote(points), level, quote(seen), quote(isTrashed) FROM score ORDER BY id")
    }

    @Test("S-168: a record in the trash is hidden and empty on every device and for readers of the place, and deleted everywhere after the set time")
    func life() async throws {
        try await PublicWorld.with { world in
            let phone = try world.player("phone")
            let laptop = try world.device("laptop", of: phone)
            let (first, second, owner) = (
                try await phone.open(Self.schema), try await laptop.open(Self.schema), try await world.owner.open(Self.schema)
            )
            let reader = try await world.placeReader("reader").open(Self.schema)
            func publish() async throws {
                try await settle(first, second, owner)
                _ = try await owner.publishPlace(to: world.published)
                try await reader.settled()
            }
            try await settle(first, second, owner)
            for id in ["a", "b"] { try await first.execute(Self.insert(phone, id, 7)) }
            try await publish()
            #expect(try await first.write { db in try Self.trash.move(Self.record(phone, "a"), db) })
            // A record that lies there already, or is not there, stays as it is.
            for id in ["a", "c"] { #expect(try await !first.write { db in try Self.trash.move(Self.record(phone, id), db) }) }
            try await publish()
            for store in [first, second, owner, reader] {
                #expect(try await Self.shown(store) == ["b"])
                let seen = store === first ? "1" : "NULL"
                #expect(try await Self.rows(store) == [["a", "NULL", "none", seen, "1"], ["b", "7", "cave", seen, "0"]])
                let aliased = "SELECT s.id FROM score s JOIN score t USING (player, id) WHERE \(Self.trash.hides(in: "s"))"
                #expect(try await store.read { db in try String.fetchAll(db, sql: aliased) } == ["b"])
            }
            for device in [phone, laptop, world.owner] { device.clock.advance(by: 29 * Self.day) }
            #expect(try await second.empty(Self.trash).isEmpty)
            // A sibling's write of another column does not lengthen the stay, and does not show the record.
            try await second.execute("UPDATE score SET points = 8 WHERE id = 'a'")
            try await publish()
            for device in [phone, laptop, world.owner] { device.clock.advance(by: 2 * Self.day) }
            #expect(try await Self.shown(second) == ["b"])
            #expect(try await second.empty(Self.trash) == [Self.record(phone, "a")])
            #expect(try await second.empty(Self.trash).isEmpty)
            try await publish()
            for store in [first, second, owner, reader] { #expect(try await Self.rows(store).map(\.[0]) == ["b"]) }
            for store in [first, second, owner, reader] { try await store.close() }
        }
    }

    @Test("S-168: another account's record is neither moved nor deleted; signed out, and by a reader of a place, nothing is")
    func foreign() async throws {
        try await PublicWorld.with { world in
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let (first, second, owner) = (try await ann.open(Self.schema), try await bob.open(Self.schema), try await world.owner.open(Self.schema))
            try await settle(first, second, owner)
            try await first.execute(Self.insert(ann, "a", 1))
            try await second.execute(Self.insert(bob, "b", 2))
            try await settle(first, second, owner)
            let error = await #expect(throws: DatabaseError.self) {
                try await second.write { db in try Self.trash.move(Self.record(ann, "a"), db) }
            }
            #expect(error?.message?.contains("an account changes only its own rows") == true)
            #expect(try await first.write { db in try Self.trash.move(Self.record(ann, "a"), db) })
            #expect(try await second.write { db in try Self.trash.move(Self.record(bob, "b"), db) })
            try await settle(first, second, owner)
            _ = try await owner.publishPlace(to: world.published)
            for device in [ann, bob, world.owner] { device.clock.advance(by: 31 * Self.day) }
            let (local, remote) = (world.reader("local"), world.placeReader("remote"))
            for device in [local, remote] {
                device.clock.advance(by: 31 * Self.day)
                let reader = try await device.open(Self.schema)
                try await reader.settled()
                #expect(try await reader.empty(Self.trash).isEmpty)
                #expect(try await Self.rows(reader).map(\.[0]) == ["a", "b"])
                #expect(try await Self.shown(reader).isEmpty)
                try await reader.close()
            }
            #expect(try await second.empty(Self.trash) == [Self.record(bob, "b")])
            try await settle(second, first, owner)
            for store in [first, second, owner] { #expect(try await Self.rows(store).map(\.[0]) == ["a"]) }
            for store in [first, second, owner] { try await store.close() }
        }
    }

    @Test("S-168: a record that a device takes out of the trash stays, and one that a device deletes meanwhile is gone")
    func takenOut() async throws {
        try await withDevices(2) { devices, _ in
            let schema = SyncedSchema(
                migrator: migrator("CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, text TEXT, isTrashed INTEGER)")
            ) { SyncedTable("note") }
            let trash = Trash("note", lifetime: .seconds(60))
            let (first, second) = (try await devices[0].open(schema), try await devices[1].open(schema))
            for id in ["a", "b"] { try await first.execute("INSERT INTO note VALUES ('\(id)', 'text', NULL)") }
            try await settle(first, second)
            try await first.write { db in
                for id in ["a", "b"] { try trash.move(ObjectID(table: "note", key: [.text(Array(id.utf8)[...])]), db) }
            }
            try await settle(first, second)
            try await second.execute("UPDATE note SET isTrashed = 0, text = 'again' WHERE id = 'a'")
            try await second.execute("DELETE FROM note WHERE id = 'b'")
            try await settle(second, first)
            for device in devices { device.clock.advance(by: 120) }
            for store in [first, second] {
                #expect(try await store.empty(trash).isEmpty)
                #expect(try await store.rows("SELECT id, text FROM note WHERE \(trash.hides)") == [["a", "again"]])
                try await store.close()
            }
        }
    }

    @Test("S-168: a trash that cannot be is refused: the error names the table and the column, with the remedy, and the record stays as it was")
    func refused() async throws {
        try await withDevices(1) { devices, _ in
            let schema = SyncedSchema(
                migrator: migrator(
                    """
                    CREATE TABLE strict (id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, isTrashed INTEGER, isLocal INTEGER);
                    CREATE TABLE best (id TEXT NOT NULL PRIMARY KEY, points INTEGER, isTrashed INTEGER);
                    CREATE TABLE plain (id TEXT NOT NULL PRIMARY KEY, isTrashed INTEGER);
                    """)
            ) {
                SyncedTable("strict", excluding: ["isLocal"])
                SyncedTable("best", columns: ["points": .maximum])
            }
            let store = try await devices[0].open(schema)
            try await store.execute("INSERT INTO strict VALUES ('s', 'title', 0, 0)")
            func record(_ table: String, _ key: [String] = ["s"]) -> ObjectID {
                ObjectID(table: table, key: key.map { .text(Array($0.utf8)[...]) })
            }
            let cases: [(trash: Trash, record: ObjectID, code: UbiquitousStoreError.Code, words: [String])] = [
                (Trash("plain"), record("plain"), .notFound, ["“plain” is not a synced table", "best, strict"]),
                (Trash("strict", flag: "isGone"), record("strict"), .notFound, ["“isGone”", "“strict”", "isGone INTEGER NOT NULL DEFAULT 0"]),
                (Trash("strict", flag: "isLocal"), record("strict"), .notFound, ["“isLocal” is not a synced column"]),
                (Trash("strict", flag: "id"), record("strict"), .notFound, ["“id” is not a synced column", "beside its key"]),
                (Trash("strict"), record("strict"), .unsupported, ["“strict”", "“title”", "NOT NULL without a default", "give it a default"]),
                (Trash("best"), record("strict"), .notFound, ["“best”", "(id)"]),
                (Trash("best"), record("best", ["s", "t"]), .notFound, ["whole key"]),
            ]
            for (trash, record, code, words) in cases {
                let error = await #expect(throws: UbiquitousStoreError.self) { try await store.write { db in try trash.move(record, db) } }
                #expect(error?.code == code, "\(trash): \(String(describing: error))")
                for word in words { #expect(error?.description.contains(word) == true, "\(word): \(String(describing: error))") }
            }
            for (trash, words) in [(Trash("plain"), "not a synced table"), (Trash("strict"), "“title”"), (Trash("best"), "the policy maximum")] {
                let error = await #expect(throws: UbiquitousStoreError.self) { try await store.empty(trash) }
                #expect(error?.description.contains(words) == true, "\(String(describing: error))")
            }
            #expect(try await store.rows("SELECT id, title, quote(isTrashed) FROM strict") == [["s", "title", "0"]])
            try await store.close()
        }
    }
}
