import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// The changes that the triggers of a store with a scope let pass and refuse, from any program.
struct GuardTriggerTests {
    private static let unchanged = [["alice", "s", "1", "'n'", "NULL"], ["bob", "s", "2", "'n'", "NULL"], ["template", "t", "T", "", ""]]

    /// The number of captured changes.
    private static let captured = """
        SELECT (SELECT count(*) FROM ubiquity_capture_1) + (SELECT count(*) FROM ubiquity_capture_2) + (SELECT count(*) FROM ubiquity_capture_3)
        """

    /// Runs a statement through the store and in the shell, and expects that both refuse it and nothing changes.
    private func expectRefusal(of sql: String, in store: UbiquitousStore, saying words: String) async throws {
        let before = try await store.rows(Game.rows)
        let error = await #expect(throws: DatabaseError.self, "\(sql)") { try await store.execute(sql) }
        #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER, "\(sql): \(error as Any)")
        #expect(error?.message?.contains("ubiquity: ") == true && error?.message?.contains(words) == true, "\(sql): \(error as Any)")
        let failure = #expect(throws: SQLite3Failure.self, "\(sql)") { try sqlite3(store.file, sql) }
        #expect(failure?.text.contains(words) == true, "\(sql): \(failure as Any)")
        #expect(try await store.rows(Game.rows) == before, "\(sql)")
        #expect(try await store.rows(Self.captured) == [["0"]], "\(sql)")
    }

    // MARK: Rows of an account

    private static let foreign = [
        "INSERT INTO score (player, id) VALUES ('\(bob)', 'new')",
        "INSERT INTO score (player, id) VALUES ('\(alice)', 'own'), ('\(bob)', 'new')",
        "INSERT OR IGNORE INTO score (player, id) VALUES ('\(bob)', 's')",
        "INSERT OR IGNORE INTO score (player, id) VALUES (NULL, 'new')",
        "INSERT OR REPLACE INTO score (player, id) VALUES (NULL, 'new')",
        "REPLACE INTO score (player, id, points) VALUES ('\(bob)', 's', 9)",
        "INSERT INTO score (player, id) VALUES (CAST('\(alice)' AS BLOB), 'new')",
        "INSERT INTO score (player, id) VALUES ('\(alice.description.uppercased())', 'new')",
        "INSERT INTO score (player, id) VALUES ('\(bob)', 's') ON CONFLICT DO UPDATE SET points = 9",
        "INSERT INTO score (player, id) VALUES ('\(bob)', 's') ON CONFLICT DO NOTHING",
        "UPDATE score SET points = 9",
        "UPDATE OR FAIL score SET points = 9",
        "UPDATE OR IGNORE score SET points = 9 WHERE player = '\(bob)'",
        "UPDATE score SET points = NULL, seen = 1 WHERE player = '\(bob)'",
        "UPDATE score SET id = 'new' WHERE player = '\(bob)'",
        "UPDATE OR REPLACE score SET player = '\(alice)' WHERE player = '\(bob)'",
        "DELETE FROM score",
        "DELETE FROM score WHERE player = '\(bob)'",
    ]

    private static let givenAway = [
        "INSERT INTO score (player, id) VALUES ('\(alice)', 's') ON CONFLICT DO UPDATE SET player = '\(bob)', id = 'new'",
        "UPDATE score SET player = NULL WHERE player = '\(alice)'",
        "UPDATE score SET player = '\(bob)', id = 'given' WHERE player = '\(alice)'",
        "UPDATE OR REPLACE score SET player = '\(bob)' WHERE player = '\(alice)'",
    ]

    @Test(
        "P-03: the row of another account is refused in every statement, by the store and by the sqlite3 shell, and nothing changes",
        arguments: ["", " WITHOUT ROWID", " STRICT"])
    func foreignRows(options: String) async throws {
        try await Game.withStores(options) { store, _ in
            // In a STRICT table, SQLite refuses a blob before any trigger runs.
            for sql in Self.foreign where options != " STRICT" || !sql.contains("BLOB") {
                try await expectRefusal(of: sql, in: store, saying: "an account changes only its own rows of “score”")
            }
            for sql in Self.givenAway {
                try await expectRefusal(of: sql, in: store, saying: "“player” of “score” names the account that a row belongs to")
            }
            for sql in ["INSERT INTO template VALUES ('u', 'U')", "UPDATE template SET name = 'U'", "DELETE FROM template"] {
                try await expectRefusal(of: sql, in: store, saying: "only accounts with the role “editor” change “template”")
            }
            #expect(try await store.rows(Game.rows) == Self.unchanged)
        }
    }

