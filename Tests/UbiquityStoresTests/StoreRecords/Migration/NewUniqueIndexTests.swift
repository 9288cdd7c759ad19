import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityTesting

@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// A migration that makes a uniqueness rule where this device has records with equal values.
struct NewUniqueIndexTests {
    private static let first = """
        CREATE TABLE folder (id TEXT NOT NULL PRIMARY KEY);
        CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, label TEXT, colour TEXT, folder TEXT REFERENCES folder (id), seen TEXT);
        CREATE TABLE use (id TEXT NOT NULL PRIMARY KEY, tag TEXT REFERENCES tag (id) ON DELETE CASCADE);
        """
    private static let rows = "SELECT id, label, quote(colour) FROM tag ORDER BY id"

    /// The schema in its first version, or with a migration behind it.
    private static func schema(_ second: String? = nil, unique: [[String]] = [], formerColumns: [String: [String]] = [:]) -> SyncedSchema {
        var migrator = migrator(first)
        if let second { migrator.registerMigration("v2") { db in try db.execute(sql: second) } }
        return SyncedSchema(migrator: migrator) {
            SyncedTable("folder")
            SyncedTable("tag", unique: unique, excluding: ["seen"], formerColumns: formerColumns)
            SyncedTable("use")
        }
    }

    private func fill(_ left: UbiquitousStore, _ right: UbiquitousStore) async throws {
        try await right.execute("INSERT INTO tag VALUES ('3', 'red', 'r', NULL, 'there'); INSERT INTO use VALUES ('v', '3')")
        try await settle(right, left)
        try await left.execute(
            """
            INSERT INTO folder VALUES ('f');
            INSERT INTO tag VALUES ('1', 'red', NULL, 'f', 'here'), ('2', 'blue', 'b', 'f', 'here'), ('4', NULL, 'x', NULL, 'here'), ('5', NULL, 'y', NULL, 'here');
            INSERT INTO use VALUES ('u', '3')
            """)
        try await settle(left, right)
        try await right.execute("UPDATE tag SET colour = 'late' WHERE id = '3'")
        try await settle(left, right)
    }

    @Test(
        "where the app says that equal values mean one thing, records become one when a migration makes the UNIQUE index, as with one that was there")
    func becomeOne() async throws {
        let second = Self.schema("CREATE UNIQUE INDEX tag_label ON tag (label)", unique: [["label"]])
        try await withDevices(3) { devices, _ in
            var (left, right) = try await (devices[0].open(Self.schema()), devices[1].open(Self.schema()))
            try await fill(left, right)
            try await left.close()
            left = try await devices[0].open(second)
            // As soon as it is open, and nothing of it is lost.
            let expected = [["1", "red", "'late'"], ["2", "blue", "'b'"], ["4", "NULL", "'x'"], ["5", "NULL", "'y'"]]
            #expect(try await left.rows("SELECT id, coalesce(label, 'NULL'), quote(colour) FROM tag ORDER BY id") == expected)
            #expect(
                try await left.rows("SELECT id, tag, (SELECT seen FROM tag t WHERE t.id = tag) FROM use ORDER BY id") == [
                    ["u", "1", "here"], ["v", "1", "here"],
                ])
            #expect(try await left.duplicates().map { $0.members.map(\.record.text) } == [["tag/t:1", "tag/t:3"]])
            try await right.close()
            right = try await devices[1].open(second)
            let newcomer = try await devices[2].open(second)
            try await settle(left, right, newcomer)
            for store in [left, right, newcomer] {
                #expect(try await store.rows("SELECT id, coalesce(label, 'NULL'), quote(colour) FROM tag ORDER BY id") == expected)
                #expect(try await store.rows("SELECT id, tag FROM use ORDER BY id") == [["u", "1"], ["v", "1"]])
                #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty)
            }
            // They are one: what is saved is saved for both.
            try await right.execute("UPDATE tag SET colour = 'new' WHERE id = '1'; DELETE FROM tag WHERE id = '1'")
            try await settle(right, left, newcomer)
            for store in [left, newcomer] { #expect(try await store.rows("SELECT id FROM tag ORDER BY id") == [["2"], ["4"], ["5"]]) }
        }
    }

