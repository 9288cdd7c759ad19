import GRDB
import Testing
import UbiquityStores
import UbiquityTesting

/// Policies, groups and excluded columns, from the shell's write to the other device's row.
struct ColumnRuleTests {
    private static let schema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE place (id TEXT NOT NULL PRIMARY KEY, name, best, least, finder, lat, lon, cache TEXT NOT NULL DEFAULT 'none');
            CREATE TABLE pair (a TEXT, b INTEGER, n, m, PRIMARY KEY (a, b)) WITHOUT ROWID;
            CREATE TABLE number (id INTEGER PRIMARY KEY, n);
            """)
    ) {
        SyncedTable(
            "place", columns: ["best": .maximum, "least": .minimum, "finder": .firstWriter], together: [["lat", "lon"]], excluding: ["cache"])
        SyncedTable("pair")
        SyncedTable("number", assignsIntegerKeys: true)
    }

    private func withStores(_ body: (UbiquitousStore, UbiquitousStore) async throws -> Void) async throws {
        try await withDevices(2) { devices, _ in
            // Stamps are ordered by time here, not by the peers' names.
            devices[1].clock.advance(by: 10)
            let (left, right) = try await (devices[0].open(Self.schema), devices[1].open(Self.schema))
            try await left.execute("INSERT INTO place (id, best, least, finder, lat, lon) VALUES ('p', 5, 5, 'Ann', 1, 1)")
            try await settle(left, right)
            try await body(left, right)
            try await left.close()
            try await right.close()
        }
    }

    private func changes(_ store: UbiquitousStore) async throws -> [[String]] {
        try await store.sealedLogs().map { try $0.changes.sorted() }
    }

    private static let row = "SELECT quote(best), quote(least), quote(finder) FROM place"

    @Test(
        "a write that a policy does not let stay is put back at once, in the shell too, and is no change",
        arguments: [
            "UPDATE place SET best = 4", "UPDATE place SET best = NULL", "UPDATE place SET least = 6", "UPDATE place SET least = NULL",
            "UPDATE place SET finder = 'Bob'", "UPDATE place SET finder = NULL", "UPDATE place SET best = 4, least = 9, finder = 'Bob'",
        ])
    func obeyed(sql: String) async throws {
        try await withStores { left, _ in
            #expect(try sqlite3(left.file, "\(sql); \(Self.row)") == "5|5|'Ann'\n")
            try await left.publish()
            try await left.execute(sql)
            #expect(try await changes(left).isEmpty)
            #expect(try await left.rows(Self.row) == [["5", "5", "'Ann'"]])
            #expect(try await left.status().knowledge.sequence(of: left.status().peer) == 1)
        }
    }

    @Test("a write that a policy lets stay is one, and an integer is below the real of its value")
    func allowed() async throws {
        try await withStores { left, _ in
            try await left.execute("UPDATE place SET best = 5.0, least = 4")
            try await left.execute("UPDATE place SET best = 5, least = 'text'")
            try await left.execute("UPDATE place SET best = 'a', least = -1.5")
            try await left.execute("UPDATE place SET best = 'B'")
            #expect(try await changes(left) == [["place/p 1 best=5.0 least=4"], ["place/p 1 best=a least=-1.5"]])
        }
    }

    @Test("REPLACE obeys the policies, and NULL in a first-writer column is nobody's yet")
    func replace() async throws {
        try await withStores { left, _ in
            try await left.execute("REPLACE INTO place (id, name, best, least, finder, lat, lon) VALUES ('p', 'x', 4, 4, 'Bob', 1, 1)")
            #expect(try await changes(left) == [["place/p 1 name=x least=4"]])
            #expect(try await left.rows(Self.row) == [["5", "4", "'Ann'"]])
            try await left.execute("INSERT INTO place (id) VALUES ('q')")
            try await left.execute("UPDATE place SET finder = 'Cid' WHERE id = 'q'")
            try await left.execute("UPDATE place SET finder = 'Dan' WHERE id = 'q'")
            #expect(try await changes(left).dropFirst() == [["place/q 1"], ["place/q 1 finder=Cid"]])
        }
    }

    @Test("what two devices wrote apart is merged by each column's policy, alike on both")
    func merged() async throws {
        try await withStores { left, right in
            try await left.execute("INSERT INTO place (id) VALUES ('q')")
            try await settle(left, right)
            try await left.execute("UPDATE place SET best = 9, least = 1, finder = 'Eve' WHERE id = 'q'")
            try await right.execute("UPDATE place SET best = 7, least = NULL, finder = 'Fay' WHERE id = 'q'")
            try await settle(left, right)
            for store in [left, right] {
                let row = try await store.rows("\(Self.row) WHERE id = 'q'")
                #expect(row == [["9", "1", "'Eve'"]])
            }
        }
    }

    @Test("a group is written and merged as one value")
    func groups() async throws {
        try await withStores { left, right in
            try await left.execute("UPDATE place SET lat = 2")
            #expect(try await changes(left) == [["place/p 1 lat=2 lon=1"]])
            try await right.execute("UPDATE place SET lon = 3")
            try await settle(left, right)
            let rows = try await left.rows("SELECT lat, lon FROM place")
            #expect(rows == [["2", "1"]] || rows == [["1", "3"]])
            #expect(try await right.rows("SELECT lat, lon FROM place") == rows)
        }
    }

    @Test("an excluded column stays on its device, and an imported record begins with its default")
    func excluded() async throws {
        try await withStores { left, right in
            #expect(try await right.rows("SELECT cache FROM place") == [["none"]])
            try await left.execute("UPDATE place SET cache = 'mine'")
            #expect(try await changes(left).isEmpty)
            try await right.execute("UPDATE place SET name = 'n'")
            try await settle(left, right)
            #expect(try await left.rows("SELECT name, cache FROM place") == [["n", "mine"]])
        }
    }

    @Test("a WITHOUT ROWID table is captured, merged and deleted as any other")
    func withoutRowid() async throws {
        try await withStores { left, right in
            try await left.execute("INSERT INTO pair VALUES ('x', 1, 1, 1), ('x', 2, NULL, 2), ('y', 1, 3, 3)")
            try await settle(left, right)
            try await left.write { db in
                try db.execute(sql: "UPDATE pair SET n = 10 WHERE a = 'x' AND b = 1")
                try db.execute(sql: "REPLACE INTO pair VALUES ('x', 2, 20, 2)")
                try db.execute(sql: "UPDATE pair SET b = 9 WHERE a = 'y'")
            }
            #expect(try await changes(left) == [["pair/x,1 1 n=10", "pair/x,2 1 n=20", "pair/y,1 2", "pair/y,9 1 n=3 m=3"]])
            try await right.execute("UPDATE pair SET m = 30 WHERE a = 'x'")
            try await settle(left, right)
            try await right.execute("UPDATE OR REPLACE pair SET b = 2 WHERE a = 'x' AND b = 1")
            #expect(try await changes(right) == [["pair/x,1 2", "pair/x,2 1 n=10"]])
            try await settle(left, right)
            let rows = try await left.rows("SELECT a, b, n, m FROM pair ORDER BY a, b")
            #expect(rows == [["x", "2", "10", "30"], ["y", "9", "3", "3"]])
            #expect(try await right.rows("SELECT a, b, n, m FROM pair ORDER BY a, b") == rows)
        }
    }

    @Test("an INTEGER PRIMARY KEY syncs where the app gives the keys")
    func integerKeys() async throws {
        try await withStores { left, right in
            try await left.execute("INSERT INTO number VALUES (7, 'a'), (9, 'b')")
            try await settle(left, right)
            try await right.execute("UPDATE number SET id = 8 WHERE id = 7; DELETE FROM number WHERE id = 9")
            try await settle(left, right)
            #expect(try await left.rows("SELECT id, n FROM number") == [["8", "a"]])
        }
    }

    @Test("rules that cannot be kept are refused at opening, all at once")
    func refused() async throws {
        try await withDevices(1) { devices, _ in
            let schema = SyncedSchema(migrator: migrator("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, b, c, d TEXT NOT NULL)")) {
                SyncedTable(
                    "t", columns: ["id": .maximum, "nowhere": .minimum, "a": .maximum, "d": .firstWriter],
                    together: [["a", "b"], ["b", "c"], ["c"]], excluding: ["d", "gone", "id"])
            }
            do {
                _ = try await devices[0].open(schema)
                Issue.record("it opened")
            } catch let error as UbiquitousStoreError {
                #expect(error.code == .invalidSchema)
                for words in [
                    "“id” of “t” is in the primary key, which is never merged", "“nowhere” of “t” has a policy and does not exist",
                    "“d” of “t” is excluded and has a policy", "(a, b) of “t” mixes policies", "columns (b) of “t” are in two groups",
                    "group (c) of “t” needs two columns", "“d” of “t” is NOT NULL without a default", "excluded column “gone” of “t” does not exist",
                    "“id” of “t” is in the primary key and cannot be excluded",
                ] {
                    #expect(error.message.contains(words), "\(error.message)")
                }
            }
        }
    }
}

/// The policies as pure rules.
struct MergePolicyTests {
    private struct Write: Hashable {
        var stamp: Stamp
        var value: RecordValue
    }

    /// Joins writes in their order into a record of one life, and gives its value and stamp.
    private func outcome(_ writes: [Write], _ policy: MergePolicy) -> Write {
        var clock = RecordClock(life: 1, stamp: .least, columns: [])
        var there = RecordValue.null
        for write in writes {
            let join = RecordJoin.join(
                life: 1, columns: ColumnSet(column: 0), stamp: write.stamp, into: clock, rules: ColumnRules(policies: [0: policy]),
                peers: RecordJoinTests.peers
            ) { _ in (write.value, there) }
            guard case .merges(let columns, let merged) = join else { continue }
            clock = merged
            if !columns.isEmpty { there = write.value }
        }
        return Write(stamp: clock.stamp(of: 0), value: there)
    }

    @Test("three writes come to the same value and stamp in all orders, under every policy", arguments: MergePolicy.allCases)
    func converges(policy: MergePolicy) {
        let stamps = [RecordJoinTests.stamp(10), RecordJoinTests.stamp(10, 2), RecordJoinTests.stamp(20), .least]
        let values: [RecordValue] = [.null, .integer(1), .integer(2), .text("x")]
        let writes = stamps.flatMap { stamp in values.map { Write(stamp: stamp, value: $0) } }
        for first in writes {
            for second in writes {
                for third in writes {
                    let orders = [
                        [first, second, third], [first, third, second], [second, first, third], [second, third, first], [third, first, second],
                        [third, second, first],
                    ]
                    #expect(Set(orders.map { outcome($0, policy) }).count == 1, "\(first) \(second) \(third)")
                }
            }
        }
    }

    @Test("each policy keeps what it says")
    func meaning() {
        let early = Write(stamp: RecordJoinTests.stamp(10), value: .integer(3))
        let late = Write(stamp: RecordJoinTests.stamp(20), value: .integer(1))
        let seeded = Write(stamp: .least, value: .integer(9))
        #expect(outcome([late, early], .lastWriter).value == .integer(1))
        #expect(outcome([late, early], .firstWriter).value == .integer(3))
        #expect(outcome([late, early], .maximum).value == .integer(3))
        #expect(outcome([late, early], .minimum).value == .integer(1))
        #expect(outcome([seeded, late], .firstWriter).value == .integer(1))
        #expect(outcome([late, Write(stamp: RecordJoinTests.stamp(30), value: .null)], .minimum).value == .integer(1))
    }

    @Test("in a first-writer column the least stamp counts as unwritten, whichever of two writes has it")
    func unwritten() {
        let rules = ColumnRules(policies: [0: .firstWriter])
        func join(_ stamp: Stamp, into old: Stamp) -> RecordJoin {
            let clock = RecordClock(life: 1, stamp: old, columns: RecordJoinTests.first)
            return RecordJoin.join(
                life: 1, columns: RecordJoinTests.first, stamp: stamp, into: clock, rules: rules, peers: RecordJoinTests.peers
            ) { _ in (.text("new"), .null) }
        }
        let written = RecordJoinTests.stamp(10)
        #expect(join(written, into: .least) == .merges(RecordJoinTests.first, RecordClock(life: 1, stamp: written, columns: RecordJoinTests.first)))
        #expect(join(.least, into: written) == .superseded)
    }
}
