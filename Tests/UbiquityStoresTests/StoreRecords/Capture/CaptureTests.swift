import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityStores

/// What each write becomes as a log, whoever makes it.
struct CaptureTests {
    /// Runs a body with a store that holds Ann (age 30) and Bob, whose save has been taken out of the way.
    private func withStore(_ body: (UbiquitousStore) async throws -> Void) async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id, first, last, age) VALUES ('a', 'Ann', 'Archer', 30), ('b', 'Bob', 'Baker', NULL)")
            try await store.publish()
            try await body(store)
            try await store.close()
        }
    }

    private struct Refusal: Error {}

    private func changes(_ store: UbiquitousStore) async throws -> [[String]] {
        try await store.sealedLogs().map { try $0.changes.sorted() }
    }

    @Test("S-067: a save becomes one log, whatever it does")
    func oneLog() async throws {
        try await withStore { store in
            try await store.write { db in
                try db.execute(sql: "INSERT INTO person (id, first) VALUES ('c', 'Cid')")
                try db.execute(sql: "UPDATE person SET age = 31 WHERE id = 'a'")
                try db.execute(sql: "DELETE FROM person WHERE id = 'b'")
            }
            try await store.execute("UPDATE person SET age = 32 WHERE id = 'a'")
            #expect(try await changes(store) == [["person/a 1 age=31", "person/b 2", "person/c 1 first=Cid"], ["person/a 1 age=32"]])
        }
    }

    @Test("S-068: a log holds only the rows and columns that changed")
    func onlyChanges() async throws {
        try await withStore { store in
            try await store.execute("UPDATE person SET first = 'Ann', last = 'Archer', email = 'ann@example.org'")
            #expect(try await changes(store) == [["person/a 1 email=ann@example.org", "person/b 1 first=Ann last=Archer email=ann@example.org"]])
        }
    }

    @Test("S-172: a save that leaves every value as it was publishes no log")
    func nothingChanged() async throws {
        try await withStore { store in
            try await store.execute("UPDATE person SET first = first, age = age")
            try await store.execute("INSERT OR IGNORE INTO person (id, first) VALUES ('a', 'Other')")
            try await store.write { db in
                try db.execute(sql: "INSERT INTO person (id) VALUES ('z')")
                try db.execute(sql: "DELETE FROM person WHERE id = 'z'")
            }
            #expect(try await changes(store).isEmpty)
        }
    }

    @Test(
        "S-172: values that a save changes and changes back, replaces by themselves, or deletes and inserts again, are as they were",
        arguments: [
            ["UPDATE person SET age = 31", "UPDATE person SET age = 30 WHERE id = 'a'", "UPDATE person SET age = NULL WHERE id = 'b'"],
            ["REPLACE INTO person SELECT * FROM person"],
            ["UPDATE person SET first = 'X', age = 1 WHERE id = 'a'", "REPLACE INTO person VALUES ('a', 'Ann', 'Archer', NULL, 30)"],
            ["DELETE FROM person WHERE id = 'a'", "INSERT INTO person VALUES ('a', 'Ann', 'Archer', NULL, 30)"],
            ["UPDATE person SET id = 'x' WHERE id = 'a'", "UPDATE person SET id = 'a' WHERE id = 'x'"],
            ["UPDATE person SET rowid = rowid + 100"],
        ])
    func changedBack(statements: [String]) async throws {
        try await withStore { store in
            try await store.write { db in for statement in statements { try db.execute(sql: statement) } }
            #expect(try await changes(store).isEmpty)
            // The record's clock is where its row is.
            try await store.execute("UPDATE person SET email = 'e' WHERE id = 'a'")
            #expect(try await changes(store) == [["person/a 1 email=e"]])
        }
    }

    @Test("a change of case under NOCASE, of type alone, or to NULL is a change")
    func subtleChanges() async throws {
        try await withStore { store in
            try await store.execute("UPDATE person SET last = 'ARCHER' WHERE id = 'a'")
            try await store.execute("UPDATE person SET age = 30.0 WHERE id = 'a'")
            try await store.execute("UPDATE person SET age = NULL WHERE id = 'a'")
            #expect(try await changes(store) == [["person/a 1 last=ARCHER"], ["person/a 1 age=30.0"], ["person/a 1 age=NULL"]])
        }
    }

    @Test("a delete without WHERE is captured row by row")
    func truncateOptimisation() async throws {
        try await withStore { store in
            try await store.execute("DELETE FROM person")
            #expect(try await changes(store) == [["person/a 2", "person/b 2"]])
        }
    }

    @Test("REPLACE of a key is an update of the same life, with recursive triggers and without", arguments: [false, true])
    func replace(recursiveTriggers: Bool) async throws {
        try await withStore { store in
            try await store.write { db in
                try db.execute(sql: "PRAGMA recursive_triggers = \(recursiveTriggers)")
                try db.execute(sql: "INSERT OR REPLACE INTO person (id, first) VALUES ('a', 'Anna')")
            }
            #expect(try await changes(store) == [["person/a 1 first=Anna last=NULL age=NULL"]])
        }
    }

    @Test("a REPLACE in the save of the insert leaves one birth", arguments: [false, true])
    func replaceOfNewborn(recursiveTriggers: Bool) async throws {
        try await withStore { store in
            try await store.write { db in
                try db.execute(sql: "PRAGMA recursive_triggers = \(recursiveTriggers)")
                try db.execute(sql: "INSERT INTO person (id, first) VALUES ('c', 'Cid')")
                try db.execute(sql: "REPLACE INTO person (id, first) VALUES ('c', 'Cyd')")
            }
            #expect(try await changes(store) == [["person/c 1 first=Cyd"]])
        }
    }

    @Test("an upsert is an update where the key is there, and an insert where it is not")
    func upsert() async throws {
        try await withStore { store in
            try await store.execute(
                "INSERT INTO person (id, first) VALUES ('a', 'Anna'), ('c', 'Cid') ON CONFLICT (id) DO UPDATE SET first = excluded.first")
            #expect(try await changes(store) == [["person/a 1 first=Anna", "person/c 1 first=Cid"]])
        }
    }

    @Test("a changed key is a death and a birth")
    func changedKey() async throws {
        try await withStore { store in
            try await store.execute("UPDATE person SET id = 'x' WHERE id = 'a'")
            #expect(try await changes(store) == [["person/a 2", "person/x 1 first=Ann last=Archer age=30"]])
        }
    }

    @Test("keys that change places are two records that change")
    func swappedKeys() async throws {
        try await withStore { store in
            try await store.write { db in
                try db.execute(sql: "UPDATE person SET id = 't' WHERE id = 'a'")
                try db.execute(sql: "UPDATE person SET id = 'a' WHERE id = 'b'")
                try db.execute(sql: "UPDATE person SET id = 'b' WHERE id = 't'")
            }
            #expect(try await changes(store) == [["person/a 3 first=Bob last=Baker", "person/b 3 first=Ann last=Archer age=30"]])
        }
    }

    @Test("a row that is given the key of another replaces that record, which is updated", arguments: [false, true])
    func replacedByUpdate(recursiveTriggers: Bool) async throws {
        try await withStore { store in
            try await store.write { db in
                try db.execute(sql: "PRAGMA recursive_triggers = \(recursiveTriggers)")
                try db.execute(sql: "UPDATE OR REPLACE person SET id = 'a' WHERE id = 'b'")
            }
            #expect(try await changes(store) == [["person/a 1 first=Bob last=Baker age=NULL", "person/b 2"]])
        }
    }

    @Test(
        "a row that takes the rowid of another ends that record",
        arguments: [
            "INSERT OR REPLACE INTO person (rowid, id) SELECT rowid, 'z' FROM person WHERE id = 'a'",
            "UPDATE OR REPLACE person SET rowid = (SELECT rowid FROM person WHERE id = 'a') WHERE id = 'b'",
        ])
    func replacedRowid(sql: String) async throws {
        try await withStore { store in
            try await store.execute(sql)
            let last = try await changes(store).last ?? []
            #expect(last.contains("person/a 2"))
            #expect(!last.contains { $0.hasPrefix("person/b 2") })
        }
    }

    @Test("triggers that somebody dropped are made anew at the next opening, and rows that came meanwhile are captured")
    func droppedTriggers() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            try await store.settled()
            try await store.close()
            try sqlite3(store.file, "DROP TRIGGER ubiquity_insert_1; INSERT INTO person (id, age) VALUES ('missed', 3)")
            let again = try await devices[0].open()
            try await again.execute("INSERT INTO person (id) VALUES ('seen')")
            #expect(try await changes(again) == [["person/missed 1 age=3"], ["person/seen 1"]])
        }
    }

    @Test("a trigger that somebody dropped is made anew, though no row came or went meanwhile")
    func droppedUpdateTrigger() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            try await store.settled()
            try await store.close()
            try sqlite3(store.file, "DROP TRIGGER ubiquity_update_1")
            let again = try await devices[0].open()
            try await again.execute("UPDATE person SET age = 4")
            #expect(try await changes(again) == [["person/a 1 age=4"]])
        }
    }

    @Test("a row that only moves to another rowid stays the record that it was")
    func changedRowid() async throws {
        try await withStore { store in
            try await store.execute("UPDATE person SET rowid = 1000 WHERE id = 'a'")
            try await store.publish()
            try await store.execute("UPDATE person SET age = 31 WHERE id = 'a'")
            #expect(try await changes(store) == [["person/a 1 age=31"]])
        }
    }

    @Test("a deliberate insert after a deletion starts the next life, in one save or in two")
    func reinsert() async throws {
        try await withStore { store in
            try await store.write { db in
                try db.execute(sql: "DELETE FROM person WHERE id = 'a'")
                try db.execute(sql: "INSERT INTO person (id, first) VALUES ('a', 'New')")
            }
            try await store.execute("DELETE FROM person WHERE id = 'a'")
            try await store.execute("INSERT INTO person (id, first) VALUES ('a', 'Newer')")
            #expect(try await changes(store) == [["person/a 3 first=New"], ["person/a 4"], ["person/a 5 first=Newer"]])
        }
    }

    @Test("what the sqlite3 shell writes is captured, and sealed by the next save, in a log of its own")
    func shell() async throws {
        try await withStore { store in
            try sqlite3(
                store.file,
                "UPDATE person SET age = 99 WHERE id = 'a'; DELETE FROM person WHERE id = 'b'; INSERT OR REPLACE INTO person (id) VALUES ('s')")
            #expect(try await changes(store).isEmpty)
            try await store.execute("UPDATE person SET first = 'Ana' WHERE id = 'a'")
            #expect(try await changes(store) == [["person/a 1 age=99", "person/b 2", "person/s 1"], ["person/a 1 first=Ana"]])
        }
    }

    @Test("what the sqlite3 shell writes is sealed by publishing, without a save of the app")
    func shellPublished() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try sqlite3(left.file, "INSERT INTO person (id, first) VALUES ('s', 'Shell')")
            try await settle(left, right)
            #expect(try await right.rows() == [["'s'", "'Shell'", "NULL", "NULL", "NULL"]])
        }
    }

    @Test("values of any bytes, and at the limits of their types, arrive as they are")
    func extremes() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute(
                """
                INSERT INTO person VALUES ('k1', CAST(x'ff00fe' AS TEXT), '', zeroblob(3000000), 9223372036854775807),
                ('k2', x'', CAST(x'610062' AS TEXT), 1e308, -9223372036854775808), ('', NULL, NULL, -0.5, 9007199254740993)
                """)
            try await settle(left, right)
            let query = "SELECT hex(id), hex(first), typeof(first), hex(last), length(email), typeof(email), quote(age) FROM person ORDER BY id"
            let rows = try await left.rows(query)
            #expect(rows.count == 3)
            #expect(try await right.rows(query) == rows)
        }
    }

    @Test("clocks keep to their records through VACUUM")
    func vacuum() async throws {
        try await withStore { store in
            try await store.execute("INSERT INTO person (id) SELECT 'p' || value FROM json_each('[1,2,3,4,5,6,7,8,9]')")
            try await store.execute("DELETE FROM person WHERE id IN ('p1', 'p5')")
            try await store.publish()
            try sqlite3(store.file, "VACUUM")
            try await store.execute("DELETE FROM person WHERE id = 'a'")
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            try await store.execute("UPDATE person SET age = 1 WHERE id IN ('p9', 'a')")
            #expect(try await changes(store) == [["person/a 2"], ["person/a 3"], ["person/a 3 age=1", "person/p9 1 age=1"]])
        }
    }

    @Test("clocks keep to their records through a dump that is read back, which numbers the rows anew")
    func dump() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) SELECT 'p' || value FROM json_each('[1,2,3,4]')")
            try await store.execute("UPDATE person SET age = 1 WHERE id = 'p3'")
            try await store.execute("DELETE FROM person WHERE id IN ('p1', 'p3')")
            try await store.execute("INSERT INTO person (id) VALUES ('p3')")
            try await store.settled()
            try await store.close()
            let text = try sqlite3(store.file, ".dump")
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.file.string + suffix) }
            try sqlite3(store.file, text)
            #expect(try sqlite3(store.file, "SELECT max(rowid) FROM person") == "3\n")
            let again = try await devices[0].open()
            try await again.execute("UPDATE person SET age = 5")
            #expect(try await changes(again) == [["person/p2 1 age=5", "person/p3 3 age=5", "person/p4 1 age=5"]])
        }
    }

    @Test("an error in a save undoes the rows and leaves no log")
    func rollback() async throws {
        try await withStore { store in
            do {
                try await store.write { db in
                    try db.execute(sql: "DELETE FROM person")
                    throw Refusal()
                }
                Issue.record("the error did not pass through")
            } catch is Refusal {}
            #expect(try await changes(store).isEmpty)
            #expect(try await store.rows().count == 2)
        }
    }
}
