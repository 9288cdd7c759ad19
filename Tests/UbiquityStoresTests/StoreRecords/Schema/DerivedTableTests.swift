import Foundation
import GRDB
import Testing
import UbiquityStores
import UbiquityTesting

/// Tables that the app's triggers compute from synced ones, on each device by itself.
struct DerivedTableTests {
    /// A kind of FTS5 table, and how triggers keep it.
    struct Index: Sendable, CustomTestStringConvertible {
        var name: String
        var options: String
        /// Takes the old row out.
        var removal: String
        var testDescription: String { name }

        static let command = "INSERT INTO note_fts (note_fts, rowid, title, body) VALUES ('delete', old.rowid, old.title, old.body);"
        static let deletion = "DELETE FROM note_fts WHERE rowid = old.rowid;"
        static let all = [
            Index(name: "external content", options: ", content='note'", removal: command),
            Index(name: "external content, trigram", options: ", content = \"note\", tokenize='trigram'", removal: command),
            Index(name: "contentless", options: ", content=''", removal: command),
            Index(name: "own content", options: "", removal: deletion),
        ]
        /// It came with SQLite 3.43.
        static let deletable = Index(name: "contentless, with deletion", options: ", content='', contentless_delete=1", removal: deletion)

        func table(guarded: Bool = false) -> String {
            let guarding = guarded ? "WHEN (SELECT active FROM ubiquity_import) = 0" : ""
            let addition = "INSERT INTO note_fts (rowid, title, body) VALUES (new.rowid, new.title, new.body);"
            return """
                CREATE VIRTUAL TABLE note_fts USING fts5(title, body\(options));
                CREATE TRIGGER note_ai AFTER INSERT ON note \(guarding) BEGIN \(addition) END;
                CREATE TRIGGER note_ad AFTER DELETE ON note \(guarding) BEGIN \(removal) END;
                CREATE TRIGGER note_au AFTER UPDATE OF title, body ON note \(guarding) BEGIN \(removal) \(addition) END;
                """
        }
    }

    private static let note = """
        CREATE TABLE folder (id TEXT NOT NULL PRIMARY KEY);
        CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, folder TEXT REFERENCES folder (id), title TEXT, body TEXT);
        """

    private func schema(_ index: Index) -> SyncedSchema {
        SyncedSchema(migrator: migrator(Self.note + index.table())) {
            SyncedTable("folder")
            SyncedTable("note", derived: ["note_fts"])
        }
    }

    /// The notes that a word finds, by a query that needs no content of the index.
    private func found(_ store: UbiquitousStore, _ word: String) async throws -> [String] {
        try await store.rows("SELECT id FROM note WHERE rowid IN (SELECT rowid FROM note_fts WHERE note_fts MATCH '\(word)') ORDER BY id").map {
            $0[0]
        }
    }

    /// Throws where the index is not sound, or, with external content, says something else than the rows.
    private func check(_ store: UbiquitousStore) async throws {
        try await store.execute("INSERT INTO note_fts (note_fts, rank) VALUES ('integrity-check', 1)")
    }

