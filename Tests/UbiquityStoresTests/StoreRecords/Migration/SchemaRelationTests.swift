import GRDB
import SystemPackage
import Testing
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Records that are one, or not shown, go to a newer version of the schema with the others.
struct SchemaRelationTests {
    private static let first = """
        CREATE TABLE album (id TEXT NOT NULL PRIMARY KEY, title TEXT);
        CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, fax TEXT, album TEXT NOT NULL REFERENCES album (id), code TEXT UNIQUE, title TEXT, seen TEXT);
        """
    private static let second = """
        ALTER TABLE song RENAME TO track;
        ALTER TABLE track DROP COLUMN fax;
        ALTER TABLE track RENAME COLUMN code TO number;
        ALTER TABLE track ADD COLUMN rank INTEGER NOT NULL DEFAULT 7;
        ALTER TABLE track ADD COLUMN note TEXT;
        UPDATE track SET note = 'on ' || title, rank = 1 WHERE title IS NOT NULL;
        CREATE INDEX track_album ON track (album);
        """

    private func schema(_ version: Int) -> SyncedSchema {
        if version == 1 {
            return SyncedSchema(migrator: migrator(Self.first)) {
                SyncedTable("album")
                SyncedTable("song", unique: [["code"]], excluding: ["seen"])
            }
        }
        return twoVersions(Self.first, Self.second) {
            SyncedTable("track", unique: [["number"]], excluding: ["seen"], formerly: ["song"], formerColumns: ["number": ["code"]])
            SyncedTable("album")
        }
    }

    private func content(_ store: UbiquitousStore) async throws -> [[String]] {
        try await store.rows("SELECT id, album, quote(number), quote(title), rank, quote(note) FROM track ORDER BY id")
            + store.rows("SELECT id, quote(title) FROM album ORDER BY id")
    }

    @Test("S-110: records that are one, and records that are held for a parent, come through an upgrade, and are shown alike on all devices")
    func asides() async throws {
        try await withDevices(4) { devices, _ in
            var (left, right) = try await (devices[0].open(schema(1)), devices[1].open(schema(1)))
            try await left.execute("INSERT INTO album VALUES ('a1', 'One'), ('a2', 'Two')")
            try await settle(left, right)
            try await left.execute("INSERT INTO song VALUES ('s2', 'f', 'a1', 'code', 'From left', 'l'), ('held', 'f', 'a2', NULL, 'Held', 'kept')")
            devices[1].clock.advance(by: 60)
            try await right.execute("DELETE FROM album WHERE id = 'a2'; INSERT INTO song VALUES ('s1', 'g', 'a1', 'code', 'From right', NULL)")
            try await settle(left, right, left)
            for store in [left, right] { #expect(try await store.rows("SELECT id, title FROM song") == [["s1", "From right"]]) }
            let early = try await devices[2].open(schema(2))
            try await settle(early, left)

            try await left.close()
            left = try await devices[0].open(schema(2))
            try await left.execute("UPDATE track SET number = 'changed'")
            try await settle(left, right, early)
            try await right.close()
            right = try await devices[1].open(schema(2))
            try await right.execute("INSERT INTO album VALUES ('a2', 'Again')")
            let late = try await devices[3].open(schema(2))
            for store in [right, left, early, late, right, left, early, late] { try await store.settled() }
            let rows = try await content(left)
            #expect(
                rows == [
                    ["held", "a2", "NULL", "'Held'", "7", "NULL"], ["s1", "a1", "'changed'", "'From right'", "1", "'on From right'"],
                    ["a1", "'One'"], ["a2", "'Again'"],
                ])
            for store in [right, early, late] {
                #expect(try await content(store) == rows)
                #expect(try await store.status().quarantined.isEmpty)
            }
            #expect(try await left.rows("SELECT seen FROM track WHERE id = 'held'") == [["kept"]], "what stays on the device stays")
        }
    }

