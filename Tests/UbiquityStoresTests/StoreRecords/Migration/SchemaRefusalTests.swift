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

/// Changes of a schema that a store with content cannot carry: each is refused by name, before a byte of the store changes.
struct SchemaRefusalTests {
    private static let first = """
        CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT COLLATE NOCASE, b INTEGER DEFAULT 1, c);
        CREATE TABLE w (x TEXT NOT NULL, y TEXT NOT NULL, z TEXT, PRIMARY KEY (x, y)) WITHOUT ROWID;
        """

    private static let anew = "INSERT INTO n SELECT id, a, b, c FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t"

    static let refusals: [(sql: String, parts: [String])] = [
        ("UPDATE t SET a = upper(a)", ["“a” of “t” in 2 rows", "ordinary save"]),
        ("UPDATE t SET c = 1.0 WHERE c = 1", ["“c” of “t” in 1 row:", "ordinary save"]),
        ("ALTER TABLE t ADD COLUMN d; UPDATE t SET d = 1, b = 3", ["“b” of “t” in 2 rows", "only columns that it makes"]),
        ("INSERT INTO t (id) VALUES ('new')", ["adds 1 row of “t”", "ordinary save"]),
        ("DELETE FROM t WHERE id = 'p'", ["removes 1 row of “t”", "ordinary save"]),
        ("UPDATE w SET y = 'other'", ["removes 1 row of “w”", "adds 1 row of “w”"]),
        (
            "CREATE TABLE n (id TEXT NOT NULL PRIMARY KEY, a TEXT, b INTEGER NOT NULL DEFAULT 1, c); \(anew)",
            ["“b” of “t” has become NOT NULL", "make a new column"]
        ),
        ("CREATE TABLE n (id TEXT NOT NULL PRIMARY KEY, a TEXT, b INTEGER DEFAULT 2, c); \(anew)", ["default of “b” of “t” has changed"]),
        ("CREATE TABLE n (id TEXT NOT NULL PRIMARY KEY, a BLOB, b INTEGER DEFAULT 1, c); \(anew)", ["“a” of “t” was of type TEXT and is BLOB"]),
        ("CREATE TABLE n (id TEXT NOT NULL, a TEXT, b INTEGER DEFAULT 1, c, PRIMARY KEY (id)) WITHOUT ROWID; \(anew)", ["with or without rowid"]),
        (
            "CREATE TABLE n (id TEXT NOT NULL, a TEXT, b INTEGER NOT NULL DEFAULT 1, c, PRIMARY KEY (id, b)); \(anew)",
            ["primary key of “t” was (id) and is (id, b)", "ordinary saves"]
        ),
        (
            "CREATE TABLE n (id TEXT NOT NULL PRIMARY KEY, a TEXT, b INTEGER DEFAULT 1, c, d TEXT NOT NULL); INSERT INTO n SELECT *, 'x' FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t",
            ["new column “d” of “t” is NOT NULL without a DEFAULT"]
        ),
        (
            "CREATE TABLE n (id TEXT NOT NULL PRIMARY KEY, a TEXT, b INTEGER DEFAULT 1, c, d TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP); INSERT INTO n (id, a, b, c) SELECT * FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t",
            ["default CURRENT_TIMESTAMP", "constant"]
        ),
        ("ALTER TABLE t ADD COLUMN d; INSERT INTO nowhere VALUES (1)", []),
    ]

    @Test(
        "F-14: a migration that changes what other devices could not follow is refused with table, column and remedy, before a byte of the store changes",
        arguments: refusals)
    func refused(sql: String, parts: [String]) async throws {
        try await withDevices(1) { devices, _ in
            let schema = SyncedSchema(migrator: migrator(Self.first)) {
                SyncedTable("t")
                SyncedTable("w")
            }
            var store = try await devices[0].open(schema)
            try await store.execute("INSERT INTO t VALUES ('p', 'one', 1, 1), ('q', 'two', 1, 2); INSERT INTO w VALUES ('x', 'y', 'z')")
            try await store.settled()
            try await store.close()
            let before = try bytes(of: store.file, afterCheckpoint: true)
            let newer = twoVersions(Self.first, sql) {
                SyncedTable("t")
                SyncedTable("w")
            }
            do {
                _ = try await devices[0].open(newer)
                Issue.record("it was carried")
            } catch let error as UbiquitousStoreError {
                #expect(error.code == .invalidSchema || parts.isEmpty)
                for part in parts { #expect(error.message.contains(part), "\(error.message)") }
            }
            #expect(try bytes(of: store.file) == before)
            store = try await devices[0].open(schema)
            try await store.execute("UPDATE t SET a = 'three'")
            #expect(try await store.sealedLogs().count == 1)
        }
    }

    @Test("a store that has been through migrations which this app does not have is refused by their names, and stays as it is")
    func downgrade() async throws {
        try await withDevices(1) { devices, _ in
            var store = try await devices[0].open(version: 3)
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            try await store.close()
            let before = try bytes(of: store.file, afterCheckpoint: true)
            let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await devices[0].open(version: 1) }
            #expect(error?.code == .newerSchema && error?.message.contains("(v2, v3)") == true)
            #expect(try bytes(of: store.file) == before)
            store = try await devices[0].open(version: 3)
            #expect(try await store.rows("SELECT id FROM person") == [["a"]])
        }
    }

    @Test("while another program has the store open it is not migrated, and nothing that the other writes is lost")
    func inUse() async throws {
        try await withDevices(2) { devices, _ in
            var store = try await devices[0].open(version: 1)
            try await store.execute("INSERT INTO people (id) VALUES ('a')")
            let migration = SchemaMigration(path: store.file, schema: AddressBook.schema(2), patience: .zero)
            let error = #expect(throws: UbiquitousStoreError.self) { try migration.run() }
            #expect(error?.code == .timedOut && error?.path == store.file)
            try await store.execute("INSERT INTO people (id) VALUES ('b')")
            store = try await devices[0].upgrade(store, to: 2)
            #expect(try await store.rows("SELECT id FROM person ORDER BY id") == [["a"], ["b"]])
        }
    }

