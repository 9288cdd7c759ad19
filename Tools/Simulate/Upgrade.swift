import ArgumentParser
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Opens a store with an older or newer version of a schema, for tests that kill the process meanwhile.
struct Upgrade: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade", abstract: "Open a store with a version of a schema, write, exchange, and print its records.", shouldDisplay: false)

    @Option(help: "The device home.")
    var home: String

    @Option(
        help: "1, or 2: a column is dropped, one is renamed, one is added and filled, and the table is rebuilt; 3: parents and children.")
    var schema: Int

    @Option(help: "SQL to run as a save.")
    var execute: String?

    @Option(help: "What to print, a row a line.")
    var query: String

    @Flag(help: "Exchange nothing.")
    var offline = false

    func validate() throws { if !(1...3).contains(schema) { throw ValidationError("There are three schemas.") } }

    func run() async throws {
        let home = DeviceHome(FilePath(home))
        let container = try await UbiquityContainer("org.example.upgrade", home: home)
        let options = UbiquitousStore.Options(contentName: "Things", exchangesAutomatically: false)
        let store = try await UbiquitousStore.open(
            at: home.path.appending("Things/Things.sqlite"), options: options, in: container,
            schema: [Self.first, Self.second, Self.related][schema - 1])
        if let execute { try await store.write { db in try db.execute(sql: execute) } }
        if !offline { try await store.settled() }
        let rows = try await store.read { [query] db in
            try Row.fetchAll(db, sql: query).map { $0.databaseValues.map(\.description).joined(separator: "|") }
        }
        for row in rows { print(row) }
        try await store.close()
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(sql: "CREATE TABLE thing (id TEXT NOT NULL PRIMARY KEY, color TEXT, name TEXT, size)")
        }
        return migrator
    }

    private static let first = SyncedSchema(migrator: migrator) { SyncedTable("thing") }

    private static let related: SyncedSchema = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, email TEXT UNIQUE);
                    CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, parent TEXT REFERENCES parent (id) ON DELETE CASCADE);
                    CREATE TABLE seat (id TEXT NOT NULL PRIMARY KEY, number INTEGER UNIQUE);
                    """)
        }
        return SyncedSchema(migrator: migrator) {
            SyncedTable("child")
            SyncedTable("parent", unique: [["email"]])
            SyncedTable("seat", exclusive: [["number"]])
        }
    }()

    private static let second: SyncedSchema = {
        var migrator = Self.migrator
        migrator.registerMigration("v2") { db in
            try db.execute(
                sql: """
                    CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, name TEXT, weight, label TEXT);
                    INSERT INTO item SELECT id, name, size, 'label of ' || id FROM thing ORDER BY id DESC;
                    DROP TABLE thing;
                    """)
        }
        migrator.registerMigration("v3") { db in try db.execute(sql: "ALTER TABLE item ADD COLUMN rank INTEGER NOT NULL DEFAULT 0") }
        return SyncedSchema(migrator: migrator) { SyncedTable("item", formerly: ["thing"], formerColumns: ["weight": ["size"]]) }
    }()
}
