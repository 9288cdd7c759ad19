import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// Stores with content go to newer versions of the app's schema, each device in its own time.
struct SchemaVersionTests {
    private func problems(_ store: UbiquitousStore) throws -> [StoreCheck.Problem] {
        try InspectedStore(store.file, readOnly: true).check(container: nil).problems
    }

    @Test("S-110: tables and columns are added, dropped and renamed by the app's migrator; what is edited before and after arrives everywhere")
    func threePeers() async throws {
        try await withDevices(4) { devices, _ in
            var stores = [try await devices[0].open(version: 1), try await devices[1].open(version: 1), try await devices[2].open(version: 1)]
            try await stores[0].execute(
                """
                INSERT INTO people VALUES ('a', 'Ann', '1', 'ann@', 30), ('b', 'Bob', '2', 'bob@', 40), ('c', NULL, NULL, NULL, NULL);
                INSERT INTO visit VALUES ('a', 1, 'n', 'r1'), ('b', 2, 'n', 'r2'); INSERT INTO tag VALUES ('red', '#f00'); INSERT INTO pin VALUES ('p', 1.5)
                """)
            try await settle(stores[0], stores[1], stores[2])
            // The first upgrades, while the others have not said all.
            try await stores[1].execute(
                "UPDATE people SET mail = 'bob@home', fax = '9' WHERE id = 'b'; INSERT INTO people (id, first) VALUES ('d', 'Dan')")
            stores[0] = try await devices[0].upgrade(stores[0], to: 2)
            try await stores[0].execute("UPDATE person SET email = 'ann@new', rank = 1 WHERE id = 'a'; INSERT INTO place VALUES ('x', 'Here')")
            try await stores[2].execute(
                "UPDATE visit SET room = 'r9' WHERE person = 'b'; UPDATE tag SET color = 'none'; DELETE FROM people WHERE id = 'c'")
            for store in stores + stores { try await store.settled() }
            #expect(try await AddressBook.content(stores[1], 1) == AddressBook.content(stores[2], 1))
            #expect(try await stores[0].rows("SELECT email FROM person WHERE id = 'b'") == [["bob@home"]], "an old name is the new one")
            #expect(try await stores[0].rows("SELECT room FROM visit WHERE person = 'b'") == [["r9"]])

            // The second goes two versions at once, the third one, and then the rest.
            stores[1] = try await devices[1].upgrade(stores[1], to: 3)
            try await stores[1].execute("UPDATE person SET address = 'dan@new' WHERE id = 'd'; UPDATE visit SET mood = 'good' WHERE day = 1")
            stores[2] = try await devices[2].upgrade(stores[2], to: 2)
            try await stores[2].execute("UPDATE person SET age = 41 WHERE id = 'b'; INSERT INTO visit (person, day) VALUES ('d', 3)")
            for store in stores + stores { try await store.settled() }
            #expect(try await AddressBook.content(stores[0], 2) == AddressBook.content(stores[2], 2))
            stores[0] = try await devices[0].upgrade(stores[0], to: 3)
            stores[2] = try await devices[2].upgrade(stores[2], to: 3)
            try await stores[0].execute("UPDATE person SET seen = 'today' WHERE id = 'd'")
            stores.append(try await devices[3].open(version: 3))
            for store in stores + stores { try await store.settled() }

            let content = try await AddressBook.content(stores[0], 3)
            #expect(
                content == [
                    ["'a'", "'Ann'", "'ann@new'", "30", "'Dr Ann'", "1", "'never'"],
                    ["'b'", "'Bob'", "'bob@home'", "41", "'Dr Bob'", "40", "'never'"],
                    ["'d'", "'Dan'", "'dan@new'", "NULL", "'Dr Dan'", "5", "'today'"],
                    ["'a'", "1", "'r1'", "'good'"], ["'b'", "2", "'r9'", "'fine'"], ["'d'", "3", "NULL", "'fine'"], ["'x'", "'Here'"],
                    ["'p'", "1.5"],
                ])
            for store in stores {
                #expect(try await AddressBook.content(store, 3) == content)
                #expect(try await store.status().waiting.isEmpty)
                #expect(try await store.status().quarantined.isEmpty)
                #expect(try problems(store).isEmpty)
                #expect(try await store.conflicts().isEmpty, "nobody wrote apart from another")
            }
        }
    }

    @Test("S-111, F-11: a log of a newer schema waits, counted and named, while everybody goes on exporting, and is joined after the upgrade")
    func waits() async throws {
        try await withDevices(3) { devices, _ in
            let (new, other) = try await (devices[0].open(version: 2), devices[2].open(version: 2))
            var old = try await devices[1].open(version: 1)
            for index in 0..<3 {
                try await new.execute("INSERT INTO person (id, email) VALUES (?, 'e')", ["n\(index)"])
                try await new.publish()
            }
            try await old.execute("INSERT INTO people (id, mail) VALUES ('o', 'm')")
            try await settle(new, old, other)
            let waiting = try #require(try await old.status().waiting.first)
            #expect(waiting.logs == 3 && waiting.sequence == 1)
            #expect(try await waiting.peer == new.status().peer.description)
            guard case .schema(let obstacle, let schema) = waiting.reason else {
                Issue.record("it waits for \(waiting.reason)")
                return
            }
            #expect(schema == "v2" && obstacle.contains("“person”"))
            #expect(waiting.description == "peer \(waiting.peer) on schema v2, 3 logs")
            // What the old one says goes on to the others, which are ahead of it.
            for store in [new, other] { #expect(try await store.rows("SELECT id, email FROM person").count == 4) }
            #expect(try await old.rows("SELECT id FROM people") == [["o"]])

            old = try await devices[1].upgrade(old, to: 2)
            try await old.settled()
            #expect(try await old.status().waiting.isEmpty)
            #expect(try await AddressBook.content(old, 2) == AddressBook.content(new, 2))
        }
    }

    @Test("a log of the same version of the schema that names what is not declared here waits too: nothing is passed over that may be new")
    func sameVersion() async throws {
        let sql = "CREATE TABLE a (id TEXT NOT NULL PRIMARY KEY); CREATE TABLE b (id TEXT NOT NULL PRIMARY KEY)"
        try await withDevices(2) { devices, _ in
            let more = try await devices[0].open(
                SyncedSchema(migrator: migrator(sql)) {
                    SyncedTable("a")
                    SyncedTable("b")
                })
            let less = try await devices[1].open(SyncedSchema(migrator: migrator(sql)) { SyncedTable("a") })
            try await more.execute("INSERT INTO b VALUES ('x')")
            try await settle(more, less)
            #expect(try await less.status().waiting.map(\.logs) == [1])
        }
    }

    @Test("stamps stay with their columns when a column before them is dropped: what was written later still wins")
    func stampsFollow() async throws {
        try await withDevices(2) { devices, _ in
            var (left, right) = try await (devices[0].open(version: 1), devices[1].open(version: 1))
            try await left.execute("INSERT INTO people (id, first, mail, age) VALUES ('a', 'f', 'm', 1)")
            try await settle(left, right)
            devices[0].clock.advance(by: 100)
            try await left.execute("UPDATE people SET age = 'later', fax = 'later'")
            devices[1].clock.advance(by: 50)
            try await right.execute("UPDATE people SET age = 'earlier', mail = 'earlier'")
            left = try await devices[0].upgrade(left, to: 3)
            right = try await devices[1].upgrade(right, to: 2)
            try await settle(left, right)
            right = try await devices[1].upgrade(right, to: 3)
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows("SELECT address, age FROM person") == [["earlier", "later"]]) }
        }
    }

    @Test("values that a migration fills into a new column never beat an edit, whenever that was made, and reach a device that reads only logs")
    func filled() async throws {
        let first = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT)"
        func second(_ value: String) -> SyncedSchema {
            twoVersions(
                first,
                "ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'd'; ALTER TABLE t ADD COLUMN c TEXT NOT NULL DEFAULT 'm'; UPDATE t SET c = '\(value)' || id WHERE id < 'x'"
            ) { SyncedTable("t") }
        }
        try await withDevices(3) { devices, _ in
            let schema = SyncedSchema(migrator: migrator(first)) { SyncedTable("t") }
            var (left, right) = try await (devices[0].open(schema), devices[1].open(schema))
            try await left.execute("INSERT INTO t VALUES ('p', '1'), ('q', '2'), ('x', '3')")
            try await settle(left, right)
            devices[0].clock.advance(by: -1e6)
            try await left.close()
            left = try await devices[0].open(second("a"))
            try await left.execute("UPDATE t SET b = 'edited' WHERE id = 'p'")
            try await left.execute("INSERT INTO t VALUES ('r', NULL, NULL, 'z')")
            // Not known to the first when it was upgraded: shown with the default, which yields to what the second fills in.
            try await right.execute("INSERT INTO t VALUES ('s', '4')")
            try await settle(right, left)
            #expect(try await left.rows("SELECT quote(b), quote(c) FROM t WHERE id = 's'") == [["'d'", "'m'"]])
            try await right.close()
            right = try await devices[1].open(second("a"))
            let fresh = try await devices[2].open(second("a"))
            try await settle(left, right, fresh)
            for store in [left, right, fresh] {
                #expect(
                    try await store.rows("SELECT id, quote(b), quote(c) FROM t ORDER BY id") == [
                        ["p", "'edited'", "'ap'"], ["q", "'d'", "'aq'"], ["r", "NULL", "'z'"], ["s", "'d'", "'as'"], ["x", "'d'", "'m'"],
                    ])
                #expect(try await store.conflicts().isEmpty)
            }
        }
    }

    @Test("of values that two devices filled in differently the same one stays on all, and so does one of a record that both inserted")
    func filledApart() async throws {
        let first = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT)"
        func second(_ value: String) -> SyncedSchema {
            twoVersions(first, "ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'd'; UPDATE t SET b = '\(value)' WHERE id = 'p'") { SyncedTable("t") }
        }
        try await withDevices(4) { devices, _ in
            let schema = SyncedSchema(migrator: migrator(first)) { SyncedTable("t") }
            var (left, right) = try await (devices[0].open(schema), devices[1].open(schema))
            try await left.execute("INSERT INTO t VALUES ('p', '1')")
            try await settle(left, right)
            try await left.close()
            left = try await devices[0].open(second("left"))
            try await left.execute("INSERT INTO t (id, a, b) VALUES ('both', 'l', NULL)")
            try await right.execute("INSERT INTO t VALUES ('both', 'r')")
            let early = try await devices[2].open(second("?"))
            try await settle(left, early)
            try await right.close()
            right = try await devices[1].open(second("right"))
            let late = try await devices[3].open(second("?"))
            try await settle(right, late, left, early)
            let rows = try await left.rows("SELECT id, b FROM t ORDER BY id")
            #expect(rows == [["both", "NULL"], ["p", "right"]], "one wrote NULL, the other did not know the column")
            for store in [right, early, late] { #expect(try await store.rows("SELECT id, b FROM t ORDER BY id") == rows) }
        }
    }

    @Test("what a shell wrote and nobody sealed before an upgrade goes out after it, under the new names and without what is gone")
    func unsealed() async throws {
        try await withDevices(2) { devices, _ in
            var (left, right) = try await (devices[0].open(version: 1), devices[1].open(version: 3))
            try await left.execute(
                "INSERT INTO people (id, first, mail) VALUES ('a', 'A', '1'), ('b', 'B', '2'), ('c', 'C', '3'), ('d', 'D', '4'); INSERT INTO visit VALUES ('a', 1, 'n', 'r')"
            )
            try await settle(left, right)
            try await left.close()
            try sqlite3(
                left.file,
                """
                UPDATE people SET fax = 'x'; UPDATE people SET mail = '11' WHERE id = 'a'; DELETE FROM people WHERE id = 'b';
                INSERT OR REPLACE INTO people (id, first, mail) VALUES ('c', 'C', '33'); INSERT INTO people (id, mail) VALUES ('e', '5');
                UPDATE visit SET room = 's', note = 'm'; UPDATE people SET id = 'f' WHERE id = 'd';
                """)
            left = try await devices[0].open(version: 3)
            try await left.write { _ in }
            let log = try #require(try await left.sealedLogs().last)
            let changes = try log.changes
            #expect(log.header.schema == "v3" && changes.contains("person/c 1 address=33"), "what the migration filled in is no edit: \(changes)")
            try await settle(left, right)
            let people = try await left.rows("SELECT id, address FROM person ORDER BY id")
            #expect(people == [["a", "11"], ["c", "33"], ["e", "5"], ["f", "4"]])
            #expect(try await AddressBook.content(left, 3) == AddressBook.content(right, 3))
            #expect(try problems(left).isEmpty)
            #expect(try await right.rows("SELECT room FROM visit") == [["s"]])
        }
    }

    @Test("what is saved while the container is away outlives an upgrade, and goes out with its stamps when it is back")
    func unattached() async throws {
        try await withDevices(2) { devices, root in
            let container = try await devices[0].container().path
            var right = try await devices[1].open(version: 1)
            try await right.execute("INSERT INTO people (id, mail) VALUES ('a', 'right')")
            try await right.settled()
            try FileManager.default.moveItem(atPath: container.string, toPath: root.appending("away").string)
            devices[0].clock.advance(by: 1000)
            var left = try await devices[0].open(version: 1)
            try await left.execute("INSERT INTO people (id, first, fax, mail) VALUES ('a', 'A', '1', 'left'), ('b', 'B', '1', 'left')")
            try await left.execute("UPDATE people SET fax = '2', mail = 'left 2' WHERE id = 'b'")
            left = try await devices[0].upgrade(left, to: 3)
            try FileManager.default.moveItem(atPath: root.appending("away").string, toPath: container.string)
            right = try await devices[1].upgrade(right, to: 3)
            try await settle(left, right)
            #expect(try await left.rows("SELECT id, address FROM person ORDER BY id") == [["a", "left"], ["b", "left 2"]])
            #expect(try await AddressBook.content(left, 3) == AddressBook.content(right, 3))
        }
    }
}
