import GRDB
import Testing
import UbiquityStores

/// Records that a uniqueness rule makes one.
struct UniquenessTests {
    private static let sql = """
        CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, email TEXT UNIQUE, name TEXT, phone TEXT);
        CREATE TABLE letter (id TEXT NOT NULL PRIMARY KEY, person TEXT REFERENCES person (id) ON DELETE CASCADE, text TEXT);
        """
    private static let schema = SyncedSchema(migrator: migrator(sql)) {
        SyncedTable("person")
        SyncedTable("letter")
    }
    private static let people = "SELECT id, quote(email), quote(name), quote(phone) FROM person ORDER BY id"
    private static let letters = "SELECT id, quote(person) FROM letter ORDER BY id"

    @Test("S-090: records made alike on two offline devices under different keys become one on every peer, with the latest of each column")
    func becomeOne() async throws {
        try await withDevices(3) { devices, _ in
            let (a, b, c) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema), try await devices[2].open(Self.schema))
            try await a.execute("INSERT INTO person VALUES ('p2', 'ann@x', 'Ann', NULL)")
            devices[1].clock.advance(60)
            try await b.execute("INSERT INTO person VALUES ('p1', 'ann@x', 'Anna', '1')")
            try await b.execute("INSERT INTO letter VALUES ('l1', 'p1', 'hi')")
            try await a.execute("INSERT INTO letter VALUES ('l2', 'p2', 'ho')")
            devices[0].clock.advance(120)
            try await a.execute("UPDATE person SET phone = '2'")
            try await settle(a, b, c)
            for store in [a, b, c] {
                #expect(try await store.rows(Self.people) == [["p1", "'ann@x'", "'Anna'", "'2'"]])
                #expect(try await store.rows(Self.letters) == [["l1", "'p1'"], ["l2", "'p1'"]])
            }
            // What is saved on the one row is there for all, whichever record it came from.
            try await a.execute("UPDATE person SET name = 'Ann B.'")
            try await settle(a, b, c)
            for store in [a, b, c] { #expect(try await store.rows(Self.people) == [["p1", "'ann@x'", "'Ann B.'", "'2'"]]) }
            // Deleting the row deletes both, and their letters once.
            try await c.execute("DELETE FROM person")
            try await settle(c, a, b)
            for store in [a, b, c] {
                #expect(try await store.rows(Self.people) == [])
                #expect(try await store.rows(Self.letters) == [])
                #expect(try await store.status().unpublished == 0)
            }
        }
    }

    @Test("Two rows that swap a unique value on one device swap it on the others")
    func swap() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema))
            try await a.execute("INSERT INTO person VALUES ('p1', 'x', NULL, NULL), ('p2', 'y', NULL, NULL)")
            try await settle(a, b)
            try await a.execute(
                "UPDATE person SET email = NULL WHERE id = 'p1'; UPDATE person SET email = 'x' WHERE id = 'p2'; UPDATE person SET email = 'y' WHERE id = 'p1'"
            )
            try await settle(a, b)
            #expect(try await b.rows(Self.people) == [["p1", "'y'", "NULL", "NULL"], ["p2", "'x'", "NULL", "NULL"]])
            #expect(try await b.rows("SELECT count(*) FROM ubiquity_same_1") == [["0"]])
        }
    }

    @Test("S-093: uniquing on several devices at once leaves exactly one record, never none")
    func severalAtOnce() async throws {
        try await withDevices(3) { devices, _ in
            let (a, b, c) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema), try await devices[2].open(Self.schema))
            for (number, store) in [a, b, c].enumerated() {
                try await store.execute("INSERT INTO person VALUES ('p\(number)', 'x', 'n\(number)', NULL)")
            }
            for store in [a, b, c] { try await store.publish() }
            // Each finds out by itself before it hears of what the others found.
            for store in [a, b, c] { try await store.settled() }
            try await settle(a, b, c)
            for store in [a, b, c] { #expect(try await store.rows("SELECT id FROM person") == [["p0"]]) }
        }
    }
}
