import GRDB
import Testing

@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// A column that a version of the schema adds with a default: it is one thing not to know it, and another to write NULL.
struct AbsentColumnTests {
    private static let first = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT, n INTEGER NOT NULL DEFAULT 0)"
    private static let second = "ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'x'; ALTER TABLE t ADD COLUMN c INTEGER NOT NULL DEFAULT 5"
    private static let rows = "SELECT id, quote(a), quote(b), c FROM t ORDER BY id"

    private static func old() -> SyncedSchema { SyncedSchema(migrator: migrator(first)) { SyncedTable("t") } }
    private static func new() -> SyncedSchema { twoVersions(first, second) { SyncedTable("t") } }

    @Test(
        "A record of a device that does not know a column shows its default, and one in which a newer device wrote NULL shows NULL, on every device")
    func nullAndAbsence() async throws {
        try await withDevices(4) { devices, _ in
            let newer = try await devices[0].open(Self.new())
            var older = try await devices[1].open(Self.old())
            try await older.execute("INSERT INTO t (id, a) VALUES ('absent', '1'), ('edited', '1'), ('both', '1')")
            try await newer.execute("INSERT INTO t (id, a, b) VALUES ('null', '2', NULL), ('both', '2', NULL), ('given', '2', 'y')")
            try await newer.execute("INSERT INTO t (id, a) VALUES ('default', '2')")
            try await settle(newer, older)
            // Seen on the newer one before anything is said of the column.
            #expect(try await newer.rows("SELECT quote(b) FROM t WHERE id = 'absent'") == [["'x'"]])
            try await newer.execute("UPDATE t SET b = NULL WHERE id = 'edited'")
            let third = try await devices[2].open(Self.new())
            try await settle(third, newer)
            older = try await devices[1].upgrade(older, by: Self.second, Self.first) { SyncedTable("t") }
            try await settle(older, newer, third)
            let content = try await newer.rows(Self.rows)
            #expect(
                content.map { "\($0[0]) \($0[2]) \($0[3])" } == [
                    "absent 'x' 5", "both NULL 5", "default 'x' 5", "edited NULL 5", "given 'y' 5", "null NULL 5",
                ])
            for store in [older, third] { #expect(try await store.rows(Self.rows) == content) }
            // By a baseline as well.
            _ = try await newer.rollBaseline()
            let fourth = try await devices[3].open(Self.new())
            try await fourth.execute("INSERT INTO t (id) VALUES ('own')")
            try await settle(fourth, newer)
            #expect(try await fourth.rows(Self.rows).filter { $0[0] != "own" } == content)
            #expect(try await fourth.rows(Self.rows) == newer.rows(Self.rows))
        }
    }

    @Test("NULLs that a migration leaves in a column with a default reach the devices that have the default there")
    func migratedNull() async throws {
        let second = "\(Self.second); UPDATE t SET b = NULL WHERE a IS NULL"
        try await withDevices(2) { devices, _ in
            let newer = try await devices[0].open(twoVersions(Self.first, second) { SyncedTable("t") })
            var older = try await devices[1].open(Self.old())
            try await older.execute("INSERT INTO t (id, a) VALUES ('full', '1'), ('empty', NULL)")
            try await settle(newer, older)
            older = try await devices[1].upgrade(older, by: second, Self.first) { SyncedTable("t") }
            try await settle(older, newer)
            for store in [older, newer] {
                #expect(try await store.rows("SELECT id, quote(b) FROM t ORDER BY id") == [["empty", "NULL"], ["full", "'x'"]])
            }
        }
    }

    @Test(
        "A record whose columns were written at different times begins from a baseline, in a store that has others, though none of them may be NULL")
    func baselineOfManyStamps() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await devices[0].open(Self.new())
            try await left.execute("INSERT INTO t (id, a, n, b) VALUES ('r', '1', 1, NULL)")
            try await left.execute("UPDATE t SET n = 2")
            try await left.execute("UPDATE t SET c = 3")
            _ = try await left.rollBaseline()
            let right = try await devices[1].open(Self.new())
            try await right.execute("INSERT INTO t (id) VALUES ('own')")
            try await settle(right, left)
            for store in [left, right] {
                #expect(try await store.rows("SELECT quote(a), n, quote(b), c FROM t WHERE id = 'r'") == [["'1'", "2", "NULL", "3"]])
            }
            #expect(try await left.rows(Self.rows) == right.rows(Self.rows))
        }
    }

    @Test("A default that calls a function is refused in a new column that may not be NULL")
    func varying() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(Self.old())
            try await store.execute("INSERT INTO t (id) VALUES ('a')")
            let made = """
                CREATE TABLE u (id TEXT NOT NULL PRIMARY KEY, a TEXT, n INTEGER NOT NULL DEFAULT 0, r INTEGER NOT NULL DEFAULT (random()));
                INSERT INTO u (id, a, n) SELECT id, a, n FROM t; DROP TABLE t; ALTER TABLE u RENAME TO t
                """
            let error = await #expect(throws: UbiquitousStoreError.self) {
                _ = try await devices[0].upgrade(store, by: made, Self.first) { SyncedTable("t") }
            }
            #expect(error?.message.contains("“r” of “t” has the default random(), which is not the same on every device") == true)
        }
    }

    /// What is said of a column, or that it is not known.
    private enum Write: Hashable {
        case absent
        case said(Stamp, RecordValue)
    }

    /// Joins writes of one life in their order into a column whose default is 2.
    private func outcome(_ writes: [Write], _ policy: MergePolicy) -> Write? {
        var shape = TableShape(number: 1, name: "t", keyColumns: ["id"], columns: ["b"], rules: ColumnRules(policies: [0: policy]))
        shape.assumed = [.integer(2)]
        let first = ColumnSet(column: 0)
        var clock: RecordClock?
        var there = RecordValue.null
        for write in writes {
            guard case .said(let stamp, let value) = write else {
                if clock == nil { (clock, there) = (RecordClock(life: 1, stamp: .least, columns: []), .integer(2)) }
                continue
            }
            let (known, before) = (clock, there)
            let join = RecordJoin.join(life: 1, columns: first, stamp: stamp, into: clock, rules: shape.rules, peers: RecordJoinTests.peers) { _ in
                shape.weighed(value, before, of: 0, stamp: stamp, against: known?.stamp(of: 0))
            }
            switch join {
            case .begins(let begun): (clock, there) = (begun, value)
            case .merges(let columns, let merged):
                clock = merged
                if !columns.isEmpty { there = value }
            default: continue
            }
        }
        return clock.map { .said($0.stamp(of: 0), there) }
    }

    @Test("absence, the default, NULL and other values come to one in all orders, under every policy", arguments: MergePolicy.allCases)
    func everyOrder(policy: MergePolicy) {
        let stamps = [Stamp.least, RecordJoinTests.stamp(10), RecordJoinTests.stamp(20)]
        let values: [RecordValue] = [.null, .integer(1), .integer(2), .integer(3)]
        let writes = [Write.absent] + stamps.flatMap { stamp in values.map { Write.said(stamp, $0) } }
        for one in writes {
            for two in writes {
                for three in writes {
                    let orders = [
                        [one, two, three], [one, three, two], [two, one, three], [two, three, one], [three, one, two], [three, two, one],
                    ]
                    #expect(Set(orders.map { outcome($0, policy) }).count == 1, "\(one) \(two) \(three)")
                }
            }
        }
        #expect(outcome([.absent, .said(.least, .null)], policy) == .said(.least, .null))
        #expect(outcome([.said(.least, .null), .absent], policy) == .said(.least, .null))
    }
}
