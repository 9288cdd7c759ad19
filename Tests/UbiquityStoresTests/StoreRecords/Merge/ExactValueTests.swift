import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Values that SQL takes for equal, and that are not: each device has them bit by bit as they were written.
struct ExactValueTests {
    private static let types = ["plain": "", "real": "REAL", "number": "NUMERIC", "whole": "INTEGER", "words": "TEXT", "bytes": "BLOB"]
    private static let columns = types.keys.sorted()

    private static let schema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, \(columns.map { "\($0) \(types[$0]!)" }.joined(separator: ", ")));
            CREATE TABLE k (a BLOB NOT NULL PRIMARY KEY, n);
            CREATE TABLE p (a BLOB NOT NULL, b TEXT NOT NULL, n, PRIMARY KEY (a, b)) WITHOUT ROWID;
            CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, k REFERENCES k (a));
            CREATE TABLE best (id TEXT NOT NULL PRIMARY KEY, high, low, first);
            """)
    ) {
        SyncedTable("t")
        SyncedTable("k")
        SyncedTable("p")
        SyncedTable("child")
        SyncedTable("best", columns: ["high": .maximum, "low": .minimum, "first": .firstWriter])
    }

    private static let values: [RecordValue] = [
        .null, .integer(0), real(0.0), real(-0.0), .integer(1), real(1), real(.infinity), real(-.infinity), real(.nan), .text(""), .text("a"),
        .text([0x61, 0]), .text([0x61, 0, 0x62]), .text("A"), .text([0xFF]), .text([0xFE]), .blob([]), .blob([0x61]), .blob([0x61, 0]),
    ]

    private static func real(_ value: Double) -> RecordValue { .real(value.bitPattern) }

    private func run(_ sql: String, _ values: [RecordValue], _ db: Database) throws {
        let statement = try RawStatement(sql, db)
        for (index, value) in values.enumerated() { statement.bind(index + 1, value) }
        try statement.run()
    }

    private func rows(_ store: UbiquitousStore, _ sql: String) async throws -> [[RecordValue]] {
        try await store.read { db in
            let statement = try RawStatement(sql, db)
            defer { statement.reset() }
            var rows: [[RecordValue]] = []
            while try statement.step() { rows.append((0..<statement.columnCount).map { statement.value($0).detached }) }
            return rows
        }
    }

    private func withStores(_ body: (UbiquitousStore, UbiquitousStore) async throws -> Void) async throws {
        try await withDevices(2) { devices, _ in
            devices[1].clock.advance(by: 10)
            let (left, right) = try await (devices[0].open(Self.schema), devices[1].open(Self.schema))
            try await body(left, right)
            try await left.close()
            try await right.close()
        }
    }

    @Test(
        "any value that takes the place of any other arrives bit by bit, in a column of any type: -0.0 after 0.0, 1 after 1.0, text that is not UTF-8"
    )
    func everyPair() async throws {
        let names = Self.columns.joined(separator: ", ")
        let query = "SELECT id, \(names) FROM t ORDER BY id"
        try await withStores { left, right in
            @Sendable func each(_ body: (String, RecordValue, RecordValue) throws -> Void) rethrows {
                for (i, old) in Self.values.enumerated() {
                    for (j, new) in Self.values.enumerated() where i != j { try body("\(i)-\(j)", old, new) }
                }
            }
            try await left.write { db in
                try each { key, old, _ in
                    let places = Self.columns.map { _ in "?" }.joined(separator: ", ")
                    try run("INSERT INTO t (id, \(names)) VALUES (?, \(places))", [.text(key)] + Self.columns.map { _ in old }, db)
                }
            }
            try await settle(left, right)
            #expect(try await rows(right, query) == rows(left, query))
            try await left.write { db in
                try each { key, _, new in
                    let sets = Self.columns.map { "\($0) = ?" }.joined(separator: ", ")
                    try run("UPDATE t SET \(sets) WHERE id = ?", Self.columns.map { _ in new } + [.text(key)], db)
                }
            }
            let written = try await rows(left, query)
            try await settle(left, right)
            #expect(try await rows(left, query) == written)
            #expect(try await rows(right, query) == written)
            #expect(written.joined().contains(Self.real(-0.0)), "a column without a type holds it")
        }
    }

    @Test("The sign of a zero is a change of its own, and none where it is as it was")
    func signOfZero() async throws {
        try await withStores { left, right in
            func write(_ sql: String, _ values: RecordValue...) async throws { try await left.write { db in try run(sql, values, db) } }
            func changes() async throws -> [String] { try await left.sealedLogs().flatMap { try $0.changes } }
            try await write("INSERT INTO t (id, plain, real) VALUES ('a', ?, ?)", Self.real(0), Self.real(0))
            try await settle(left, right)
            try await write("UPDATE t SET words = 'w'")
            try await write("UPDATE t SET plain = ?", Self.real(0))
            try await write("UPDATE t SET real = ?", Self.real(-0.0))
            #expect(try await changes() == ["t/a 1 words=w"], "a column of type REAL holds no sign of zero")
            try await settle(left, right)
            try await write("UPDATE t SET plain = ?", Self.real(-0.0))
            #expect(try await changes() == ["t/a 1 plain=-0.0"])
            try await left.write { db in
                try run("UPDATE t SET plain = ?", [Self.real(0)], db)
                try run("UPDATE t SET plain = ?", [Self.real(-0.0)], db)
            }
            #expect(try await changes() == ["t/a 1 plain=-0.0"])
            try await settle(left, right)
            #expect(try await rows(right, "SELECT plain FROM t") == [[Self.real(-0.0)]])
        }
    }

    @Test("A policy orders -0.0 below 0.0, in a local write too")
    func policies() async throws {
        let query = "SELECT high, low, first FROM best"
        try await withStores { left, right in
            func write(_ value: Double) async throws {
                try await left.write { db in try run("UPDATE best SET high = ?1, low = ?1, first = ?1", [Self.real(value)], db) }
            }
            try await left.write { db in try run("INSERT INTO best VALUES ('a', ?1, ?1, ?1)", [Self.real(0)], db) }
            try await left.publish()
            try await write(-0.0)
            #expect(try await rows(left, query) == [[0, -0.0, 0].map(Self.real)])
            try await settle(left, right)
            try await write(0)
            #expect(try await rows(left, query) == [[0, -0.0, 0].map(Self.real)])
            #expect(try await left.sealedLogs().isEmpty)
            try await settle(left, right)
            #expect(try await rows(right, query) == rows(left, query))
        }
    }

    @Test("Two zeros of one stamp, one of them in a baseline, come to the same on both devices")
    func baseline() async throws {
        let sql = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, plain)"
        try await withDevices(2) { devices, _ in
            // What was there before it synced has the least stamp.
            let files = try zip(devices, [0.0, -0.0]).map { device, value in
                let file = device.directory.appending("Plain.sqlite")
                let queue = try DatabaseQueue(path: file.string)
                try migrator(sql).migrate(queue)
                try queue.write { db in try run("INSERT INTO t VALUES ('a', ?)", [Self.real(value)], db) }
                try queue.close()
                return file
            }
            let schema = SyncedSchema(migrator: migrator(sql)) { SyncedTable("t") }
            let left = try await devices[0].open(schema, existing: files[0])
            try await left.settled()
            #expect(try await left.rollBaseline() != nil)
            let right = try await devices[1].open(schema, existing: files[1])
            #expect(try await rows(right, "SELECT plain FROM t") == [[Self.real(-0.0)]])
            try await settle(right, left, right)
            for store in [left, right] { #expect(try await rows(store, "SELECT plain FROM t") == [[Self.real(0)]]) }
        }
    }

    @Test("A migration that changes the sign of a zero is refused, as one that changes any value is")
    func migration() async throws {
        let first = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, n)"
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(SyncedSchema(migrator: migrator(first)) { SyncedTable("t") })
            try await store.write { db in try run("INSERT INTO t VALUES ('a', ?)", [Self.real(-0.0)], db) }
            let error = await #expect(throws: UbiquitousStoreError.self) {
                _ = try await devices[0].upgrade(store, by: "UPDATE t SET n = 0.0", first) { SyncedTable("t") }
            }
            #expect(error?.message.contains("changes “n” of “t” in 1 row") == true, "\(String(describing: error))")
        }
    }

    @Test(
        "Keys hold text with NULs and text that is not UTF-8; a whole number as a real, which SQL takes for the integer, is refused where it is written"
    )
    func keys() async throws {
        let keys: [RecordValue] = [
            .integer(0), .integer(1), Self.real(0.5), Self.real(.infinity), Self.real(-.infinity), .text(""), .text([0]), .text([0, 0]), .text("a"),
            .text([0x61, 0]), .text([0xFF]), .blob([]), .blob([0]), .blob([0x61]),
        ]
        try await withStores { left, right in
            try await left.write { db in
                for key in keys {
                    try run("INSERT INTO k VALUES (?, 1)", [key], db)
                    try run("INSERT INTO p VALUES (?1, CAST(?1 AS TEXT), 1)", [key], db)
                }
            }
            try await settle(left, right)
            try await right.write { db in
                for key in keys {
                    try run("UPDATE k SET n = 2 WHERE a = ?", [key], db)
                    try run("UPDATE p SET n = 2 WHERE a = ?", [key], db)
                }
                try run("DELETE FROM k WHERE a = ?", [.text([0x61, 0])], db)
            }
            try await settle(left, right)
            let query = "SELECT a, n FROM k ORDER BY a"
            #expect(try await rows(left, query).map(\.[0]) == keys.filter { $0 != .text([0x61, 0]) }.sorted { $0.compare($1) == .less })
            for sql in [query, "SELECT * FROM p ORDER BY a, b"] { #expect(try await rows(left, sql) == rows(right, sql)) }
            try await left.execute("INSERT INTO child VALUES ('a', 1)")
            for (sql, value) in [
                ("INSERT INTO k VALUES (?, 1)", 7.0), ("UPDATE k SET a = ? WHERE a = 0.5", 9), ("INSERT INTO p VALUES (?, '', 1)", 7),
                ("INSERT INTO child VALUES ('b', ?)", 1), ("UPDATE child SET k = ?", 1),
            ] {
                let error = await #expect(throws: DatabaseError.self) {
                    try await left.write { db in try run(sql, [Self.real(value)], db) }
                }
                #expect(error?.message?.contains("must be an integer") == true)
            }
        }
    }

    @Test("An election that gives no number gives NULL, as SQLite takes it")
    func election() async throws {
        let schema = SyncedSchema(migrator: migrator("CREATE TABLE u (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE, n)")) {
            SyncedTable("u", unique: [["name"]], election: { _ in ["n": Double.nan] })
        }
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(schema), devices[1].open(schema))
            try await left.execute("INSERT INTO u VALUES ('a', 'x', 1)")
            try await right.execute("INSERT INTO u VALUES ('b', 'x', 2)")
            try await settle(left, right)
            for store in [left, right] {
                #expect(try await store.rows("SELECT id, quote(n) FROM u") == [["a", "NULL"]])
                #expect(try await store.status().quarantined.isEmpty)
            }
        }
    }
}
