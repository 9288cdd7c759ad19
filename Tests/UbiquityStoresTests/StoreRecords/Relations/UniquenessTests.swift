import Foundation
import GRDB
import Synchronization
import Testing
import UbiquityStores
import UbiquityTesting
import Waiting

/// Records that a uniqueness rule makes one.
struct UniquenessTests {
    private static let sql = """
        CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, email TEXT UNIQUE, name TEXT, phone TEXT);
        CREATE TABLE letter (id TEXT NOT NULL PRIMARY KEY, person TEXT REFERENCES person (id) ON DELETE CASCADE, text TEXT);
        """
    private static let schema = SyncedSchema(migrator: migrator(sql)) {
        SyncedTable("person", unique: [["email"]])
        SyncedTable("letter")
    }
    private static let people = "SELECT id, quote(email), quote(name), quote(phone) FROM person ORDER BY id"
    private static let letters = "SELECT id, quote(person) FROM letter ORDER BY id"

    @Test("S-090: records made alike on two offline devices under different keys become one on every peer, with the latest of each column")
    func becomeOne() async throws {
        try await withDevices(3) { devices, _ in
            let (a, b, c) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema), try await devices[2].open(Self.schema))
            try await a.execute("INSERT INTO person VALUES ('p2', 'ann@x', 'Ann', NULL)")
            devices[1].clock.advance(by: 60)
            try await b.execute("INSERT INTO person VALUES ('p1', 'ann@x', 'Anna', '1')")
            try await b.execute("INSERT INTO letter VALUES ('l1', 'p1', 'hi')")
            try await a.execute("INSERT INTO letter VALUES ('l2', 'p2', 'ho')")
            devices[0].clock.advance(by: 120)
            try await a.execute("UPDATE person SET phone = '2'")
            try await settle(a, b, c)
            for store in [a, b, c] {
                #expect(try await store.rows(Self.people) == [["p1", "'ann@x'", "'Anna'", "'2'"]])
                #expect(try await store.rows(Self.letters) == [["l1", "'p1'"], ["l2", "'p1'"]])
            }
            // What is saved on the one row is there for all, whichever record it came from.
            try await a.execute("UPDATE person SET name = 'Ann B.'")
            try await settle(a, b, c)
            for store in [a, b, c] { #expect(try await store.rows(Self.people) == [["p1", "'ann@x'", "'Ann B.'", "'2'"]]) }
            // Deleting the row deletes both, and their letters once.
            try await c.execute("DELETE FROM person")
            try await settle(c, a, b)
            for store in [a, b, c] {
                #expect(try await store.rows(Self.people) == [])
                #expect(try await store.rows(Self.letters) == [])
                #expect(try await store.status().unpublished == 0)
            }
        }
    }

    @Test("records that were equal only before what is read next are not made one: a device that comes late finds what the others show")
    func equalByTheWay() async throws {
        try await withDevices(3) { devices, _ in
            let a = try await devices[0].open(Self.schema)
            try await a.execute("INSERT INTO person VALUES ('p2', 'x', NULL, NULL)")
            // Nobody else reads the log, which goes: what the baseline holds is changed by the next.
            try await a.rollBaseline()
            try await a.execute("UPDATE person SET email = 'y'")
            try await a.publish()
            let b = try await devices[1].open(Self.schema)
            try await b.execute("INSERT INTO person VALUES ('p1', 'x', NULL, NULL)")
            try await settle(b, a)
            let late = try await devices[2].open(Self.schema)
            try await settle(late, a, b)
            for store in [a, b, late] {
                #expect(try await store.rows("SELECT id, email FROM person ORDER BY id") == [["p1", "x"], ["p2", "y"]])
                #expect(try await store.duplicates().isEmpty)
                #expect(try await store.held().isEmpty)
            }
        }
    }

    @Test("a value that a policy puts back, and that another row of the same save has taken, makes the two one", arguments: [false, true])
    func putBack(isForeign: Bool) async throws {
        let schema = SyncedSchema(migrator: migrator("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, best TEXT UNIQUE, note TEXT) WITHOUT ROWID")) {
            SyncedTable("t", columns: ["best": .maximum], unique: [["best"]])
        }
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO t VALUES ('k1', 'x', 'old')")
            try await settle(a, b)
            let sql = "REPLACE INTO t VALUES ('k1', '1', 'new'); INSERT INTO t VALUES ('k2', 'x', NULL)"
            if isForeign { try sqlite3(a.file, "BEGIN; \(sql); COMMIT") } else { try await a.execute(sql) }
            try await settle(a, b)
            for store in [a, b] {
                #expect(try await store.rows("SELECT * FROM t") == [["k1", "x", "new"]])
            }
            try await b.execute("UPDATE t SET best = 'y'")
            try await settle(b, a)
            for store in [a, b] { #expect(try await store.rows("SELECT * FROM t") == [["k1", "y", "new"]]) }
            #expect(try await a.duplicates().count == 1)
        }
    }

    @Test("Two rows that swap a unique value on one device swap it on the others")
    func swap() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema))
            try await a.execute("INSERT INTO person VALUES ('p1', 'x', NULL, NULL), ('p2', 'y', NULL, NULL)")
            try await settle(a, b)
            try await a.execute(
                "UPDATE person SET email = NULL WHERE id = 'p1'; UPDATE person SET email = 'x' WHERE id = 'p2'; UPDATE person SET email = 'y' WHERE id = 'p1'"
            )
            try await settle(a, b)
            #expect(try await b.rows(Self.people) == [["p1", "'y'", "NULL", "NULL"], ["p2", "'x'", "NULL", "NULL"]])
            #expect(try await b.rows("SELECT count(*) FROM ubiquity_same_1") == [["0"]])
        }
    }

    @Test("S-093: uniquing on several devices at once leaves exactly one record, never none")
    func severalAtOnce() async throws {
        try await withDevices(3) { devices, _ in
            let (a, b, c) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema), try await devices[2].open(Self.schema))
            for (number, store) in [a, b, c].enumerated() {
                try await store.execute("INSERT INTO person VALUES ('p\(number)', 'x', 'n\(number)', NULL)")
            }
            for store in [a, b, c] { try await store.publish() }
            // Each finds out by itself before it hears of what the others found.
            for store in [a, b, c] { try await store.settled() }
            try await settle(a, b, c)
            for store in [a, b, c] { #expect(try await store.rows("SELECT id FROM person") == [["p0"]]) }
        }
    }

    @Test("S-084: a rule that has no index makes one of what an app writes twice, when it is saved and when it arrives")
    func withoutIndex() async throws {
        let schema = SyncedSchema(migrator: migrator("CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, owner TEXT, label TEXT, colour TEXT)")) {
            SyncedTable("tag", unique: [["owner", "label"]])
        }
        let query = "SELECT id, quote(colour) FROM tag ORDER BY id"
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.settled()
            try await a.execute("INSERT INTO tag VALUES ('t2', 'me', 'red', 'old'), ('t3', 'me', NULL, 'x'), ('t4', 'me', NULL, 'y')")
            try await a.execute("INSERT INTO tag VALUES ('t1', 'me', 'red', 'new')")
            #expect(try await a.rows(query) == [["t1", "'new'"], ["t3", "'x'"], ["t4", "'y'"]])
            try await b.execute("INSERT INTO tag VALUES ('t0', 'me', 'red', NULL)")
            try await settle(a, b)
            for store in [a, b] { #expect(try await store.rows(query) == [["t0", "'new'"], ["t3", "'x'"], ["t4", "'y'"]]) }
            let listed = try await b.duplicates()
            #expect(listed.map(\.record.text) == ["tag/t:t0"] && listed[0].members.map(\.record.text) == ["tag/t:t0", "tag/t:t1", "tag/t:t2"])
            #expect(listed[0].members[2].values.contains(.init(column: "colour", value: .text("old"))) && listed[0].since != nil)
        }
    }

    /// Saves records of one name, each with a total of 7, on this thread.
    private static func insertWaiting(_ keys: [String], into store: UbiquitousStore) throws {
        try store.write { db in
            for key in keys { try db.execute(sql: "INSERT INTO counter VALUES (?, 'm', 7)", arguments: [key]) }
        }
    }

    @Test("S-095: an app's election sets the survivor's columns, off the main thread, and every device comes to its result")
    func election() async throws {
        let elections = Mutex<[Bool]>([])
        let sql = "CREATE TABLE counter (id TEXT NOT NULL PRIMARY KEY, name TEXT, total INTEGER)"
        let schema = SyncedSchema(migrator: migrator(sql)) {
            SyncedTable(
                "counter", unique: [["name"]],
                election: { duplicates in
                    elections.withLock { $0.append(MainQueue.isHere) }
                    return ["total": duplicates.reduce(0) { $0 + ($1["total"] as Int) }]
                })
        }
        try await withDevices(3) { devices, _ in
            var stores: [UbiquitousStore] = []
            for device in devices { stores.append(try await device.open(schema)) }
            try await stores[0].execute("INSERT INTO counter VALUES ('a', 'n', 1)")
            try await stores[1].execute("INSERT INTO counter VALUES ('b', 'n', 2)")
            // The app does all of it on the main thread, and one save that it waits for there, which holds an election of its own.
            try await onMainActor { [stores] in
                #expect(MainQueue.isHere)
                for _ in 0..<2 { try await settle(stores[0], stores[1], stores[2]) }
                for store in stores { #expect(try await store.rows("SELECT id, total FROM counter") == [["a", "3"]]) }
                // Once for a pair, not once for an exchange.
                try await stores[2].execute("UPDATE counter SET total = 10")
                try await settle(stores[2], stores[0], stores[1])
                for store in stores { #expect(try await store.rows("SELECT total FROM counter") == [["10"]]) }
                let before = elections.withLock { $0.count }
                try Self.insertWaiting(["c", "d"], into: stores[0])
                #expect(elections.withLock { $0.count } > before)
                for _ in 0..<2 { try await settle(stores[0], stores[1], stores[2]) }
                for store in stores {
                    #expect(try await store.rows("SELECT id, total FROM counter ORDER BY id") == [["a", "10"], ["c", "14"]])
                }
            }
            #expect(!elections.withLock { $0.contains(true) })
        }
    }

    @Test("Where what an election sets makes the record one with a third, the election of all three stands on every device")
    func electedAgain() async throws {
        let sql = "CREATE TABLE account (id TEXT NOT NULL PRIMARY KEY, email TEXT UNIQUE, nick TEXT UNIQUE)"
        let schema = SyncedSchema(migrator: migrator(sql)) {
            // The value of the second election is the smaller: by equal stamps the first one's would win.
            SyncedTable("account", unique: [["email"], ["nick"]], election: { duplicates in ["nick": duplicates.count == 2 ? "top" : "mid"] })
        }
        try await withDevices(3) { devices, _ in
            var stores: [UbiquitousStore] = []
            for device in devices { stores.append(try await device.open(schema)) }
            try await stores[0].execute("INSERT INTO account VALUES ('m', 'x', 'n1'), ('c', 'y', 'top')")
            try await stores[1].execute("INSERT INTO account VALUES ('p', 'x', 'n2')")
            for _ in 0..<2 { try await settle(stores[0], stores[1], stores[2]) }
            for store in stores { #expect(try await store.rows("SELECT id, nick FROM account") == [["c", "mid"]]) }
        }
    }

    @Test("Partial indexes and expressions are rules as SQLite has them")
    func expressions() async throws {
        let sql = """
            CREATE TABLE site (id TEXT NOT NULL PRIMARY KEY, host TEXT, deleted INTEGER NOT NULL DEFAULT 0);
            CREATE UNIQUE INDEX site_host ON site (lower(host) DESC) WHERE deleted = 0;
            """
        let schema = SyncedSchema(migrator: migrator(sql)) { SyncedTable("site", unique: [["lower(host)"]]) }
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO site VALUES ('1', 'X.org', 0), ('2', 'y.org', 1)")
            try await b.execute("INSERT INTO site VALUES ('3', 'x.ORG', 0), ('4', 'Y.org', 1)")
            try await settle(a, b)
            for store in [a, b] { #expect(try await store.rows("SELECT id FROM site ORDER BY id") == [["1"], ["2"], ["4"]]) }
            // REPLACE takes the row that the expression forbids, and the others hear of it.
            try await a.execute("INSERT OR REPLACE INTO site VALUES ('5', 'x.Org', 0)")
            try await settle(a, b)
            for store in [a, b] { #expect(try await store.rows("SELECT id FROM site ORDER BY id") == [["2"], ["4"], ["5"]]) }
        }
    }

    @Test("An insert under a key that another is shown for is a record of its own again, and what it gave the other stays there")
    func hiddenKey() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema))
            try await a.execute("INSERT INTO person VALUES ('p1', 'x', 'A', NULL)")
            devices[1].clock.advance(by: 60)
            try await b.execute("INSERT INTO person VALUES ('p2', 'x', 'B', '2')")
            devices[0].clock.advance(by: 90)
            devices[1].clock.advance(by: 90)
            try await settle(a, b)
            try await a.execute("INSERT INTO person VALUES ('p2', 'y', 'C', NULL)")
            try await settle(a, b)
            for store in [a, b] {
                #expect(try await store.rows(Self.people) == [["p1", "'x'", "'B'", "'2'"], ["p2", "'y'", "'C'", "NULL"]])
                #expect(try await store.duplicates().isEmpty)
            }
        }
    }

    @Test("An import's notice names what is shown otherwise, whatever it was made of")
    func notice() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema))
            try await a.execute("INSERT INTO person VALUES ('p1', 'x', 'A', NULL)")
            try await b.execute("INSERT INTO person VALUES ('p2', 'x', 'B', NULL); INSERT INTO letter VALUES ('l', 'p2', 'hi')")
            try await b.publish()
            try await a.publish()
            let notices = b.notices.limited().makeAsyncIterator()
            try await b.settled()
            guard case .didImport(let notice) = try await notices.next() else { return #expect(Bool(false), "no import") }
            #expect(notice.inserted.map(\.text) == ["person/t:p1"])
            #expect(notice.deleted.map(\.text) == ["person/t:p2"])
            #expect(notice.updated.map(\.text) == ["letter/t:l"])
        }
    }
}
