import GRDB
import StoreInspection
import StoreRecords
import Testing

@testable import UbiquityStores

/// The schema of a content as tools show it, and what moving it from one container to another checks.
struct SchemaMoveTests {
    private static func schema(_ later: String = "", _ tables: [SyncedTable] = []) -> SyncedSchema {
        var migrator = migrator(
            """
            CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER, best INTEGER DEFAULT 0, x REAL, y REAL, PRIMARY KEY (player, id));
            CREATE INDEX score_by_points ON score (points);
            CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY, title TEXT);
            """)
        if !later.isEmpty { migrator.registerMigration("later") { db in try db.execute(sql: later) } }
        let usual = [
            SyncedTable("score", access: .creator("player"), columns: ["best": .maximum], together: [["x", "y"]]),
            SyncedTable("template", access: .role("editor")),
        ]
        return SyncedSchema(migrator: migrator) { tables.isEmpty ? usual : tables }
    }

    /// Returns the schema of a new container's store.
    private func report(_ schema: SyncedSchema) async throws -> SchemaReport {
        var report: SchemaReport?
        try await PublicWorld.with { world in
            let store = try await world.owner.open(schema)
            try await store.settled()
            report = try InspectedStore(store.file, readOnly: true).schemaReport()
            try await store.close()
        }
        return try #require(report)
    }

    @Test("A store tells its tables, who changes their records, how columns merge, and the indexes")
    func shows() async throws {
        let report = try await report(Self.schema())
        #expect(report.content == "Game" && report.container != nil && report.tables.map(\.name) == ["score", "template"])
        let score = report.tables[0]
        #expect(score.creator == "player" && score.key == ["player", "id"] && score.together == [["x", "y"]])
        #expect(score.columns.first { $0.name == "best" }?.merging == "maximum")
        #expect(score.indexes == [TableDescription.Index(name: "score_by_points", columns: ["points"], isUnique: false)])
        #expect(report.tables[1].role == "editor" && report.contradicted.isEmpty)
        #expect(SchemaMove(of: report, to: report, store: "Production").differences.isEmpty)
    }

    @Test("A new table, column or index moves once the policy knows the table; the command that tells the policy is named")
    func moves() async throws {
        let present = try await report(Self.schema())
        let tables = [
            SyncedTable("score", access: .creator("player"), columns: ["best": .maximum], together: [["x", "y"]]),
            SyncedTable("template", access: .role("editor")), SyncedTable("level", access: .role("editor")),
        ]
        let new = try await report(
            Self.schema(
                "ALTER TABLE template ADD COLUMN size INTEGER; CREATE TABLE level (id TEXT NOT NULL PRIMARY KEY); DROP INDEX score_by_points", tables)
        )
        #expect(new.contradicted.map(\.name) == ["level"])
        let move = SchemaMove(of: new, to: present, store: "Production")
        #expect(!move.isPossible && move.differences.filter { $0.weight == .forbidden }.isEmpty)
        let needed = move.differences.filter { $0.weight == .needed }
        #expect(needed.count == 1 && needed[0].sentence.contains("ubcontrol public access Production level=role:editor"))
        #expect(move.differences.filter { $0.weight == .remark }.map(\.table) == ["level", "score", "template"])
        // The way back lacks a migration.
        let back = SchemaMove(of: present, to: new, store: "Production")
        #expect(back.differences.contains { $0.weight == .forbidden && $0.sentence.contains("“later”") })
    }

    @Test("Other keys, other accounts and other rules of merging are forbidden, each by name")
    func forbids() async throws {
        let present = try await report(Self.schema())
        let tables = [
            SyncedTable("score", access: .creator("player"), columns: ["best": .minimum]),
            SyncedTable("template", access: .role("artist")),
        ]
        var new = try await report(Self.schema("SELECT 1", tables))
        new.tables[0].key = ["id", "player"]
        let sentences = SchemaMove(of: new, to: present, store: "Production").differences.filter { $0.weight == .forbidden }.map(\.sentence)
        for part in ["The key is (id, player)", "“best” merges by minimum", "merge as one value", "The policy there says role:editor"] {
            #expect(sentences.contains { $0.contains(part) }, "\(part) in \(sentences)")
        }
    }

    @Test("The steward adds the rule of a new table, which accounts then write, and never changes it")
    func adds() async throws {
        try await PublicWorld.with { world in
            let schema = Self.schema(
                "CREATE TABLE level (player TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (player, id))",
                [
                    SyncedTable("score", access: .creator("player"), columns: ["best": .maximum], together: [["x", "y"]]),
                    SyncedTable("template", access: .role("editor")), SyncedTable("level", access: .creator("player")),
                ])
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(schema), try await world.owner.open(schema))
            try await settle(store, owner)
            try await owner.addTable("level", access: .creator("player"))
            try await settle(store, owner)
            try await store.execute("INSERT INTO level VALUES ('\(ann.name)', 'mine')")
            try await settle(store, owner)
            #expect(try await owner.read { db in try String.fetchAll(db, sql: "SELECT id FROM level") } == ["mine"])
            try await owner.addTable("level", access: .creator("player"))
            let error = await #expect(throws: UbiquitousStoreError.self) { try await owner.addTable("level", access: .role("editor")) }
            #expect(error?.code == .unsupported && error?.description.contains("level") == true)
            let stranger = await #expect(throws: UbiquitousStoreError.self) { try await store.addTable("other", access: .role("editor")) }
            #expect(stranger?.code == .unsupported)
            for store in [store, owner] { try await store.close() }
        }
    }
}
