import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Stores that take over the pages of a baseline.
struct BaselineDraftTests {
    private static let tables = """
        CREATE TABLE place (name TEXT NOT NULL COLLATE NOCASE, id TEXT NOT NULL PRIMARY KEY, area REAL, code INTEGER UNIQUE);
        CREATE INDEX place_name ON place (name DESC, area);
        CREATE INDEX place_large ON place (area) WHERE area > 10;
        CREATE INDEX place_initial ON place (substr(name, 1, 1));
        CREATE TABLE tag (place TEXT NOT NULL, word TEXT NOT NULL, weight, PRIMARY KEY (place, word)) WITHOUT ROWID;
        CREATE INDEX tag_word ON tag (word);
        CREATE TABLE tally (number INTEGER PRIMARY KEY AUTOINCREMENT, note BLOB, sum NUMERIC DEFAULT 7 CHECK (sum > 0));
        CREATE TABLE draft (text TEXT);
        CREATE VIEW large AS SELECT name FROM place WHERE area > 10;
        PRAGMA user_version = 31;
        """

    private static let schema = SyncedSchema(migrator: migrator(tables)) {
        SyncedTable("place", unique: [["code"]])
        SyncedTable("tag")
        SyncedTable("tally", assignsIntegerKeys: true)
    }

    private func fill(_ store: UbiquitousStore) async throws {
        for number in 0..<40 {
            try await store.execute(
                """
                INSERT INTO place VALUES ('Place \(number)', hex(randomblob(8)), \(number) * 0.5, \(number));
                INSERT INTO tag SELECT id, 'word' || \(number), \(number % 2 == 0 ? "'even'" : "1.5") FROM place WHERE code = \(number);
                INSERT INTO tally (note) VALUES (x'0\(number % 10)')
                """)
        }
        try await store.execute(
            "DELETE FROM place WHERE code = 3; UPDATE place SET name = 'Other' WHERE code = 4; DELETE FROM tag WHERE word = 'word9'")
    }

    private let rows = [
        "SELECT quote(id), quote(name), quote(area), quote(code) FROM place ORDER BY id",
        "SELECT place, word, quote(weight) FROM tag ORDER BY place, word", "SELECT number, quote(note), quote(sum) FROM tally ORDER BY number",
    ]

    private func content(_ store: UbiquitousStore) async throws -> [[[String]]] {
        var content: [[[String]]] = []
        for sql in rows { content.append(try await store.rows(sql)) }
        return content
    }

