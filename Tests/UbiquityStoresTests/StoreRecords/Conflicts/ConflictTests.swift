import GRDB
import Testing
import UbiquityContainers
import UbiquityStores
import UbiquityTesting
import Waiting

/// What loses a conflict: listed with its reason on every device, and restorable.
@Suite(.timeLimit(.minutes(40)))
struct ConflictTests {
    private func withStores(_ count: Int = 2, _ body: ([UbiquitousStore]) async throws -> Void) async throws {
        try await withDevices(count) { devices, _ in
            var stores: [UbiquitousStore] = []
            for (index, device) in devices.enumerated() {
                // Stamps are ordered by time here, not by the peers' names.
                device.clock.advance(by: Double(index) * 10)
                stores.append(try await device.open())
            }
            try await stores[0].execute("INSERT INTO person (id, first, last, age) VALUES ('a', 'Ann', 'Archer', 30), ('b', 'Bob', 'Baker', 40)")
            try await settleAll(stores)
            try await body(stores)
            for store in stores { try await store.close() }
        }
    }

    private func settleAll(_ stores: [UbiquitousStore]) async throws {
        for _ in 0..<2 { for store in stores { try await store.settled() } }
    }

    /// Each conflict as `record reason lost=value … ← others=value …`.
    private func lines(_ store: UbiquitousStore) async throws -> [String] {
        try await store.conflicts().map { conflict in
            func text(_ fields: [Conflict.Field]) -> String { fields.map { "\($0.column)=\($0.value)" }.joined(separator: " ") }
            return "\(conflict.record) \(conflict.reason) \(text(conflict.lost)) ← \(text(conflict.others))"
        }
    }

