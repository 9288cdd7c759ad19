import GRDB
import Testing
import Ubiquity

/// Keys and rules of GRDB's documentation that cannot sync as they are.
struct KeyTests {
    private func schema(_ table: SyncedTable, _ body: @escaping @Sendable (TableDefinition) -> Void) -> SyncedSchema {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in try db.create(table: table.name, body: body) }
        return SyncedSchema(migrator: migrator) { table }
    }

    @Test("A key that SQLite counts up is refused with the remedy, unless the app assigns it")
    func integers() async throws {
        let message = try await refusal(of: schema(SyncedTable("player")) { t in t.autoIncrementedPrimaryKey("id") })
        #expect(message.contains("is an INTEGER PRIMARY KEY, which two devices would both count up: use a UUID"), "\(message)")
        let assigned = schema(SyncedTable("player", assignsIntegerKeys: true)) { t in
            t.primaryKey("id", .integer)
            t.column("name", .text)
        }
        try await withTwoDevices(assigned) { two in
            try await two.desk.write { db in try db.execute(sql: "INSERT INTO player VALUES (7, 'Ann')") }
            #expect(try await two.rows("SELECT * FROM player") == [["7", "\"Ann\""]])
        }
    }

    @Test("A table without a key, and a key that may be NULL, are refused with the remedy")
    func missing() async throws {
        let message = try await refusal(of: schema(SyncedTable("log")) { t in t.column("line", .text) })
        #expect(message.contains("has no primary key, so that its rows have no name on other devices: give it a UUID key"), "\(message)")
        let nullable = SyncedSchema(migrator: migrator("CREATE TABLE tag (name TEXT PRIMARY KEY)")) { SyncedTable("tag") }
        let reason = try await refusal(of: nullable)
        #expect(reason.contains("may be NULL, which names no record: declare it NOT NULL"), "\(reason)")
    }

    @Test("A UNIQUE column is refused until the schema says what two records with equal values are, and then they become one")
    func unique() async throws {
        @Sendable func define(_ t: TableDefinition) {
            t.primaryKey("id", .text)
            t.column("email", .text).notNull().unique()
        }
        let message = try await refusal(of: schema(SyncedTable("person"), define))
        #expect(message.contains(#"declare unique: [["email"]]"#), "\(message)")
        try await withTwoDevices(schema(SyncedTable("person", unique: [["email"]]), define)) { two in
            for (store, key) in [(two.desk, "a"), (two.phone, "b")] {
                try await store.write { db in try db.execute(sql: "INSERT INTO person VALUES (?, 'x@example.org')", arguments: [key]) }
            }
            #expect(try await two.rows("SELECT count(*), email FROM person") == [["1", "\"x@example.org\""]])
        }
    }
}
