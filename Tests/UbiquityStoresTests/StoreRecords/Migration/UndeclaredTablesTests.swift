import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// Tables that a migration makes and nobody declares.
struct UndeclaredTablesTests {
    private typealias Table = UndeclaredTables.Table

    private static let sql = """
        CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT, last TEXT, email TEXT, age);
        CREATE TABLE Draft (id TEXT NOT NULL PRIMARY KEY, text TEXT);
        CREATE VIRTUAL TABLE found USING fts5 (first);
        """

    @Test("SQLite's own tables, GRDB's, this package's, declared ones, and virtual tables with what they store are not told; all others are")
    func names() {
        let tables = [
            Table(name: "note"), Table(name: "Draft"), Table(name: "tag"), Table(name: "sqlite_sequence"), Table(name: "grdb_migrations"),
            Table(name: "ubiquity_state"), Table(name: "find", isVirtual: true), Table(name: "find_data"), Table(name: "Find_idx"),
            Table(name: "finding"), Table(name: "grdb_notes"),
        ]
        #expect(UndeclaredTables.names(among: tables, declared: ["Note"]) == ["Draft", "finding", "grdb_notes", "tag"])
        #expect(UndeclaredTables.names(among: tables, declared: ["note", "draft", "tag", "finding", "grdb_notes"]) == [])
    }

    @Test("I-07: an undeclared table is told in the log once for each file, and in the status, until the schema names it as synced or as local")
    func told() async throws {
        try await withDevices(1) { devices, _ in
            let device = devices[0]
            func open(_ schema: SyncedSchema, _ lines: LineCollector) async throws -> UbiquitousStore {
                try await UbiquitousStore.open(
                    at: device.directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                    container: "org.example.test", home: device.home, schema: schema, now: { [clock = device.clock] in clock.now },
                    logger: lines.logger)
            }
            func told(_ lines: LineCollector) -> [String] { lines.all.filter { $0.contains("declared neither as synced nor as local") } }
            let migrator = migrator(Self.sql)
            let (lines, silent, synced) = (LineCollector(level: 1), LineCollector(level: 1), LineCollector(level: 1))

            let forgetful = try await open(SyncedSchema(migrator: migrator) { SyncedTable("person") }, lines)
            #expect(try await forgetful.status().undeclaredTables == ["Draft"])
            try await forgetful.insert("a")
            try await forgetful.settled()
            #expect(try await forgetful.status().undeclaredTables == ["Draft"])
            // The fallback file, and the account's.
            #expect(told(lines).count == 2 && told(lines).allSatisfy { $0.contains("“Draft”") }, "\(told(lines))")
            try await forgetful.close()

            let local = try await open(SyncedSchema(migrator: migrator, local: ["draft"]) { SyncedTable("person") }, silent)
            #expect(try await local.status().undeclaredTables == [])
            #expect(told(silent).isEmpty)
            #expect(try await local.keys() == ["a"])
            try await local.close()

            let whole = SyncedSchema(migrator: migrator) {
                SyncedTable("person")
                SyncedTable("Draft")
            }
            let all = try await open(whole, synced)
            #expect(try await all.status().undeclaredTables == [])
            #expect(told(synced).isEmpty)
            try await all.close()
        }
    }

    @Test("the store's file says for tools without the schema which tables are undeclared, after a migration too")
    func file() async throws {
        try await withDevices(1) { devices, _ in
            var migrator = migrator(Self.sql)
            let first = try await devices[0].open(SyncedSchema(migrator: migrator, local: ["Draft"]) { SyncedTable("person") })
            try await first.insert("a")
            try await first.settled()
            #expect(try await first.read { db in try UndeclaredTables.all(db) } == [])
            try await first.close()
            migrator.registerMigration("v2") { db in try db.execute(sql: "CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY)") }
            let second = try await devices[0].open(SyncedSchema(migrator: migrator, local: ["Draft"]) { SyncedTable("person") })
            #expect(try await second.read { db in try UndeclaredTables.all(db) } == ["tag"])
            try await second.close()
        }
    }

    @Test("a table that is declared as synced and as local, and a local one that does not exist, are refused together")
    func refused() async throws {
        try await withDevices(1) { devices, _ in
            let schema = SyncedSchema(migrator: migrator(Self.sql), local: ["Person", "drafts", "Draft"]) { SyncedTable("person") }
            let error = try await #require(throws: UbiquitousStoreError.self) { try await devices[0].open(schema) }
            #expect(error.code == .invalidSchema)
            #expect(error.message.contains("“Person” is declared both as synced and as local"), "\(error)")
            #expect(error.message.contains("“drafts” does not exist"), "\(error)")
            #expect(!error.message.contains("“Draft”"), "\(error)")
        }
    }
}