    @Test("F-07, F-08: of two writes made apart the one that loses is listed on both devices with its reason, and a write that was seen is not")
    func concurrent() async throws {
        try await withStores { stores in
            let (left, right) = (stores[0], stores[1])
            try await left.execute("UPDATE person SET first = 'Anna', age = 31 WHERE id = 'a'")
            try await right.execute("UPDATE person SET first = 'Anne', email = 'x' WHERE id = 'a'")
            try await settleAll(stores)
            for store in stores { #expect(try await lines(store) == ["person/a laterWrite first=Anna ← first=Anne"]) }
            let leftPeer = try await left.status().peer.description
            let rightPeer = try await right.status().peer.description
            for store in stores {
                let conflict = try #require(try await store.conflicts().first)
                #expect(conflict.author == leftPeer)
                #expect(conflict.winner == rightPeer)
            }
            try await left.execute("UPDATE person SET first = 'Annie' WHERE id = 'a'")
            try await settleAll(stores)
            #expect(try await left.conflicts().count == 1)
            #expect(try await right.conflicts().count == 1)
        }
    }

    @Test("the same value written twice is no conflict")
    func sameValue() async throws {
        try await withStores { stores in
            for store in stores { try await store.execute("UPDATE person SET age = 50 WHERE id = 'a'") }
            try await settleAll(stores)
            for store in stores { #expect(try await store.conflicts().isEmpty) }
        }
    }

    @Test("an edit that a deletion takes is listed with the rest of its record, and restoring it brings the record back everywhere")
    func deletion() async throws {
        try await withStores { stores in
            let (left, right) = (stores[0], stores[1])
            try await left.execute("DELETE FROM person WHERE id = 'b'")
            try await right.execute("UPDATE person SET age = 41 WHERE id = 'b'")
            try await settleAll(stores)
            #expect(try await lines(left) == ["person/b deletion age=41 ← "])
            #expect(try await lines(right) == ["person/b deletion age=41 ← first=Bob last=Baker"])
            try await right.restore(try #require(try await right.conflicts().first))
            try await settleAll(stores)
            #expect(try await right.conflicts().isEmpty)
            for store in stores { #expect(try await store.rows("SELECT first, last, age FROM person WHERE id = 'b'") == [["Bob", "Baker", "41"]]) }
        }
    }

    @Test("a deletion by somebody who had seen every edit takes nothing that is listed")
    func seenDeletion() async throws {
        try await withStores { stores in
            try await stores[1].execute("UPDATE person SET age = 41 WHERE id = 'b'")
            try await settleAll(stores)
            try await stores[0].execute("DELETE FROM person WHERE id = 'b'")
            try await settleAll(stores)
            for store in stores { #expect(try await store.conflicts().isEmpty) }
        }
    }

    @Test("what lost is restored as an ordinary save, which wins everywhere and leaves the list")
    func restore() async throws {
        try await withStores { stores in
            let (left, right) = (stores[0], stores[1])
            try await left.execute("UPDATE person SET first = 'Anna' WHERE id = 'a'")
            try await right.execute("UPDATE person SET first = 'Anne' WHERE id = 'a'")
            try await settleAll(stores)
            try await left.restore(try #require(try await left.conflicts().first))
            try await settleAll(stores)
            for store in stores { #expect(try await store.rows("SELECT first FROM person WHERE id = 'a'") == [["Anna"]]) }
            #expect(try await left.conflicts().isEmpty)
            #expect(try await right.conflicts().count == 1)
        }
    }

    @Test("of three writes made apart the two that lose are listed on every device, in whatever order they came")
    func three() async throws {
        try await withStores(3) { stores in
            for (index, store) in stores.enumerated() { try await store.execute("UPDATE person SET age = \(index) WHERE id = 'a'") }
            try await settleAll(stores)
            try await settleAll(stores.reversed())
            for store in stores {
                #expect(try await store.rows("SELECT age FROM person WHERE id = 'a'") == [["2"]])
                #expect(try await Set(store.conflicts().flatMap(\.lost).map(\.value)) == [.integer(0), .integer(1)])
            }
        }
    }

    @Test("an observer hears how many values lost")
    func notice() async throws {
        try await withStores { stores in
            let notices = stores[1].notices.limited().makeAsyncIterator()
            try await stores[0].execute("UPDATE person SET age = 1")
            try await stores[1].execute("UPDATE person SET age = 2")
            try await settleAll(stores)
            #expect(try await notices.next() == .didFindConflicts(2))
        }
    }

    @Test("the oldest entries go beyond the retention")
    func retention() async throws {
        try await withDevices(2) { devices, _ in
            devices[1].clock.advance(by: 10)
            let left = try await devices[0].open()
            let right = try await devices[1].open(conflictRetention: ConflictRetention(count: 3, days: 10))
            try await left.execute("INSERT INTO person (id) SELECT value FROM json_each('[\"a\", \"b\", \"c\", \"d\", \"e\"]')")
            try await settle(left, right)
            try await left.execute("UPDATE person SET age = 1")
            try await right.execute("UPDATE person SET age = 2")
            try await settle(left, right)
            #expect(try await right.conflicts().map(\.record.description) == ["person/c", "person/d", "person/e"])
            devices[1].clock.advance(by: 11 * 86_400)
            try await left.execute("UPDATE person SET first = 'x' WHERE id = 'a'")
            try await right.execute("UPDATE person SET first = 'y' WHERE id = 'a'")
            try await settle(left, right)
            #expect(try await right.conflicts().map(\.record.description) == ["person/a"])
            #expect(try await left.conflicts().count == 6)
        }
    }

    @Test("what the schema does not take stays on the list, with the reason")
    func refused() async throws {
        let schema = SyncedSchema(migrator: migrator("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT NOT NULL, finder)")) {
            SyncedTable("t", columns: ["finder": .firstWriter])
        }
        try await withDevices(2) { devices, _ in
            devices[1].clock.advance(by: 10)
            let (left, right) = try await (devices[0].open(schema), devices[1].open(schema))
            try await left.execute("INSERT INTO t (id, a) VALUES ('x', 'x'), ('y', 'y')")
            try await settle(left, right)
            try await left.execute("UPDATE t SET finder = 'Ann' WHERE id = 'x'; DELETE FROM t WHERE id = 'y'")
            try await right.execute("UPDATE t SET finder = 'Bob'")
            try await settle(left, right)
            let listed = try await left.conflicts()
            #expect(listed.map(\.reason) == [.earlierWrite, .deletion])
            for conflict in listed {
                await #expect(throws: UbiquitousStoreError.self) { try await left.restore(conflict) }
            }
            #expect(try await left.conflicts().count == 2)
        }
    }

    @Test("a value that a maximum or minimum leaves behind is no conflict, and one that an earlier writer beats is")
    func policies() async throws {
        let schema = SyncedSchema(migrator: migrator("CREATE TABLE game (id TEXT NOT NULL PRIMARY KEY, best, least, finder)")) {
            SyncedTable("game", columns: ["best": .maximum, "least": .minimum, "finder": .firstWriter])
        }
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(schema), devices[1].open(schema))
            devices[1].clock.advance(by: 10)
            try await left.execute("INSERT INTO game (id) VALUES ('g')")
            try await settle(left, right)
            try await left.execute("UPDATE game SET best = 3, least = 3, finder = 'left'")
            try await right.execute("UPDATE game SET best = 5, least = 5, finder = 'right'")
            try await settle(left, right)
            for store in [left, right] {
                #expect(try await store.rows("SELECT quote(best), quote(least), quote(finder) FROM game") == [["5", "3", "'left'"]])
                #expect(try await lines(store) == ["game/g earlierWrite finder=right ← finder=left"])
            }
        }
    }
}
