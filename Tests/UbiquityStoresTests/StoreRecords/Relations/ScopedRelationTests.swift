import GRDB
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Records of accounts that refer to each other, are equal, or break a rule, in a store with a scope.
struct ScopedRelationTests {
    private static func schema(check: String = "CHECK (points <= 1000)") -> SyncedSchema {
        SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY);
                CREATE TABLE score (
                    player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER \(check), template TEXT REFERENCES template, name TEXT,
                    PRIMARY KEY (player, id), UNIQUE (player, name));
                CREATE TABLE remark (
                    player TEXT NOT NULL, id TEXT NOT NULL, score TEXT, PRIMARY KEY (player, id),
                    FOREIGN KEY (player, score) REFERENCES score ON DELETE CASCADE ON UPDATE CASCADE);
                """)
        ) {
            SyncedTable("template", access: .role("editor"))
            SyncedTable("score", access: .creator("player"), unique: [["player", "name"]])
            SyncedTable("remark", access: .creator("player"))
        }
    }

    private static let rows = """
        SELECT 'score ' || id || ' ' || coalesce(points, '-') FROM score UNION ALL SELECT 'remark ' || id || ' ' || coalesce(score, '-') FROM remark
        UNION ALL SELECT 'template ' || id FROM template ORDER BY 1
        """

    private func rows(_ store: UbiquitousStore) async throws -> [String] { try await store.rows(Self.rows).map { $0[0] } }

    private func held(_ store: UbiquitousStore) async throws -> [[String]] {
        try await store.rows(
            "SELECT k1, held FROM ubiquity_aside_2 WHERE held > '' UNION ALL SELECT k1, held FROM ubiquity_aside_3 WHERE held > '' ORDER BY 1")
    }

    /// Runs a body with a reader, and a store of Bob's whose program does not have the CHECK.
    private func withCheater(_ body: (_ reader: UbiquitousStore, _ cheater: UbiquitousStore, [TestDevice]) async throws -> Void) async throws {
        try await withDevices(3) { devices, _ in
            let reader = try await devices[0].open(Self.schema(), as: .contributor(alice, ["editor"]))
            let cheater = try await devices[1].open(Self.schema(check: ""), as: .contributor(bob))
            try await body(reader, cheater, devices)
            for store in [reader, cheater] { try await store.close() }
        }
    }

    @Test("P-18: a contributed record that breaks a CHECK is held with what refers to it, and shown once a later change mends it")
    func held() async throws {
        try await withCheater { reader, cheater, _ in
            let notices = reader.notices.limited().makeAsyncIterator()
            try await cheater.execute(
                """
                INSERT INTO score (player, id, points) VALUES ('\(bob)', 'fair', 10), ('\(bob)', 'false', 5000);
                INSERT INTO remark VALUES ('\(bob)', 'r', 'false'), ('\(bob)', 'q', 'fair')
                """)
            try await settle(cheater, reader)
            #expect(try await rows(reader) == ["remark q fair", "score fair 10"])
            #expect(try await held(reader).map { $0[0] } == ["false", "r"])
            #expect(try await held(reader)[0][1].hasPrefix("CHECK constraint failed: points <= 1000"))
            #expect(try await reader.status().held == 2)
            #expect(try await reader.status().broken.isEmpty)
            guard case .didImport(let notice) = try await notices.next() else {
                Issue.record("nothing was told")
                return
            }
            #expect(notice.inserted.map { $0.key.last!.description }.sorted() == ["fair", "q"])
            // A shown one that is broken later goes, and comes back.
            try await cheater.execute("UPDATE score SET points = 1001 WHERE id = 'fair'; UPDATE score SET points = 1000 WHERE id = 'false'")
            try await settle(cheater, reader)
            #expect(try await rows(reader) == ["remark r false", "score false 1000"])
            #expect(try await held(reader).map { $0[0] } == ["fair", "q"])
            try await cheater.execute("UPDATE score SET points = 11 WHERE id = 'fair'")
            try await settle(cheater, reader)
            #expect(try await rows(reader) == rows(cheater))
            #expect(try await held(reader).isEmpty)
            // A held one can be deleted.
            try await cheater.execute("UPDATE score SET points = 2000; DELETE FROM score WHERE id = 'false'")
            try await settle(cheater, reader)
            #expect(try await rows(reader).isEmpty)
            #expect(try await held(reader).map { $0[0] } == ["fair", "q"])
        }
    }

    @Test(
        "P-18: a baseline shows no more than the logs did, where it fills the tables, where it is joined to others, and where they are rebuilt",
        arguments: [false, true])
    func heldByBaseline(hasRows: Bool) async throws {
        try await withCheater { reader, cheater, devices in
            try await cheater.execute("INSERT INTO score (player, id, points) VALUES ('\(bob)', 'fair', 10), ('\(bob)', 'false', 5000)")
            try await cheater.rollBaseline()
            let late = try await devices[2].open(Self.schema(), as: .contributor(alice))
            if hasRows { try await late.execute("INSERT INTO score (player, id, points) VALUES ('\(alice)', 'own', 1)") }
            try await settle(cheater, late)
            let shown = ["score fair 10"] + (hasRows ? ["score own 1"] : [])
            #expect(try await rows(late) == shown)
            #expect(try await held(late).map { $0[0] } == ["false"])
            try await late.rebuildFromUbiquitousContent()
            #expect(try await rows(late) == shown)
            try await cheater.execute("UPDATE score SET points = 7 WHERE id = 'false'")
            try await settle(cheater, late)
            #expect(try await rows(late) == (shown + ["score false 7"]).sorted())
            try await late.close()
        }
    }

    @Test("P-18: devices of one account whose saves break a CHECK only together all hold the record")
    func heldByMerging() async throws {
        let both = "CHECK (points + length(name) < 10)"
        try await withDevices(2) { devices, _ in
            let schema = Self.schema(check: both)
            let (left, right) = (
                try await devices[0].open(schema, as: .contributor(alice)), try await devices[1].open(schema, as: .contributor(alice))
            )
            try await left.execute("INSERT INTO score (player, id, points, name) VALUES ('\(alice)', 's', 1, 'a')")
            try await settle(left, right)
            try await left.execute("UPDATE score SET points = 8")
            try await right.execute("UPDATE score SET name = 'abcde'")
            try await settle(left, right)
            for store in [left, right] {
                #expect(try await rows(store).isEmpty)
                #expect(try await held(store).map { $0[0] } == ["s"])
            }
            // Written again under its key, it begins another life.
            try await left.execute("INSERT INTO score (player, id, points) VALUES ('\(alice)', 's', 2)")
            try await settle(left, right)
            for store in [left, right] {
                #expect(try await rows(store) == ["score s 2"])
                #expect(try await held(store).isEmpty)
            }
            for store in [left, right] { try await store.close() }
        }
    }

    @Test("a contributed record whose curated parent is gone is held, and shown when that is back; nobody writes it for that")
    func curatedParent() async throws {
        try await withDevices(2) { devices, _ in
            let editor = try await devices[0].open(Self.schema(), as: .contributor(alice, ["editor"]))
            let player = try await devices[1].open(Self.schema(), as: .contributor(bob))
            try await editor.execute("INSERT INTO template VALUES ('t')")
            try await settle(editor, player)
            try await player.execute("INSERT INTO score (player, id, points, template) VALUES ('\(bob)', 's', 1, 't')")
            try await settle(player, editor)
            // SQLite itself refuses it where the score is known and foreign keys are on, and not in the shell.
            await #expect(throws: DatabaseError.self) { try await editor.execute("DELETE FROM template") }
            try sqlite3(editor.file, "DELETE FROM template")
            try await settle(editor, player)
            for store in [editor, player] {
                #expect(try await rows(store).isEmpty)
                #expect(try await held(store).map { $0[0] } == ["s"])
                #expect(try await store.sealedLogs().isEmpty)
            }
            try await editor.execute("INSERT INTO template VALUES ('t')")
            try await settle(editor, player)
            for store in [editor, player] { #expect(try await rows(store) == ["score s 1", "template t"]) }
            for store in [editor, player] { try await store.close() }
        }
    }

    @Test("a reference along the creators is kept, moved and deleted as any other, though it is partly in the primary key")
    func withinAccount() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await devices[0].open(Self.schema(), as: .contributor(alice))
            let right = try await devices[1].open(Self.schema(), as: .contributor(alice))
            try await left.execute(
                "INSERT INTO score (player, id) VALUES ('\(alice)', 'a'), ('\(alice)', 'b'); INSERT INTO remark VALUES ('\(alice)', 'r', 'a'), ('\(alice)', 'n', NULL)"
            )
            try await settle(left, right)
            try await left.execute("UPDATE score SET id = 'c' WHERE id = 'a'")
            try await settle(left, right)
            for store in [left, right] { #expect(try await rows(store) == ["remark n -", "remark r c", "score b -", "score c -"]) }
            // A remark of a score that another device deletes meanwhile is held.
            try await left.execute("DELETE FROM score WHERE id = 'b'")
            try await right.execute("INSERT INTO remark VALUES ('\(alice)', 's', 'b')")
            try await settle(left, right)
            for store in [left, right] {
                #expect(try await rows(store) == ["remark n -", "remark r c", "score c -"])
                #expect(try await held(store).map { $0[0] } == ["s"])
            }
            try await right.execute("DELETE FROM score")
            try await settle(left, right)
            for store in [left, right] { #expect(try await rows(store) == ["remark n -"]) }
            // Records that are one bring their remarks along.
            try await left.execute(
                "INSERT INTO score (player, id, name) VALUES ('\(alice)', 'x', 'same'); INSERT INTO remark VALUES ('\(alice)', 'rx', 'x')")
            try await right.execute(
                "INSERT INTO score (player, id, name) VALUES ('\(alice)', 'y', 'same'); INSERT INTO remark VALUES ('\(alice)', 'ry', 'y')")
            try await settle(left, right)
            for store in [left, right] { #expect(try await rows(store) == ["remark n -", "remark rx x", "remark ry x", "score x -"]) }
            for store in [left, right] { try await store.close() }
        }
    }

    @Test("a reader shows one of two equal records of an account, says nothing of them, and unites them when the account has said that they are one")
    func twins() async throws {
        try await withDevices(3) { devices, _ in
            let schema = Self.schema()
            let (left, right) = (try await devices[0].open(schema, as: .contributor(bob)), try await devices[1].open(schema, as: .contributor(bob)))
            let reader = try await devices[2].open(schema, as: .contributor(alice))
            try await left.execute("INSERT INTO score (player, id, name, points) VALUES ('\(bob)', 'x', 'same', 1)")
            try await right.execute("INSERT INTO score (player, id, name, points) VALUES ('\(bob)', 'y', 'same', 2)")
            try await left.publish()
            try await right.publish()
            try await reader.settled()
            #expect(try await rows(reader).count == 1)
            #expect(try await held(reader).count == 1)
            #expect(try await reader.status().unpublished == 0)
            #expect(try await reader.status().knowledge.sequence(of: reader.status().peer) == 0)
            #expect(try await reader.rows("SELECT (SELECT count(*) FROM ubiquity_same_2) + (SELECT count(*) FROM ubiquity_unresolved_2)") == [["0"]])
            // One that is no longer equal is shown as well, and the other one when it is gone.
            try await left.execute("UPDATE score SET name = 'other'")
            try await left.publish()
            try await reader.settled()
            #expect(try await rows(reader) == ["score x 1", "score y 2"])
            try await left.execute("UPDATE score SET name = 'same'")
            try await left.publish()
            try await reader.settled()
            #expect(try await rows(reader).count == 1)
            try await settle(left, right)
            try await reader.settled()
            for store in [left, right, reader] {
                #expect(try await rows(store).count == 1)
                #expect(try await held(store).isEmpty)
            }
            #expect(try await rows(reader) == rows(left))
            #expect(try await rows(right) == rows(left))
            for store in [left, right, reader] { try await store.close() }
        }
    }
}