    /// What a file holds besides rows: its schema, and the numbers in its header.
    private func frame(_ store: UbiquitousStore) async throws -> [String] {
        try await store.read { db in
            let entries = try Row.fetchAll(db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_master").map { "\($0)" }.sorted()
            return entries + (try ["user_version", "application_id"].map { "\($0) \(try Int.fetchOne(db, sql: "PRAGMA \($0)")!)" })
        }
    }

    private func check(_ store: UbiquitousStore) async throws {
        #expect(try await store.read { db in try String.fetchAll(db, sql: "PRAGMA integrity_check") } == ["ok"])
        for shape in store.current.file.shapes where shape.hasRowid {
            let sql = "SELECT count(*) FROM \(shape.name) t FULL JOIN \(shape.clockTable) c ON c.rid = t.rowid WHERE t.rowid IS NULL OR c.rid IS NULL"
            #expect(try await store.read { db in try Int.fetchOne(db, sql: sql) } == 0)
        }
    }

    @Test("a store without records takes the pages of a baseline, inserts no row, and keeps its schema and its own tables")
    func firstImport() async throws {
        try await withDevices(2) { devices, _ in
            let first = try await devices[0].open(Self.schema)
            try await fill(first)
            try await first.rollBaseline()
            let second = try await devices[1].open(Self.schema)
            try await second.current.pool.write { db in try db.execute(sql: "INSERT INTO draft VALUES ('one'), ('two')") }
            let frame = try await frame(second)
            let inserted = try await second.current.pool.writeWithoutTransaction { db in db.totalChangesCount }
            try await second.settled()
            #expect(try await content(second) == content(first))
            #expect(try await self.frame(second) == frame)
            #expect(try await second.rows("SELECT text FROM draft") == [["one"], ["two"]])
            // The state and the receipt of an exchange take a few.
            #expect(try await second.current.pool.writeWithoutTransaction { db in db.totalChangesCount } - inserted < 20)
            try await check(second)
            #expect(try await second.status().knowledge == first.status().knowledge)
            // The triggers note what comes after, on both sides, and AUTOINCREMENT goes on.
            try await second.execute(
                "UPDATE place SET area = 99 WHERE code = 5; INSERT INTO tally (note) VALUES (x'ff'); DELETE FROM place WHERE code = 6")
            try await first.execute("UPDATE place SET name = 'First' WHERE code = 5")
            try await settle(first, second)
            #expect(try await content(second) == content(first))
            #expect(try await first.rows("SELECT name, area FROM place WHERE code = 5") == [["First", "99.0"]])
            #expect(try await first.rows("SELECT max(number) FROM tally") == [["41"]])
        }
    }

    @Test("a rebuild takes the pages of the largest baseline and the logs after it, and keeps conflicts, facts and own tables")
    func rebuild() async throws {
        try await withDevices(2) { devices, _ in
            let (first, second) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema))
            try await second.execute("INSERT INTO place VALUES ('Same', 'b', 1, 1000)")
            try await fill(first)
            try await first.execute("INSERT INTO place VALUES ('Same', 'a', 2, 1000)")
            try await settle(first, second)
            try await first.execute("UPDATE place SET name = 'One' WHERE code = 7")
            try await second.execute("UPDATE place SET name = 'Two' WHERE code = 7; INSERT INTO draft VALUES ('mine')")
            try await settle(first, second)
            try await first.rollBaseline()
            try await first.execute("UPDATE place SET area = -1 WHERE code = 8")
            try await settle(first, second)
            let (before, conflicts, frame) = (try await content(second), try await second.conflicts(), try await frame(second))
            let pairs = "SELECT a0, la, b0, lb, since FROM ubiquity_same_1 ORDER BY 1, 3"
            let facts = try await second.rows(pairs)
            let inserted = try await second.current.pool.writeWithoutTransaction { db in db.totalChangesCount }
            try await second.rebuildFromUbiquitousContent()
            #expect(try await second.current.pool.writeWithoutTransaction { db in db.totalChangesCount } - inserted < 40)
            #expect(try await content(second) == before)
            #expect(try await self.frame(second) == frame)
            #expect(try await second.conflicts() == conflicts && !(conflicts.isEmpty && facts.isEmpty))
            #expect(try await second.rows(pairs) == facts)
            #expect(try await second.rows("SELECT text FROM draft") == [["mine"]])
            try await check(second)
            try await second.execute("UPDATE place SET area = 3 WHERE code = 10")
            try await settle(first, second)
            #expect(try await content(second) == content(first))
        }
    }

    @Test("a reader sees the former rows until the pages are replaced, and an observation sees the new ones")
    func observers() async throws {
        try await withDevices(2) { devices, _ in
            let first = try await devices[0].open(Self.schema)
            try await fill(first)
            try await first.rollBaseline()
            let second = try await devices[1].open(Self.schema)
            let other = try DatabaseQueue(path: second.file.string)
            let before = try await other.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM place") }
            let counts = ValueObservation.tracking { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM place")! }
            async let seen: [Int] = {
                var seen: [Int] = []
                for try await count in counts.values(in: second.current.pool) {
                    seen.append(count)
                    if count == 39 { break }
                }
                return seen
            }()
            try await second.settled()
            #expect(before == 0)
            #expect(try await other.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM place") } == 39)
            #expect(try await seen.last == 39)
        }
    }

    private static let id = "id TEXT NOT NULL PRIMARY KEY"
    private static let differing = [
        // Another index, another order of columns, a column that does not sync, and a rule of SQLite for types.
        tables.replacing("place_name ON place (name DESC, area)", with: "place_name ON place (name, area)"),
        tables.replacing("name TEXT NOT NULL COLLATE NOCASE, id TEXT NOT NULL PRIMARY KEY,", with: "\(id), name TEXT NOT NULL COLLATE NOCASE,"),
        tables.replacing("sum NUMERIC DEFAULT 7 CHECK (sum > 0));", with: "sum ANY DEFAULT 7) STRICT;"),
        // A trigger has to see each row.
        tables + "CREATE TRIGGER counted AFTER INSERT ON place BEGIN INSERT INTO draft VALUES (NEW.name); END;",
        tables + "CREATE VIRTUAL TABLE words USING fts5 (text);",
    ]

    @Test("a store whose tables have another form joins the records one by one, with the same result", arguments: differing)
    func anotherForm(sql: String) async throws {
        try await withDevices(2) { devices, _ in
            let first = try await devices[0].open(Self.schema)
            try await fill(first)
            try await first.rollBaseline()
            let other = SyncedSchema(migrator: migrator(sql)) {
                SyncedTable("place", unique: [["code"]])
                SyncedTable("tag")
                SyncedTable("tally", assignsIntegerKeys: true)
            }
            let second = try await devices[1].open(other)
            try await second.settled()
            #expect(try await content(second) == content(first))
            try await check(second)
        }
    }

    @Test("a table with defaults, which SQLite does not copy as it is stored, keeps its rows and their stamps together, whatever gaps it has")
    func defaults() async throws {
        let schema = SyncedSchema(
            migrator: migrator("CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT DEFAULT 'none', stars INTEGER DEFAULT 3)")
        ) { SyncedTable("note") }
        try await withDevices(2) { devices, root in
            let first = try await devices[0].open(schema)
            for number in 0..<6 { try await first.execute("INSERT INTO note (id) VALUES ('\(number)')") }
            // In a save of its own, so that the rows had their numbers before.
            try await first.execute("DELETE FROM note WHERE id IN ('0', '3'); UPDATE note SET stars = 5 WHERE id = '4'")
            #expect(try await first.rollBaseline() == 1)
            let directory = root.appending("alice/org.example.test/CoreData/People")
            let names = FileManager.default.enumerator(atPath: directory.string)?.compactMap { $0 as? String } ?? []
            #expect(names.contains { $0.hasSuffix(".ubbaseline") } && !names.contains { $0.hasSuffix(".ublog") }, "\(names)")
            let second = try await devices[1].open(schema)
            try await second.settled()
            let all = "SELECT id, title, stars FROM note ORDER BY id"
            #expect(try await second.rows(all) == first.rows(all))
            #expect(try await second.rows(all).count == 4)
            #expect(try await second.status().quarantined.isEmpty)
            try await check(second)
            let stamps = "SELECT id, life, time, c.columns, quote(others) FROM note t JOIN ubiquity_clock_1 c ON rid = t.rowid ORDER BY id"
            #expect(try await second.rows(stamps) == first.rows(stamps))
        }
    }

    @Test("a table that a baseline cannot hold in its own form is written plainly, and read the same")
    func plainForm() async throws {
        let sql = """
            CREATE TABLE kept (id TEXT NOT NULL PRIMARY KEY, value ANY, local TEXT DEFAULT 'here') STRICT;
            CREATE TABLE made (id TEXT NOT NULL PRIMARY KEY, name TEXT, upper TEXT GENERATED ALWAYS AS (upper(name)))
            """
        let schema = SyncedSchema(migrator: migrator(sql)) {
            SyncedTable("kept", excluding: ["local"])
            SyncedTable("made", excluding: ["upper"])
        }
        try await withDevices(2) { devices, root in
            let first = try await devices[0].open(schema)
            try await first.execute(
                "INSERT INTO kept (id, value) VALUES ('a', 1), ('b', 1.0), ('c', 'x'); INSERT INTO made (id, name) VALUES ('m', 'name')")
            try await first.rollBaseline()
            let second = try await devices[1].open(schema)
            try await second.settled()
            #expect(
                try await second.rows("SELECT id, quote(value), local FROM kept ORDER BY id") == [
                    ["a", "1", "here"], ["b", "1.0", "here"], ["c", "'x'", "here"],
                ])
            #expect(try await second.rows("SELECT id, upper FROM made") == [["m", "NAME"]])
        }
    }

    @Test("a form is read from exactly its own statements")
    func statements() throws {
        let form = RecordForm(
            columns: [.init("v0", .text, isNotNull: true, .noCase), .init("k0", .text, isNotNull: true), .init("v1", .integer)],
            constraints: [.init(isKey: true, [.init("k0")]), .init(isKey: false, [.init("v1"), .init("v0", .noCase, isDescending: true)])],
            indexes: [.init(isUnique: true, [.init("v0", .rightTrim)])], hasRowid: true)
        let found = form.statements(2)
        #expect(
            found == [
                "CREATE TABLE record_2 (v0 TEXT NOT NULL COLLATE NOCASE, k0 TEXT NOT NULL, v1 INT, PRIMARY KEY (k0 COLLATE BINARY), UNIQUE (v1 COLLATE BINARY, v0 COLLATE NOCASE DESC))",
                "CREATE UNIQUE INDEX record_2_0 ON record_2 (v0 COLLATE RTRIM)",
            ])
        #expect(RecordForm(among: found, 2, keys: 1, values: 2) == form)
        for (keys, values) in [(2, 1), (1, 1), (1, 3), (0, 3)] { #expect(RecordForm(among: found, 2, keys: keys, values: values) == nil) }
        for (part, other) in [
            ("v1 INT", "v1 INT CHECK (v1 > 0)"), ("v1 INT", "v1 INT DEFAULT 1"), ("v1 INT", "v1 INTEGER"),
            ("k0 TEXT NOT NULL", "k0 TEXT NOT NULL, k0"),
            ("PRIMARY KEY (k0 COLLATE BINARY)", "PRIMARY KEY (k1 COLLATE BINARY)"), ("COLLATE NOCASE,", "COLLATE OTHER,"), ("v1 INT", "v1  INT"),
            ("v1 INT,", "v1 INT GENERATED ALWAYS AS (1),"),
        ] {
            #expect(RecordForm(among: [found[0].replacing(part, with: other), found[1]], 2, keys: 1, values: 2) == nil, "\(other)")
        }
        #expect(RecordForm(among: [found[0], found[1] + " WHERE v0 > 1"], 2, keys: 1, values: 2) == nil)
    }
}
