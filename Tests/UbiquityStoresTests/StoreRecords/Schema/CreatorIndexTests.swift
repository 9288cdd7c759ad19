import GRDB
import StoreFormat
import StoreRecords
import Testing
import UbiquityStores
import UbiquityTesting

/// The indexes by which records, and what has changed, are found.
struct CreatorIndexTests {
    /// The key of each record begins with its identifier, so that the creator needs an index of its own.
    private static let tables = [SyncedTable("score", access: .creator("player")), SyncedTable("template", access: .role("editor"))]

    private static func schema(withIndexes: Bool, times: Int = 1) -> SyncedSchema {
        var migrator = migrator(
            """
            CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER, PRIMARY KEY (id, player));
            CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY, name TEXT);
            """)
        if withIndexes {
            migrator.registerMigration("indexes") { db in
                for _ in 0..<times { for table in tables { try table.createMissingIndexes(db) } }
            }
        }
        return SyncedSchema(migrator: migrator) { tables }
    }

    @Test("S-150: opening names an index that is missing, with the call that creates it; after the call the store opens, and finds by it")
    func creation() async throws {
        try await withDevices(1) { devices, _ in
            let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await devices[0].open(Self.schema(withIndexes: false).scoped) }
            #expect(error?.code == .invalidSchema)
            for words in ["No index of “score” begins with the creator “player”", "createMissingIndexes(_:)"] {
                #expect(error?.description.contains(words) == true, "\(String(describing: error))")
            }
            let store = try await devices[0].open(Self.schema(withIndexes: true, times: 2), as: .contributor(alice))
            let own = try await store.read { db in
                try String.fetchAll(
                    db, sql: "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('score', 'template')")
            }
            #expect(own == ["score_by_player"])
            // By name and by owner, in each table.
            for (condition, index) in [("player = 'p'", "score_by_player"), ("player = 'p' AND id = 'i'", "INDEX")] {
                let plan = try await store.read { db in
                    try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN SELECT points FROM score WHERE \(condition)").map { $0["detail"] as String }
                }
                #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH score") && plan[0].contains(index), "\(plan)")
            }
            try await store.close()
        }
    }

    /// How many instructions SQLite runs to find a change of each table after a token, in a store with some records.
    private static func steps(records: Int) async throws -> Int {
        var steps = 0
        try await withDevices(1) { devices, _ in
            let (device, rights) = (devices[0], WriteRights.contributor(alice, ["editor"]))
            let first = try await device.open(Game.schema(), as: rights)
            for table in ["score (player, id, points)", "template (id, name)"] {
                try await first.write { db in
                    for row in 0..<records {
                        let values = table.hasPrefix("score") ? "'\(alice)', '\(row)', 1" : "'\(row)', 'n'"
                        try db.execute(sql: "INSERT INTO \(table) VALUES (\(values))")
                    }
                }
            }
            try await first.close()
            let meter = SQLiteMeter(below: device.directory)
            let store = try await device.open(Game.schema(), as: rights)
            let token = try await store.currentChangeToken
            try await store.execute("UPDATE score SET points = 2 WHERE id = '1'; UPDATE template SET name = 'm' WHERE id = '1'")
            meter.reset()
            let found = try await store.changes(since: token)
            steps = meter.steps
            #expect(found.words.map { $0.prefix { $0 != "/" } } == ["~score", "~template"])
            try await store.close()
        }
        return steps
    }

    @Test("S-150: what has changed since a time is found by its position in the history, for every table, however many records there are")
    func changes() async throws {
        let (few, many) = (try await Self.steps(records: 20), try await Self.steps(records: 2_000))
        #expect(many < few * 11 / 10, "\(few) instructions with 20 records, \(many) with 2,000")
    }
}