    private func exercise(_ index: Index) async throws {
        try await withDevices(3) { devices, _ in
            let schema = schema(index)
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO folder VALUES ('f')")
            try await a.execute(
                "INSERT INTO note VALUES ('1', NULL, 'apples', 'red and round'), ('2', 'f', 'pears', 'green'), ('3', NULL, 'plums', 'blue')")
            try await settle(a, b)
            #expect(try await found(b, "apples") == ["1"])
            // An update and a deletion that came take the old words out.
            try await a.execute("UPDATE note SET body = 'yellow' WHERE id = '1'; DELETE FROM note WHERE id = '3'")
            try await settle(a, b)
            #expect(try await found(b, "yellow") == ["1"])
            #expect(try await found(b, "round") == [])
            #expect(try await found(b, "plums") == [])
            try await check(b)
            // A record that is held is not found, and is found again when it is shown.
            try await a.execute("DELETE FROM note WHERE id = '2'; DELETE FROM folder WHERE id = 'f'")
            try await b.execute("INSERT INTO note VALUES ('4', 'f', 'cherries', 'dark')")
            try await settle(a, b)
            #expect(try await b.held().map(\.record.text) == ["note/t:4"])
            #expect(try await found(b, "cherries") == [])
            try await a.execute("INSERT INTO folder VALUES ('f')")
            try await settle(a, b)
            for store in [a, b] { #expect(try await found(store, "cherries") == ["4"]) }
            // A baseline, a rebuild and a removal run the triggers too.
            try await a.rollBaseline()
            let c = try await devices[2].open(schema)
            try await settle(c)
            #expect(try await found(c, "yellow") == ["1"])
            try await b.rebuildFromUbiquitousContent()
            #expect(try await found(b, "cherries") == ["4"])
            for store in [a, b, c] { try await check(store) }
            _ = try await a.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "People"))
            try await settle(a, b, c)
            for store in [a, b, c] {
                #expect(try await found(store, "yellow") == [])
                try await check(store)
            }
            try await c.execute("INSERT INTO note VALUES ('1', NULL, 'apples', 'sour')")
            try await settle(c, a, b)
            #expect(try await found(a, "sour") == ["1"])
        }
    }

    @Test(
        "an FTS5 table that triggers keep finds what others wrote, through imports, holding, baselines, rebuilds and removals", arguments: Index.all)
    func follows(_ index: Index) async throws { try await exercise(index) }

    @Test(
        "a contentless FTS5 table with deletion finds what others wrote",
        .enabled(if: Database.sqliteLibVersionNumber >= 3_043_000, "SQLite has contentless_delete from 3.43 on"))
    func followsWithDeletion() async throws { try await exercise(.deletable) }

    @Test("an FTS5 table whose triggers pass over imports is refused at opening, with the remedy, declared or not", arguments: [false, true])
    func guarded(isDeclared: Bool) async throws {
        let schema = SyncedSchema(migrator: migrator(Self.note + Index.all[0].table(guarded: true))) {
            SyncedTable("folder")
            SyncedTable("note", derived: isDeclared ? ["note_fts"] : [])
        }
        try await withDevices(1) { devices, _ in
            await #expect {
                try await devices[0].open(schema)
            } throws: { error in
                let message = (error as? UbiquitousStoreError)?.message ?? ""
                return ["note_ai", "note_ad", "note_au"].allSatisfy { message.contains("Trigger “\($0)” keeps “note_fts”") }
                    && message.contains("take the guard out") && message.contains("derived: [\"note_fts\"]") == !isDeclared
            }
        }
    }

    @Test("a derived table that no trigger keeps, that syncs, is missing, or whose trigger writes something else too is refused with the remedy")
    func refused() async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                Self.note + """
                    CREATE VIRTUAL TABLE unkept USING fts5(title); CREATE TABLE recent (id TEXT); CREATE TABLE counted (n INTEGER);
                    CREATE VIRTUAL TABLE old USING fts4(content='note', title);
                    CREATE TRIGGER note_ai AFTER INSERT ON note BEGIN INSERT INTO counted VALUES (1); INSERT INTO recent VALUES (new.id); END;
                    """)
        ) {
            SyncedTable("folder")
            SyncedTable("note", derived: ["unkept", "missing", "folder", "counted", "old"])
        }
        try await withDevices(1) { devices, _ in
            await #expect {
                try await devices[0].open(schema)
            } throws: { error in
                let message = (error as? UbiquitousStoreError)?.message ?? ""
                return [
                    "“unkept”, which is declared as derived from “note”, is kept by no trigger of “note” for INSERT, UPDATE, DELETE", "“missing”",
                    "“folder”, which is declared as derived from “note”, syncs by itself", "keeps the derived “counted” and writes recent too",
                    "“old”, which is declared as derived from “note”, is an FTS3 or FTS4",
                ].allSatisfy(message.contains)
            }
        }
    }

    @Test("a trigger that writes a table with a synced one's name in its own, or reads a synced one, needs no guard")
    func names() async throws {
        let sql = """
            CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT); CREATE TABLE note_count (n INTEGER); INSERT INTO note_count VALUES (0);
            CREATE TRIGGER note_counted AFTER INSERT ON note BEGIN
            UPDATE OR FAIL note_count SET n = (SELECT count(*) FROM note); -- UPDATE note
            INSERT INTO note_count SELECT 'INSERT INTO note' WHERE 0 ON CONFLICT DO UPDATE SET n = 1; END;
            """
        try await withDevices(2) { devices, _ in
            let schema = SyncedSchema(migrator: migrator(sql)) { SyncedTable("note") }
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO note VALUES ('1', 'x'), ('2', 'y')")
            try await settle(a, b)
            #expect(try await b.rows("SELECT n FROM note_count") == [["2"]])
        }
    }

    @Test("a table that is declared as derived when it has long gone stale is filled once, and so it is after a migration", arguments: Index.all)
    func broughtUpToDate(_ index: Index) async throws {
        func schema(_ version: Int) -> SyncedSchema {
            var migrator = migrator("CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT, body TEXT);" + index.table(guarded: false))
            if version > 1 {
                migrator.registerMigration("v2") { db in
                    // The rows get other numbers, and no trigger is told.
                    try db.execute(
                        sql: """
                            DROP TRIGGER note_ai; DROP TRIGGER note_ad; DROP TRIGGER note_au;
                            CREATE TABLE other (id TEXT NOT NULL PRIMARY KEY, title TEXT, body TEXT);
                            INSERT INTO other SELECT * FROM note ORDER BY id DESC; DROP TABLE note; ALTER TABLE other RENAME TO note;
                            \(index.table().components(separatedBy: "\n").dropFirst().joined(separator: "\n"))
                            """)
                }
            }
            return SyncedSchema(migrator: migrator) { SyncedTable("note", derived: version > 0 ? ["note_fts"] : []) }
        }
        try await withDevices(1) { devices, _ in
            var store = try await devices[0].open(schema(0))
            try await store.execute("INSERT INTO note VALUES ('1', 'apples', 'red'), ('2', 'pears', 'green')")
            try await store.close()
            // As an import did past a guard.
            try sqlite3(
                store.file,
                "CREATE TABLE t AS SELECT name, sql FROM sqlite_master WHERE name = 'note_au'; DROP TRIGGER note_au; UPDATE note SET title = 'plums' WHERE id = '2'"
            )
            let trigger = index.table().components(separatedBy: "\n")[3]
            try sqlite3(store.file, "\(trigger) DROP TABLE t")
            store = try await devices[0].open(schema(0))
            #expect(try await found(store, "plums") == [])
            try await store.close()
            for version in 1...2 {
                store = try await devices[0].open(schema(version))
                #expect(try await found(store, "plums") == ["2"])
                #expect(try await found(store, "apples") == ["1"])
                try await check(store)
                try await store.execute("UPDATE note SET title = 'quinces' WHERE id = '2'; UPDATE note SET title = 'plums' WHERE id = '2'")
                try await check(store)
                try await store.close()
            }
        }
    }

    @Test("an index that was found malformed on the way is filled again, and the import goes on")
    func mended() async throws {
        try await withDevices(2) { devices, _ in
            let schema = schema(Index.all[0])
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO note VALUES ('1', NULL, 'apples', 'red'), ('2', NULL, 'pears', 'green')")
            try await settle(a, b)
            try await b.execute("INSERT INTO note_fts (note_fts) VALUES ('delete-all')")
            try await a.execute("UPDATE note SET title = 'plums'; DELETE FROM note WHERE id = '2'")
            try await settle(a, b)
            #expect(try await b.rows("SELECT id, title FROM note") == [["1", "plums"]])
            try await a.execute("DELETE FROM note")
            try await settle(a, b)
            #expect(try await b.rows("SELECT id FROM note") == [])
        }
    }

    @Test("where a policy puts a value back, the index has the value that stays")
    func putBack() async throws {
        let sql = "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT, body TEXT);" + Index.all[0].table()
        try await withDevices(2) { devices, _ in
            let schema = SyncedSchema(migrator: migrator(sql)) {
                SyncedTable("note", columns: ["title": .firstWriter], derived: ["note_fts"])
            }
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO note VALUES ('1', 'apples', 'red')")
            try await settle(a, b)
            for store in [a, b] {
                try await store.execute("UPDATE note SET title = 'pears', body = 'green'")
                #expect(try await found(store, "apples") == ["1"])
                #expect(try await found(store, "pears") == [])
                try await check(store)
            }
            // The triggers are made anew in a rebuild, and stand in their order.
            try await a.rebuildFromUbiquitousContent()
            try await a.execute("UPDATE note SET title = 'plums'")
            #expect(try await found(a, "apples") == ["1"])
            try await check(a)
        }
    }

    @Test("an ordinary table that triggers compute, from a table without rowids too, is filled from what is there")
    func ordinary() async throws {
        func schema(_ derived: [String]) -> SyncedSchema {
            SyncedSchema(
                migrator: migrator(
                    """
                    CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, kind INTEGER, big INTEGER AS (kind * 10)) WITHOUT ROWID;
                    CREATE TABLE tally (kind INTEGER PRIMARY KEY, n INTEGER);
                    CREATE TRIGGER "tally it" AFTER INSERT ON "note" FOR EACH ROW WHEN new.kind = 1 OR new.big > 10 BEGIN
                    INSERT INTO tally VALUES (new.kind, 1) ON CONFLICT DO UPDATE SET n = n + 1; END;
                    """)
            ) { SyncedTable("note", derived: derived) }
        }
        try await withDevices(1) { devices, _ in
            var store = try await devices[0].open(schema([]))
            try await store.execute("INSERT INTO note VALUES ('a', 1), ('b', 2), ('c', 0), ('d', 1); DELETE FROM tally")
            try await store.close()
            store = try await devices[0].open(schema(["tally"]))
            #expect(try await store.rows("SELECT kind, n FROM tally") == [["1", "2"], ["2", "1"]])
            #expect(try await store.status().unpublished == 1)
        }
    }
}
