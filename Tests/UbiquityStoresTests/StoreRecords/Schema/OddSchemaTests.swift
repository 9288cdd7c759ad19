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

/// Schemas that are odd, and legal.
struct OddSchemaTests {
    /// A device that comes to a baseline without logs, and one that joins logs, show the same as the first.
    private func expectAlike(_ schema: SyncedSchema, _ rows: String, _ saves: [String]) async throws {
        try await withDevices(3) { devices, _ in
            let (first, second) = (try await devices[0].open(schema), try await devices[1].open(schema))
            for save in saves {
                try await first.execute(save)
                try await settle(first, second)
            }
            #expect(try await first.rollBaseline() != nil)
            try await settle(first, second)
            let third = try await devices[2].open(schema)
            try await third.settled()
            let expected = try await first.rows(rows)
            #expect(!expected.isEmpty)
            for store in [second, third] { #expect(try await store.rows(rows) == expected) }
            try await third.rebuildFromUbiquitousContent()
            #expect(try await third.rows(rows) == expected)
        }
    }

    @Test("columns may have the names that a record's clock has in our tables, in any case")
    func clockNames() async throws {
        for options in ["", " WITHOUT ROWID"] {
            let schema = SyncedSchema(
                migrator: migrator(
                    """
                    CREATE TABLE event (id TEXT NOT NULL PRIMARY KEY, time REAL, Life, peer, "columns", others, held, k0, v0, c, t, rid)\(options);
                    CREATE TABLE life (time TEXT NOT NULL PRIMARY KEY, event TEXT REFERENCES event, held TEXT UNIQUE)\(options);
                    """)
            ) {
                SyncedTable("event")
                SyncedTable("life", unique: [["held"]])
            }
            try await expectAlike(
                schema, "SELECT event.*, life.* FROM event LEFT JOIN life ON event = id ORDER BY id",
                [
                    "INSERT INTO event VALUES ('a', 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), ('b', 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)",
                    "INSERT INTO life VALUES ('x', 'a', 'h'); UPDATE event SET time = 2, Life = 3 WHERE id = 'a'",
                    "UPDATE event SET \"columns\" = 9, others = 8, peer = 7 WHERE id = 'b'; UPDATE life SET held = 'i'",
                ])
        }
    }

    @Test("a database of an app in UTF-16 becomes a store as any other, with its baselines")
    func wideDatabase() async throws {
        try await withDevices(2) { devices, _ in
            let app = devices[0].directory.appending("app.sqlite")
            try FileManager.default.createDirectory(atPath: devices[0].directory.string, withIntermediateDirectories: true)
            let table = "CREATE TABLE IF NOT EXISTS person (id TEXT NOT NULL PRIMARY KEY, first TEXT)"
            let schema = SyncedSchema(migrator: migrator(table)) { SyncedTable("person") }
            try sqlite3(app, "PRAGMA encoding = 'UTF-16le'; \(table); INSERT INTO person (id, first) VALUES ('ä', 'Žofie 𝄞')")
            let store = try await devices[0].open(schema, existing: app)
            try await store.settled()
            #expect(try await store.rollBaseline() != nil)
            let other = try await devices[1].open(schema)
            try await settle(store, other)
            for store in [store, other] { #expect(try await store.rows("SELECT id, first FROM person") == [["ä", "Žofie 𝄞"]]) }
        }
    }

    @Test("where merging makes a row of which a CHECK cannot even tell, or a CHECK names its table, imports go on")
    func failingCheck() async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, kind TEXT, body TEXT, CHECK (kind <> 'json' OR json_extract(body, '$.v') IS NOT NULL));
                CREATE TABLE span (id TEXT NOT NULL PRIMARY KEY, low, high, CHECK (span.low <= span.high));
                """)
        ) {
            SyncedTable("note")
            SyncedTable("span")
        }
        try await withDevices(2) { devices, _ in
            let (left, right) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await left.execute("INSERT INTO note VALUES ('n', 'plain', '{\"v\":1}'); INSERT INTO span VALUES ('s', 1, 9)")
            try await settle(left, right)
            try await left.execute("UPDATE note SET kind = 'json'; UPDATE span SET low = 8")
            try await right.execute("UPDATE note SET body = 'hello'; UPDATE span SET high = 2")
            try await settle(left, right)
            for store in [left, right] {
                #expect(try await store.rows("SELECT kind, body, low, high FROM note, span") == [["json", "hello", "8", "2"]])
                #expect(try await store.status().broken.map(\.record.text) == ["note/t:n"])
            }
            try await right.execute("UPDATE note SET kind = 'plain'")
            try await settle(right, left)
            for store in [left, right] { #expect(try await store.status().broken.isEmpty) }
        }
    }

    @Test("an expression of a partial UNIQUE index is asked only of rows that are in the index")
    func partialExpression() async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE doc (id TEXT NOT NULL PRIMARY KEY, kind TEXT, body TEXT);
                CREATE UNIQUE INDEX slugs ON doc (json_extract(body, '$.slug')) WHERE kind = 'json';
                """)
        ) { SyncedTable("doc", unique: [["json_extract(body, '$.slug')"]]) }
        try await expectAlike(
            schema, "SELECT * FROM doc ORDER BY id",
            [
                "INSERT INTO doc VALUES ('a', 'plain', 'hello'), ('b', 'plain', 'hello')", "INSERT INTO doc VALUES ('c', 'json', '{\"slug\":\"x\"}')",
                "INSERT OR REPLACE INTO doc VALUES ('d', 'json', '{\"slug\":\"x\"}')", "UPDATE doc SET body = 'bye' WHERE id = 'a'",
            ])
    }

    @Test("a rule by which records have become one cannot be dropped without a migration either")
    func droppedRule() async throws {
        func schema(_ unique: [[String]]) -> SyncedSchema {
            SyncedSchema(migrator: migrator("CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, email TEXT)")) {
                SyncedTable("person", unique: unique)
            }
        }
        try await withDevices(2) { devices, _ in
            let (left, right) = (try await devices[0].open(schema([["email"]])), try await devices[1].open(schema([["email"]])))
            try await left.execute("INSERT INTO person VALUES ('p', 'e')")
            try await right.execute("INSERT INTO person VALUES ('q', 'e')")
            try await settle(left, right)
            #expect(try await left.rows("SELECT count(*) FROM person") == [["1"]])
            try await left.close()
            let error = await #expect(throws: UbiquitousStoreError.self) { try await devices[0].open(schema([])) }
            #expect(error?.code == .invalidSchema)
            let again = try await devices[0].open(schema([["email"]]))
            #expect(try await again.rows("SELECT count(*) FROM person") == [["1"]])
        }
    }
}
