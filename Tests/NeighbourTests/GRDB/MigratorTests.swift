import GRDB
import Testing
import Ubiquity
import UbiquityTesting

/// Later versions of a schema, with GRDB's migrator.
struct MigratorTests {
    private static let note = "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, list TEXT)"

    private static let first = SyncedSchema(migrator: migrator(note)) { SyncedTable("note") }

    private static let second: SyncedSchema = {
        var migrator = migrator(note)
        migrator.registerMigration("v2") { db in
            try db.alter(table: "note") { t in
                t.add(column: "rank", .integer).notNull().defaults(to: 0)
                t.rename(column: "list", to: "folder")
            }
            try db.execute(sql: "UPDATE note SET rank = 1 WHERE folder = 'x'")
        }
        return SyncedSchema(migrator: migrator) { SyncedTable("note", formerColumns: ["folder": ["list"]]) }
    }()

    @Test("A migration that adds, fills and renames columns runs on one device first, and devices of both versions sync")
    func versions() async throws {
        try await withSimulatedDevices(seed: 1) { devices in
            let desk = try await devices.add("desk"), phone = try await devices.add("phone")
            let (early, late) = (try await openStore(on: desk, Self.first), try await openStore(on: phone, Self.first))
            try await early.write { db in try db.execute(sql: "INSERT INTO note VALUES ('a', 'Milk', 'x'), ('b', 'Bread', NULL)") }
            try await devices.settle(early, late)
            try await early.close()

            let upgraded = try await openStore(on: desk, Self.second)
            try await upgraded.write { db in try db.execute(sql: "UPDATE note SET folder = 'y' WHERE id = 'b'") }
            try await late.write { db in try db.execute(sql: "UPDATE note SET title = 'Oat milk' WHERE id = 'a'") }
            try await devices.settle(upgraded, late)
            try await late.close()

            let both = try await openStore(on: phone, Self.second)
            try await devices.settle(upgraded, both)
            for store in [upgraded, both] {
                let rows = try await store.read { db in
                    try Row.fetchAll(db, sql: "SELECT title, folder, rank FROM note ORDER BY id").map { $0.databaseValues.map(\.description) }
                }
                #expect(rows == [["\"Oat milk\"", "\"x\"", "1"], ["\"Bread\"", "\"y\"", "0"]])
                try await store.close()
            }
        }
    }
}