    @Test("a uniqueness rule that is new makes records one that were alike before; a device that has not the rule yet waits with what it cannot keep")
    func newRule() async throws {
        let first = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT, b TEXT)"
        let ruleless = SyncedSchema(migrator: migrator(first)) { SyncedTable("t") }
        let ruled = twoVersions(first, "") { SyncedTable("t", unique: [["a"]]) }
        try await withDevices(2) { devices, _ in
            var (left, right) = try await (devices[0].open(ruleless), devices[1].open(ruleless))
            try await left.execute("INSERT INTO t VALUES ('p', 'same', '1'), ('q', 'same', '2'), ('r', 'other', '3')")
            try await settle(left, right)
            try await left.close()
            left = try await devices[0].open(ruled)
            try await settle(left, right)
            #expect(try await left.rows("SELECT id FROM t ORDER BY id") == [["p"], ["r"]])
            #expect(try await right.rows("SELECT id FROM t ORDER BY id") == [["p"], ["q"], ["r"]])
            #expect(try await right.status().waiting.map(\.logs) == [1])
            // They stay one, though they are alike no longer when the other gets the rule.
            try await right.execute("UPDATE t SET a = 'changed' WHERE id = 'q'")
            try await right.close()
            right = try await devices[1].open(ruled)
            try await settle(right, left)
            let rows = try await left.rows("SELECT id, a FROM t ORDER BY id")
            #expect(rows == [["p", "changed"], ["r", "other"]])
            #expect(try await right.rows("SELECT id, a FROM t ORDER BY id") == rows)
        }
    }

    @Test("S-091: where a rule is new, duplicates are found by one grouping statement, and made one in transactions of bounded size")
    func manyDuplicates() async throws {
        let first = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT COLLATE NOCASE, b)"
        let ruled = twoVersions(first, "") { SyncedTable("t", unique: [["a", "b"]]) }
        try await withDevices(2) { devices, _ in
            var store = try await devices[0].open(SyncedSchema(migrator: migrator(first)) { SyncedTable("t") })
            // Pairs that differ in case, one group of three, and NULLs, which are alike to nobody.
            try await store.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5999)
                INSERT INTO t SELECT printf('%05d', i), iif(i % 2, 'x', 'X') || (i / 2), i / 2 FROM n;
                INSERT INTO t VALUES ('third', 'x7', 7), ('null1', NULL, 1), ('null2', NULL, 1);
                """)
            try await store.settled()
            try await store.close()
            let meter = SQLiteMeter(below: StoreFile.supportDirectory(of: devices[0].directory.appending("x")))
            store = try await devices[0].open(ruled)
            try await store.publish()
            let runs = meter.runs
            #expect(runs.count { $0.sql.contains("GROUP BY") && $0.sql.contains("ubiquity_unresolved_1") } == 1)
            // How many records are taken up between one commit and the next: what is found out of them stays in memory until then.
            let steps = runs.compactMap { run -> Int? in
                if run.sql.hasPrefix("COMMIT") { return 0 }
                return run.sql.hasPrefix("SELECT * FROM ubiquity_unresolved_1") && run.rows > 0 ? run.rows : nil
            }
            let transactions = steps.split(separator: 0).map { $0.reduce(0, +) }
            #expect(transactions.count >= 2 && transactions.max() == 5_000 && transactions.reduce(0, +) >= 6_001, "\(transactions)")
            try await store.settled()
            #expect(try await store.rows("SELECT count(*) FROM t") == [["3002"]])
            #expect(try await store.rows("SELECT count(*) FROM ubiquity_unresolved_1") == [["0"]])
            let classes = try await store.duplicates()
            #expect(classes.count == 3000 && classes[7].members.map(\.record.text) == ["t/t:00014", "t/t:00015", "t/t:third"])
            let other = try await devices[1].open(ruled)
            try await settle(other, store)
            #expect(try await other.rows("SELECT count(*), min(id) FROM t") == [["3002", "00000"]])
        }
    }

    @Test("a schema that gives up its last rule while records are one by it is refused, and stays as it is")
    func lastRule() async throws {
        let first = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT)"
        func open(_ device: TestDevice, _ version: Int) async throws -> UbiquitousStore {
            if version == 1 { return try await device.open(SyncedSchema(migrator: migrator(first)) { SyncedTable("t", unique: [["a"]]) }) }
            return try await device.open(twoVersions(first, "ALTER TABLE t ADD COLUMN b") { SyncedTable("t") })
        }
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (open(devices[0], 1), open(devices[1], 1))
            try await left.execute("INSERT INTO t VALUES ('p', 'same')")
            try await right.execute("INSERT INTO t VALUES ('q', 'same')")
            try await settle(left, right)
            try await left.close()
            let before = try bytes(of: left.file, afterCheckpoint: true)
            let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await open(devices[0], 2) }
            #expect(error?.code == .invalidSchema && error?.message.contains("“t” have become one") == true)
            #expect(try bytes(of: left.file) == before)
        }
    }
}