    @Test("a declaration that drops a column or a table needs a migration with it, an empty one will do; then old logs are read without them")
    func declarations() async throws {
        let first = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, b, c); CREATE TABLE u (id TEXT NOT NULL PRIMARY KEY)"
        try await withDevices(2) { devices, _ in
            let schema = SyncedSchema(migrator: migrator(first)) {
                SyncedTable("t")
                SyncedTable("u")
            }
            var (left, right) = try await (devices[0].open(schema), devices[1].open(schema))
            try await left.execute("INSERT INTO t VALUES ('p', 1, 2, 3); INSERT INTO u VALUES ('x')")
            try await left.close()
            let error = await #expect(throws: UbiquitousStoreError.self) {
                _ = try await devices[0].open(SyncedSchema(migrator: migrator(first)) { SyncedTable("t", excluding: ["b"]) })
            }
            for part in ["“u” is no longer declared", "(b) of “t” no longer sync", "register a migration"] {
                #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
            }
            left = try await devices[0].open(twoVersions(first, "") { SyncedTable("t", excluding: ["b"]) })
            #expect(try await left.rows("SELECT b FROM t") == [["2"]])
            #expect(try await left.rows("SELECT id FROM u") == [["x"]], "its rows are this device's own now")
            try await right.execute("INSERT INTO t VALUES ('q', 4, 5, 6); INSERT INTO u VALUES ('y'); INSERT INTO t (id, b) VALUES ('r', 7)")
            try await left.execute("UPDATE t SET c = 9, b = 8; INSERT INTO u VALUES ('z')")
            try await settle(left, right)
            for store in [left, right] { try await store.settled() }
            #expect(
                try await left.rows("SELECT id, quote(a), quote(b), quote(c) FROM t ORDER BY id") == [
                    ["p", "1", "8", "9"], ["q", "4", "NULL", "6"], ["r", "NULL", "NULL", "NULL"],
                ])
            #expect(try await left.rows("SELECT id FROM u ORDER BY id") == [["x"], ["z"]])
            #expect(try await right.rows("SELECT id, quote(c) FROM t ORDER BY id") == [["p", "9"], ["q", "6"], ["r", "NULL"]])
            #expect(
                try await left.read { db in try String.fetchAll(db, sql: "SELECT name FROM ubiquity_table WHERE name NOT LIKE 'ubiquity%'") } == ["t"]
            )
            #expect(try await left.read { db in try db.tableExists("ubiquity_clock_2") } == false)
        }
    }

    @Test("a former name that is in use, or stands for two, is a violation of the schema")
    func names() async throws {
        let sql = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, b); CREATE TABLE u (id TEXT NOT NULL PRIMARY KEY)"
        try await withDevices(1) { devices, _ in
            let error = await #expect(throws: UbiquitousStoreError.self) {
                _ = try await devices[0].open(
                    SyncedSchema(migrator: migrator(sql)) {
                        SyncedTable("t", formerly: ["u", "v"], formerColumns: ["a": ["b", "c"], "id": ["c"], "gone": ["d"]])
                        SyncedTable("u", formerly: ["v"])
                    })
            }
            for part in [
                "Column “b” of “t” is there", "“c” is declared as a former name of two columns", "Column “gone” of “t” has former names",
                "Table “u” is declared, and as a former name of “t”", "“v” is declared as a former name of two tables",
            ] { #expect(error?.message.contains(part) == true, "\(error?.message ?? "")") }
        }
    }

    @Test("conflicts can be restored under the names that an upgrade gave to their columns and tables")
    func lists() async throws {
        try await withDevices(2) { devices, _ in
            var (left, right) = try await (devices[0].open(version: 1), devices[1].open(version: 1))
            try await left.execute("INSERT INTO people (id) VALUES ('a')")
            try await settle(left, right)
            try await left.execute("UPDATE people SET mail = 'lost'")
            devices[1].clock.advance(by: 10)
            try await right.execute("UPDATE people SET mail = 'won'")
            try await settle(left, right, left)
            let conflicts = try await left.conflicts()
            try #require(conflicts.count == 1)
            left = try await devices[0].upgrade(left, to: 3)
            try await left.settled()
            let conflict = try #require(try await left.conflicts().first)
            #expect(conflict.record.table == "person" && conflict.lost.map(\.column) == ["address"])
            try await left.restore(conflict)
            #expect(try await left.rows("SELECT address FROM person") == [["lost"]])

        }
    }

    @Test("the receipt lists the migration after an upgrade, though nothing else is new")
    func receipt() async throws {
        let first = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT)"
        try await withDevices(1) { devices, _ in
            var store = try await devices[0].open(SyncedSchema(migrator: migrator(first)) { SyncedTable("t") })
            try await store.execute("INSERT INTO t VALUES ('p', 'x')")
            try await store.settled()
            store = try await devices[0].upgrade(store, by: "ALTER TABLE t ADD COLUMN b", first) { SyncedTable("t") }
            try await store.settled()
            let directory = try await devices[0].container().path.appending("CoreData/People/\(store.status().peer)/1/receipts")
            let newest = try #require(FileManager.default.contentsOfDirectory(atPath: directory.string).compactMap(Receipt.number(ofFile:)).max())
            let receipt = try #require(Receipt(decoding: [UInt8](Data(contentsOf: URL(filePath: directory.appending("\(newest)").string)))))
            #expect(receipt.migrations == ["v1", "v2"])
        }
    }
}