    @Test("so they do where the same migration renames the column and the table gets new rowids")
    func renamed() async throws {
        let second = """
            CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE, colour TEXT, folder TEXT REFERENCES folder (id), seen TEXT, size INTEGER DEFAULT 1);
            INSERT INTO t (id, name, colour, folder, seen) SELECT * FROM tag ORDER BY id DESC; DROP TABLE tag; ALTER TABLE t RENAME TO tag;
            """
        try await withDevices(2) { devices, _ in
            var (left, right) = try await (devices[0].open(Self.schema()), devices[1].open(Self.schema()))
            try await fill(left, right)
            let schema = Self.schema(second, unique: [["name"]], formerColumns: ["name": ["label"]])
            for index in 0..<2 {
                try await (index == 0 ? left : right).close()
                let store = try await devices[index].open(schema)
                if index == 0 { left = store } else { right = store }
            }
            try await settle(left, right)
            for store in [left, right] {
                #expect(
                    try await store.rows("SELECT id, coalesce(name, 'NULL'), colour, size FROM tag ORDER BY id")
                        == [["1", "red", "late", "1"], ["2", "blue", "b", "1"], ["4", "NULL", "x", "1"], ["5", "NULL", "y", "1"]])
                #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty)
            }
        }
    }

    @Test(
        "where the app does not say what equal values mean, or the migration makes the values itself, opening tells which records have them and what to do, and the store is as it was",
        arguments: [
            ("CREATE UNIQUE INDEX tag_label ON tag (label)", [] as [[String]], ["(label) of “tag”", "tag/t:1 and tag/t:3", "unique: [[\"label\"]]"]),
            (
                "ALTER TABLE tag ADD COLUMN slug TEXT; UPDATE tag SET slug = coalesce(label, id); CREATE UNIQUE INDEX tag_slug ON tag (slug)",
                [["slug"]], ["(slug) of “tag”", "unique: [[\"slug\"]]", "Either needs no index"]
            ),
            ("CREATE UNIQUE INDEX tag_upper ON tag (upper(label))", [], ["a UNIQUE rule (index 'tag_upper')"]),
        ])
    func told(_ second: String, _ unique: [[String]], _ expected: [String]) async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(Self.schema()), devices[1].open(Self.schema()))
            try await fill(left, right)
            try await left.close()
            let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await devices[0].open(Self.schema(second, unique: unique)) }
            #expect(error?.code == .invalidSchema)
            for part in expected { #expect(error?.message.contains(part) == true, "\(part) in \(error?.message ?? "")") }
            #expect(error?.message.contains("red") == false, "what records hold is nobody's business")
            let again = try await devices[0].open(Self.schema())
            #expect(try await again.rows("SELECT id FROM tag ORDER BY id") == [["1"], ["2"], ["3"], ["4"], ["5"]])
        }
    }

    @Test("writes of another program that are not sealed yet are not lost when their row is a duplicate")
    func noted() async throws {
        try await withDevices(2) { devices, _ in
            var (left, right) = try await (devices[0].open(Self.schema()), devices[1].open(Self.schema()))
            try await fill(left, right)
            try await left.close()
            try sqlite3(left.file, "UPDATE tag SET colour = 'shell' WHERE id = '3'")
            let second = Self.schema("CREATE UNIQUE INDEX tag_label ON tag (label)", unique: [["label"]])
            devices[0].clock.advance(by: 60)
            left = try await devices[0].open(second)
            try await right.close()
            right = try await devices[1].open(second)
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows("SELECT id, colour FROM tag WHERE label = 'red'") == [["1", "shell"]]) }
        }
    }

    @Test("an app's plain database with duplicates, for which its migrator has a UNIQUE index, is told of by their names too")
    func plain() async throws {
        try await withDevices(1) { devices, _ in
            let file = devices[0].directory.appending("Before.sqlite")
            try FileManager.default.createDirectory(atPath: devices[0].directory.string, withIntermediateDirectories: true)
            let queue = try DatabaseQueue(path: file.string)
            try Self.schema().migrator.migrate(queue)
            try await queue.write { db in try db.execute(sql: "INSERT INTO tag (id, label) VALUES ('a', 'x'), ('b', 'x')") }
            try queue.close()
            let schema = Self.schema("CREATE UNIQUE INDEX tag_label ON tag (label)", unique: [["label"]])
            let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await devices[0].open(schema, existing: file) }
            #expect(error?.message.contains("tag/t:a and tag/t:b") == true, "\(error?.message ?? "")")
        }
    }

    @Test("a rule without an index that is declared without a migration makes one what was alike before, when the store is opened")
    func withoutMigration() async throws {
        try await withDevices(2) { devices, _ in
            var (left, right) = try await (devices[0].open(Self.schema()), devices[1].open(Self.schema()))
            try await fill(left, right)
            let ruled = Self.schema(unique: [["label"]])
            try await left.close()
            left = try await devices[0].open(ruled)
            #expect(try await left.rows("SELECT id, colour FROM tag WHERE label = 'red'") == [["1", "late"]])
            try await settle(left, right)
            try await right.close()
            right = try await devices[1].open(ruled)
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows("SELECT id, colour FROM tag WHERE label = 'red'") == [["1", "late"]]) }
        }
    }
}