    @Test("a row that takes the rowid of another account's row, which REPLACE would delete without a trigger, is refused")
    func rowids() async throws {
        try await Game.withStores { store, _ in
            let foreign = "(SELECT rowid FROM score WHERE player = '\(bob)')"
            for sql in [
                "REPLACE INTO score (rowid, player, id) VALUES (\(foreign), '\(alice)', 'new')",
                "UPDATE OR REPLACE score SET rowid = \(foreign) WHERE player = '\(alice)'",
            ] {
                try await expectRefusal(of: sql, in: store, saying: "an account changes only its own rows of “score”")
            }
            // A free rowid is anybody's.
            try await store.execute("UPDATE score SET rowid = 100 WHERE player = '\(alice)'")
            try await store.execute("INSERT INTO score (rowid, player, id) VALUES (101, '\(alice)', 'new')")
            #expect(try await store.rows("SELECT id FROM score WHERE player = '\(alice)' ORDER BY id") == [["new"], ["s"]])
        }
    }

    @Test("an account writes its own rows as in any store, and columns that stay on the device in every row", arguments: ["", " WITHOUT ROWID"])
    func ownRows(options: String) async throws {
        try await Game.withStores(options) { store, other in
            try await store.execute("INSERT INTO score (player, id) VALUES ('\(alice)', 'a'), ('\(alice)', 'b')")
            try sqlite3(store.file, "INSERT INTO score (player, id) VALUES ('\(alice)', 'a') ON CONFLICT DO UPDATE SET points = 7")
            try await store.execute("REPLACE INTO score (player, id, note) VALUES ('\(alice)', 'c', 'n')")
            try await store.execute("UPDATE score SET id = 'd' WHERE player = '\(alice)' AND id = 'b'")
            try await store.execute("UPDATE score SET seen = 1")
            try await store.execute("DELETE FROM score WHERE player = '\(alice)' AND id = 'd'")
            try await settle(store, other)
            let rows = [["alice", "a", "7", "NULL", "NULL"], ["alice", "c", "NULL", "'n'", "NULL"], ["bob", "s", "2", "'n'", "NULL"]]
            #expect(try await other.rows(Game.rows).filter { $0[0] != "template" } == rows)
            #expect(
                try await store.rows("SELECT player, id FROM score WHERE seen ORDER BY id") == [
                    ["\(alice)", "a"], ["\(alice)", "c"], ["\(bob)", "s"],
                ])
        }
    }

    // MARK: Rights

    private static let own = [
        "INSERT INTO score (player, id) VALUES ('\(alice)', 'new')", "UPDATE score SET points = 9 WHERE player = '\(alice)'",
        "DELETE FROM score WHERE player = '\(alice)'",
    ]
    private static let curated = ["INSERT INTO template VALUES ('u', 'U')", "UPDATE template SET name = 'U'", "DELETE FROM template"]

    @Test("P-03: signed out, rows are read and none is written, from the sqlite3 shell either; signed in, they are written again")
    func signedOut() async throws {
        try await Game.withStores { store, other in
            for rights in [WriteRights.reading, WriteRights(contributes: true, roles: ["editor"])] {
                try await store.write { db in try AuthorityRow.write(rights, db) }
                for sql in Self.own + Self.curated { try await expectRefusal(of: sql, in: store, saying: "because no account is signed in") }
            }
            try sqlite3(store.file, "DELETE FROM ubiquity_authority")
            for sql in Self.own + Self.curated { try await expectRefusal(of: sql, in: store, saying: "because no account is signed in") }
            #expect(try sqlite3(store.file, "SELECT count(*) FROM score") == "2\n")
            // What others write arrives meanwhile.
            try await other.execute("UPDATE score SET points = 3 WHERE player = '\(bob)'")
            try await settle(other, store)
            #expect(try await store.rows("SELECT points FROM score WHERE player = '\(bob)'") == [["3"]])
            try await store.write { db in try AuthorityRow.write(.contributor(alice), db) }
            for sql in Self.own { try await store.execute(sql) }
        }
    }

    @Test("an account that is not admitted, or no longer, writes nothing of its own; a role is its exact name")
    func partialRights() async throws {
        try await Game.withStores { store, _ in
            try await store.write { db in try AuthorityRow.write(WriteRights(account: alice, roles: ["editors", "edit", "Editor"]), db) }
            for sql in Self.own { try await expectRefusal(of: sql, in: store, saying: "does not contribute") }
            for sql in Self.curated { try await expectRefusal(of: sql, in: store, saying: "only accounts with the role “editor”") }
            try await store.write { db in try AuthorityRow.write(WriteRights(account: alice, roles: ["a", "editor", "z"]), db) }
            for sql in Self.own { try await expectRefusal(of: sql, in: store, saying: "does not contribute") }
            for sql in Self.curated { try await store.execute(sql) }
            #expect(try await store.rows("SELECT count(*) FROM template") == [["0"]])
        }
    }

    @Test("metadata of a store with a scope is set by the holders of its role, and read by all")
    func metadata() async throws {
        try await Game.withStores { store, other in
            await #expect(throws: DatabaseError.self) { try await store.write { db in try StoreMetadata(db).set("x", for: "edition") } }
            try await other.write { db in try AuthorityRow.write(.contributor(bob, [StoreMetadata.role]), db) }
            try await other.write { db in try StoreMetadata(db).set("2026", for: "edition") }
            try await settle(other, store)
            #expect(try await store.read { db in try StoreMetadata(db).value(String.self, for: "edition") } == "2026")
        }
    }

    @Test("rights come back from the store file as they were written, and a new file gives none")
    func row() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(Game.schema().scoped)
            #expect(try await store.read { db in try AuthorityRow.read(db) } == .reading)
            for rights in [
                WriteRights(account: alice, contributes: true, roles: ["a", "b’s"]), WriteRights(account: bob), WriteRights(roles: ["x"]), .reading,
            ] {
                try await store.write { db in try AuthorityRow.write(rights, db) }
                #expect(try await store.read { db in try AuthorityRow.read(db) } == rights)
            }
            try sqlite3(store.file, "UPDATE ubiquity_authority SET account = 'nobody'")
            await #expect(throws: UbiquitousStoreError.self) { try await store.read { db in try AuthorityRow.read(db) } }
            try await store.close()
        }
    }

    // MARK: Cost

    /// The instructions of SQLite for a statement that inserts, updates or deletes a number of rows, by that number.
    private static func steps(of schema: SyncedSchema, on device: TestDevice) async throws -> [[Int]] {
        let meter = SQLiteMeter(below: device.directory)
        let store = try await device.open(schema)
        if schema.hasScope { try await store.write { db in try AuthorityRow.write(.contributor(alice), db) } }
        let triggers = "SELECT count(*) FROM sqlite_master WHERE name GLOB 'ubiquity_guard*' OR name = 'ubiquity_authority'"
        #expect(try await store.rows(triggers) == [[schema.hasScope ? "13" : "0"]])
        var steps: [[Int]] = []
        for count in [100, 200, 400] {
            let numbers = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(count))"
            let statements = [
                "\(numbers) INSERT INTO score (player, id, points) SELECT '\(alice)', i, 1 FROM n", "UPDATE score SET points = 2",
                "DELETE FROM score",
            ]
            meter.reset()
            for sql in statements { try await store.execute(sql) }
            steps.append(statements.map { sql in meter.runs.filter { $0.sql == sql }.reduce(0) { $0 + $1.steps } })
        }
        try await store.close()
        return steps
    }

    @Test("the guard costs one look at the rights for each row, however many there are, and a store without a scope has none of it")
    func cost() async throws {
        try await withDevices(2) { devices, _ in
            let plain = SyncedSchema(migrator: Game.schema().migrator) {
                SyncedTable("score", unique: [["player", "note"]], excluding: ["seen"])
                SyncedTable("template")
            }
            let before = try await Self.steps(of: plain, on: devices[0])
            let guarded = try await Self.steps(of: Game.schema().scoped, on: devices[1])
            for kind in 0..<3 {
                let added = zip(guarded, before).map { $0[kind] - $1[kind] }
                let (first, later) = ((added[1] - added[0]) / 100, (added[2] - added[1]) / 200)
                // Two subqueries of one row each, that of the import's mode and that of the rights, and what a trigger costs.
                #expect(first == later && (20...40).contains(first), "statement \(kind): \(first) and \(later) instructions for each row")
            }
            let store = try await devices[1].open(Game.schema().scoped)
            let look = "SELECT 1 FROM ubiquity_authority WHERE number = 1 AND account = 'a' AND contributes"
            let triggers = try await store.rows("SELECT sql FROM sqlite_master WHERE name GLOB 'ubiquity_guard_*_1'").map { $0[0] }
            #expect(
                triggers.count == 3 && triggers.allSatisfy { $0.contains("EXISTS (SELECT 1 FROM ubiquity_authority WHERE number = 1 AND account = ") }
            )
            let plan = try await store.rows("EXPLAIN QUERY PLAN \(look)").map { $0.last! }
            #expect(plan == ["SEARCH ubiquity_authority USING INTEGER PRIMARY KEY (rowid=?)"])
            try await store.close()
        }
    }
}
