import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// When the triggers of a store with a scope come, change and go.
struct GuardInstallationTests {
    private static let first = """
        CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER, PRIMARY KEY (player, id));
        CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY, name TEXT)
        """

    private static func schema(_ role: String = "editor") -> SyncedSchema {
        SyncedSchema(migrator: migrator(first)) {
            SyncedTable("score", access: .creator("player"))
            SyncedTable("template", access: .role(role))
        }
    }

    private static let foreign = "INSERT INTO score (player, id) VALUES ('\(bob)', 'x')"

    private func expectGuarded(_ store: UbiquitousStore, _ sql: String = foreign) async throws {
        let error = await #expect(throws: DatabaseError.self) { try await store.execute(sql) }
        #expect(error?.message?.hasPrefix("ubiquity: ") == true, "\(error as Any)")
    }

    @Test("a migration that renames the creator's column and the table takes the guard along, and the rights stay")
    func renamed() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(Self.schema(), as: .contributor(alice))
            try await store.execute("INSERT INTO score (player, id) VALUES ('\(alice)', 'x')")
            let later = twoVersions(Self.first, "ALTER TABLE score RENAME TO result; ALTER TABLE result RENAME COLUMN player TO owner") {
                SyncedTable("result", access: .creator("owner"), formerly: ["score"], formerColumns: ["owner": ["player"]])
                SyncedTable("template", access: .role("editor"))
            }
            try await store.close()
            let again = try await devices[0].open(later.scoped)
            try await expectGuarded(again, "INSERT INTO result (owner, id) VALUES ('\(bob)', 'x')")
            try await again.execute("UPDATE result SET points = 1; INSERT INTO result (owner, id) VALUES ('\(alice)', 'y')")
            #expect(try await again.rows("SELECT id, quote(points) FROM result ORDER BY id") == [["x", "1"], ["y", "NULL"]])
            try await again.close()
        }
    }

    @Test("another role, or another kind of access, is in force at the next opening, without a migration")
    func changed() async throws {
        try await withDevices(1) { devices, _ in
            var store = try await devices[0].open(Self.schema(), as: .contributor(alice, ["editor"]))
            try await store.execute("INSERT INTO template VALUES ('t', 'T')")
            try await store.close()
            store = try await devices[0].open(Self.schema("curator").scoped)
            try await expectGuarded(store, "UPDATE template SET name = 'U'")
            try await store.close()
            let curated = SyncedSchema(migrator: migrator(Self.first)) {
                SyncedTable("score", access: .role("editor"))
                SyncedTable("template", access: .role("editor"))
            }
            store = try await devices[0].open(curated.scoped)
            try await store.execute(Self.foreign)
            try await store.close()
        }
    }

    @Test("a guard or its row that is lost is back at the next opening, and gives no rights by itself")
    func lost() async throws {
        try await withDevices(1) { devices, _ in
            var store = try await devices[0].open(Self.schema(), as: .contributor(alice))
            try sqlite3(store.file, "DROP TRIGGER ubiquity_guard_insert_1")
            try await store.close()
            store = try await devices[0].open(Self.schema().scoped)
            try await expectGuarded(store)
            try await store.execute("INSERT INTO score (player, id) VALUES ('\(alice)', 'x')")
            try sqlite3(store.file, "DROP TABLE ubiquity_authority")
            // Nobody writes where nothing tells who may.
            await #expect(throws: DatabaseError.self) { try await store.execute("DELETE FROM score") }
            try await store.close()
            store = try await devices[0].open(Self.schema().scoped)
            try await expectGuarded(store, "DELETE FROM score")
            #expect(try await store.read { db in try AuthorityRow.read(db) } == .reading)
            try await store.close()
        }
    }

    @Test("a table that no longer syncs, and a plain copy, are everybody's to write")
    func removed() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(Self.schema(), as: .contributor(alice))
            let copy = devices[0].directory.appending("copy.sqlite")
            try await store.writePlainCopy(to: copy)
            try sqlite3(copy, Self.foreign)
            #expect(try sqlite3(copy, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'ubiquity%'") == "0\n")
            let later = twoVersions(Self.first, "SELECT 1") { SyncedTable("template", access: .role("editor")) }
            try await store.close()
            let again = try await devices[0].open(later.scoped)
            try await again.execute(Self.foreign)
            try await expectGuarded(again, "INSERT INTO template VALUES ('t', 'T')")
            try await again.close()
        }
    }

    @Test("a store that a baseline fills, record by record or as a whole, keeps its guard and its rights", arguments: [false, true])
    func filled(hasRows: Bool) async throws {
        try await withDevices(2) { devices, _ in
            let author = try await devices[0].open(Self.schema(), as: .contributor(bob, ["editor"]))
            for row in 0..<20 { try await author.execute("INSERT INTO score (player, id) VALUES ('\(bob)', '\(row)')") }
            try await author.execute("INSERT INTO template VALUES ('t', 'T')")
            try await author.rollBaseline()
            let reader = try await devices[1].open(Self.schema(), as: .contributor(alice))
            if hasRows { try await reader.execute("INSERT INTO score (player, id) VALUES ('\(alice)', 'x')") }
            try await settle(author, reader)
            #expect(try await reader.rows("SELECT count(*) FROM score") == [[hasRows ? "21" : "20"]])
            try await expectGuarded(reader)
            try await expectGuarded(reader, "DELETE FROM template")
            try await reader.execute("REPLACE INTO score (player, id) VALUES ('\(alice)', 'x')")
            try await reader.rebuildFromUbiquitousContent()
            try await expectGuarded(reader)
            #expect(try await reader.read { db in try AuthorityRow.read(db) } == .contributor(alice))
            for store in [author, reader] { try await store.close() }
        }
    }

    @Test(
        "rows that the migrator inserts, those of an existing database, and values that it fills in, are refused, because nobody can tell whose they are"
    )
    func adoption() async throws {
        try await withDevices(4) { devices, _ in
            let filling = SyncedSchema(migrator: migrator("\(Self.first); INSERT INTO template VALUES ('t', 'T')")) {
                SyncedTable("score", access: .creator("player"))
                SyncedTable("template", access: .role("editor"))
            }
            let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await devices[0].open(filling.scoped) }
            #expect(
                error?.code == .invalidSchema && error?.message.contains("“template” has 1 row that no save has written") == true, "\(error as Any)")
            let plain = devices[1].directory.appending("app.sqlite")
            let empty = try await devices[1].open(Self.schema(), as: .contributor(alice))
            try await empty.writePlainCopy(to: plain)
            try await empty.close()
            try sqlite3(plain, "INSERT INTO score (player, id) VALUES ('\(bob)', 'a'), ('\(bob)', 'b')")
            let other = await #expect(throws: UbiquitousStoreError.self) { _ = try await devices[2].open(Self.schema().scoped, existing: plain) }
            #expect(other?.message.contains("“score” has 2 rows that no save has written") == true, "\(other as Any)")
            // Neither is a seed anybody's.
            let seeded = try await devices[3].open(Self.schema(), as: .contributor(alice, ["editor"]))
            let seed = SeedRecord(table: "template", values: ["id": "t"])
            let fourth = await #expect(throws: UbiquitousStoreError.self) { try await seeded.seed(from: [seed], token: "templates") }
            #expect(fourth?.code == .unsupported && fourth?.message.contains("is not seeded") == true, "\(fourth as Any)")
            #expect(try await seeded.rows("SELECT id FROM template").isEmpty)
            #expect(try await !seeded.isSeeded("templates"))
            try await seeded.close()
            // A default fills nothing in.
            let store = try await devices[1].open(Self.schema().scoped)
            try await store.execute("INSERT INTO score (player, id) VALUES ('\(alice)', 'x')")
            func later(_ sql: String) -> SyncedSchema {
                twoVersions(Self.first, sql) {
                    SyncedTable("score", access: .creator("player"))
                    SyncedTable("template", access: .role("editor"))
                }
            }
            try await store.close()
            let added = "ALTER TABLE score ADD COLUMN level REAL NOT NULL DEFAULT 0.0"
            let third = await #expect(throws: UbiquitousStoreError.self) {
                _ = try await devices[1].open(later("\(added); UPDATE score SET level = 2").scoped)
            }
            #expect(third?.message.contains("“score” has values in the new columns (level) that no save has written") == true, "\(third as Any)")
            let again = try await devices[1].open(later(added).scoped)
            #expect(try await again.rows("SELECT id, level FROM score") == [["x", "0.0"]])
            try await again.close()
        }
    }

    @Test("a policy that the app takes away from a column is gone at the next opening, with its trigger")
    func policyTakenAway() async throws {
        try await withDevices(1) { devices, _ in
            func schema(_ policies: [String: MergePolicy]) -> SyncedSchema {
                SyncedSchema(migrator: migrator("CREATE TABLE best (id TEXT NOT NULL PRIMARY KEY, points INTEGER)")) {
                    SyncedTable("best", columns: policies)
                }
            }
            let store = try await devices[0].open(schema(["points": .maximum]))
            try await store.execute("INSERT INTO best VALUES ('a', 5)")
            try await store.execute("UPDATE best SET points = 3")
            #expect(try await store.rows("SELECT points FROM best") == [["5"]])
            try await store.close()
            let again = try await devices[0].open(schema([:]))
            try await again.execute("UPDATE best SET points = 3")
            #expect(try await again.rows("SELECT points FROM best") == [["3"]])
            try await again.close()
        }
    }
}
