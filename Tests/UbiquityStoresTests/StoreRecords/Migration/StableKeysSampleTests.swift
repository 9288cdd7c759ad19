import GRDB
import SystemPackage
import Testing
import UbiquityStores

/// Two well-known sample databases get stable keys, and sync.
struct StableKeysSampleTests {
    private static let chinook = StableKeys(for: ChinookSample.counted)
    private static let northwind = StableKeys(for: NorthwindSample.counted)

    private static func expectEqualMeanings(_ keys: StableKeys, _ schema: String, _ rows: String, _ meanings: [String]) throws {
        let queue = try keyedDatabase(schema + rows)
        let before = try queue.read { db in try meanings.map { try lines(db, $0) } }
        let counts = try queue.read(rowids)
        try keys.migrate(queue)
        try queue.read { db throws in
            let after = try meanings.map { try lines(db, $0) }
            for (place, meaning) in meanings.enumerated() {
                #expect(!before[place].isEmpty && after[place] == before[place], "\(meaning)")
            }
            #expect(try rowids(db) == counts, "every row stays where it is")
            #expect(try lines(db, "PRAGMA foreign_key_check").isEmpty)
            #expect(try lines(db, "PRAGMA integrity_check") == ["\"ok\""])
            for table in keys.tables {
                let key = try #require(db.primaryKey(table).columns.first)
                #expect(try lines(db, "SELECT DISTINCT typeof(\(quoted(key))), length(\(quoted(key))) FROM \(quoted(table))") == ["\"text\"|36"])
            }
        }
    }

    /// Returns the rowids of all tables.
    private static func rowids(_ db: Database) throws -> [String] {
        let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
        return try tables.filter { !$0.hasPrefix("grdb") }.map { table in
            try "\(table): \(lines(db, "SELECT rowid FROM \(quoted(table)) ORDER BY 1"))"
        }
    }

    @Test("I-06: every row of Chinook is joined as before, by stable keys")
    func chinook() throws {
        try Self.expectEqualMeanings(Self.chinook, ChinookSample.schema, ChinookSample.rows, ChinookSample.meanings)
    }

    @Test("I-06: every row of Northwind is joined as before, by stable keys")
    func northwind() throws {
        try Self.expectEqualMeanings(Self.northwind, NorthwindSample.schema, NorthwindSample.rows, NorthwindSample.meanings)
    }

    @Test("random keys sort as the numbers did that they replace")
    func order() throws {
        let queue = try keyedDatabase(NorthwindSample.schema + NorthwindSample.rows)
        try Self.northwind.migrate(queue)
        try queue.read { db throws in
            for table in NorthwindSample.counted {
                let key = try #require(db.primaryKey(table).columns.first)
                #expect(try lines(db, "SELECT rowid FROM \(table) ORDER BY \(key)") == lines(db, "SELECT rowid FROM \(table) ORDER BY rowid"))
            }
        }
    }

    /// The app's migrations: of the version that counted, and of the version that syncs.
    private static func migrator(_ schema: String, _ keys: StableKeys) -> (before: DatabaseMigrator, now: DatabaseMigrator) {
        let before = UbiquityStoresTests.migrator(schema)
        var now = before
        now.registerMigration("stable keys") { db in try keys.convert(db) }
        return (before, now)
    }

    /// Makes the database of a version that does not sync, and returns what the shipped rows mean.
    private static func fill(
        _ path: FilePath, _ migrator: DatabaseMigrator, _ rows: String, _ meanings: [String], _ addition: String
    ) throws -> [[String]] {
        let queue = try DatabaseQueue(path: path.string)
        try migrator.migrate(queue)
        let shipped = try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF; \(rows)")
            let shipped = try meanings.map { try lines(db, $0) }
            try db.execute(sql: addition)
            return shipped
        }
        try queue.close()
        return shipped
    }

    /// Lets two devices that have the shipped rows, and rows of their own, sync for the first time.
    private static func sync(
        _ keys: StableKeys, _ schema: String, _ rows: String, _ tables: [String], additions: [String], _ meanings: [String]
    ) async throws {
        let (before, now) = migrator(schema, keys)
        let synced = SyncedSchema(migrator: now) { tables.map { SyncedTable($0) } }
        try await withDevices(2) { devices, root in
            var stores: [UbiquitousStore] = []
            var shipped: [[String]] = []
            for (device, addition) in zip(devices, additions) {
                let plain = root.removingLastComponent().appending("plain-\(stores.count).sqlite")
                shipped = try fill(plain, before, rows, meanings, addition)
                stores.append(try await device.open(synced, existing: plain))
            }
            try await settle(stores[0], stores[1])
            var contents: [[[String]]] = []
            for store in stores {
                contents.append(try await store.read { db in try tables.map { try lines(db, "SELECT * FROM \(quoted($0))").sorted() } })
                #expect(try await store.rows("PRAGMA foreign_key_check").isEmpty)
                #expect(try await store.held().isEmpty)
                #expect(try await store.conflicts().isEmpty)
            }
            #expect(contents[0] == contents[1])
            // Each shipped row is one record, and each device's own row another: two more rows than were shipped.
            for (meaning, rows) in zip(meanings, shipped) {
                let now = try await stores[1].read { db in try lines(db, meaning) }
                #expect(now.count == rows.count + (meaning.contains("FROM Track") || meaning.contains("FROM Employees e") ? 2 : 0), "\(meaning)")
            }
            for store in stores { try await store.close() }
        }
    }

    @Test("I-06: two devices with the shipped rows of Chinook sync: a shipped row is one record, and rows that users added are others")
    func chinookSyncs() async throws {
        let keys = ChinookSample.counted.reduce(Self.chinook) { $0.derived("org.example.shop", in: $1, upTo: $1 == "Track" ? 200 : 1000) }
        try await Self.sync(
            keys, ChinookSample.schema, ChinookSample.rows, ChinookSample.tables,
            additions: [
                "INSERT INTO Track VALUES (201, 'Own of the first', 7, 1, NULL, NULL, 1, 1, 0.99)",
                "INSERT INTO Track VALUES (201, 'Own of the second', 8, 2, 3, NULL, 1, 1, 0.99)",
            ],
            Array(ChinookSample.meanings.prefix(4)))
    }

    @Test("I-06: two devices with the shipped rows of Northwind sync: a shipped row is one record, and rows that users added are others")
    func northwindSyncs() async throws {
        let keys = NorthwindSample.counted.reduce(Self.northwind) { $0.derived("northwind", in: $1, upTo: $1 == "Employees" ? 6 : 20_000) }
        try await Self.sync(
            keys, NorthwindSample.schema, NorthwindSample.rows, NorthwindSample.tables,
            additions: [
                "INSERT INTO Employees (LastName, ReportsTo) VALUES ('First', 2)", "INSERT INTO Employees (LastName, ReportsTo) VALUES ('Second', 6)",
            ],
            NorthwindSample.meanings)
    }
}
