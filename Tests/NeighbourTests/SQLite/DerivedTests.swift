import Foundation
import GRDB
import SystemPackage
import Testing
import Ubiquity

/// Views, search indexes, triggers and other databases beside the synced tables.
struct DerivedTests {
    private static let note = "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL DEFAULT '', list TEXT);"

    @Test("An FTS5 table that GRDB synchronizes with a synced table finds what other devices have saved, changed and deleted")
    func search() async throws {
        var migrator = migrator(Self.note)
        migrator.registerMigration("search") { db in
            try db.create(virtualTable: "note_ft", using: FTS5()) { t in
                t.synchronize(withTable: "note")
                t.tokenizer = .porter()
                t.column("title")
                t.column("body")
            }
        }
        try await withTwoDevices(SyncedSchema(migrator: migrator) { SyncedTable("note", derived: ["note_ft"]) }) { two in
            let query = "SELECT note.id FROM note JOIN note_ft ON note_ft.rowid = note.rowid AND note_ft MATCH "
            try await two.desk.write { db in
                try db.execute(sql: "INSERT INTO note VALUES ('1', 'Apples', 'red and sweet', NULL), ('2', 'Pears', 'green', NULL)")
            }
            #expect(try await two.rows("\(query) 'apple'") == [["\"1\""]])
            try await two.phone.write { db in
                try db.execute(sql: "UPDATE note SET body = 'green apples' WHERE id = '2'; DELETE FROM note WHERE id = '1'")
            }
            #expect(try await two.rows("\(query) 'apple'") == [["\"2\""]])
            for store in [two.desk, two.phone] {
                try await store.write { db in try db.execute(sql: "INSERT INTO note_ft (note_ft, rank) VALUES ('integrity-check', 1)") }
            }
        }
    }

    @Test("A search index whose triggers pass over imports is refused with the remedy")
    func guardedSearch() async throws {
        let sql = """
            \(Self.note) CREATE VIRTUAL TABLE note_ft USING fts5(title, content='note');
            CREATE TRIGGER note_ai AFTER INSERT ON note WHEN (SELECT active FROM ubiquity_import) = 0
            BEGIN INSERT INTO note_ft (rowid, title) VALUES (new.rowid, new.title); END;
            """
        let message = try await refusal(of: SyncedSchema(migrator: migrator(sql)) { SyncedTable("note") })
        #expect(message.contains("Trigger “note_ai” keeps “note_ft” and skips the writes of imports"), "\(message)")
        #expect(message.contains(#"declare derived: ["note_ft"] in SyncedTable("note")"#), "\(message)")
    }

    @Test("Views show what is synced, and a view or a virtual table that is declared as synced is refused")
    func views() async throws {
        let sql = "\(Self.note) CREATE VIEW listed AS SELECT list, count(*) AS number FROM note GROUP BY list;"
        try await withTwoDevices(SyncedSchema(migrator: migrator(sql)) { SyncedTable("note") }) { two in
            try await two.desk.write { db in try db.execute(sql: "INSERT INTO note (id, title, list) VALUES ('a', 'A', 'x'), ('b', 'B', 'x')") }
            #expect(try await two.rows("SELECT * FROM listed") == [["\"x\"", "2"]])
        }
        let message = try await refusal(of: SyncedSchema(migrator: migrator(sql)) { SyncedTable("listed") })
        #expect(message.contains("“listed” is a view or a virtual table: only ordinary tables sync."), "\(message)")
    }

    @Test("An INSTEAD OF trigger writes the synced tables behind a view if it is guarded, and is refused with the remedy if it is not")
    func insteadOf() async throws {
        func sql(_ condition: String) -> String {
            """
            \(Self.note) CREATE VIEW entry AS SELECT id, title FROM note;
            CREATE TRIGGER entry_insert INSTEAD OF INSERT ON entry \(condition)
            BEGIN INSERT INTO note (id, title) VALUES (new.id, new.title); END;
            """
        }
        let guarded = migrator(sql("WHEN (SELECT active FROM ubiquity_import) = 0"))
        try await withTwoDevices(SyncedSchema(migrator: guarded) { SyncedTable("note") }) { two in
            try await two.desk.write { db in try db.execute(sql: "INSERT INTO entry VALUES ('e', 'Eggs')") }
            #expect(try await two.rows("SELECT id, title FROM note") == [["\"e\"", "\"Eggs\""]])
        }
        let message = try await refusal(of: SyncedSchema(migrator: migrator(sql(""))) { SyncedTable("note") })
        #expect(
            message.contains(
                "Trigger “entry_insert” writes the synced table “note” during an import too: add WHEN (SELECT active FROM ubiquity_import) = 0."),
            "\(message)")
    }

    @Test("A trigger that writes a table of the device runs on imports too; one that writes a synced table must be guarded")
    func triggers() async throws {
        let counting = """
            \(Self.note) CREATE TABLE counted (n INTEGER NOT NULL); INSERT INTO counted VALUES (0);
            CREATE TRIGGER note_counted AFTER INSERT ON note BEGIN UPDATE counted SET n = n + 1; END;
            """
        try await withTwoDevices(SyncedSchema(migrator: migrator(counting)) { SyncedTable("note") }) { two in
            try await two.desk.write { db in try db.execute(sql: "INSERT INTO note (id, title) VALUES ('a', 'A'), ('b', 'B')") }
            #expect(try await two.rows("SELECT n FROM counted") == [["2"]])
        }
        let copying = "\(Self.note) CREATE TRIGGER t AFTER INSERT ON note BEGIN UPDATE note SET list = 'new' WHERE id = new.id; END;"
        let message = try await refusal(of: SyncedSchema(migrator: migrator(copying)) { SyncedTable("note") })
        #expect(message.contains("Trigger “t” writes the synced table “note” during an import too"), "\(message)")
    }

    @Test("An attached database is joined with synced tables on every connection, and does not sync")
    func attached() async throws {
        let file = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-neighbour-\(UUID().uuidString).sqlite")
        defer { try? FileManager.default.removeItem(atPath: file.string) }
        let lists = try DatabaseQueue(path: file.string)
        try await lists.write { db in
            try db.execute(sql: "CREATE TABLE list (code TEXT PRIMARY KEY, name TEXT); INSERT INTO list VALUES ('x', 'Shopping')")
        }
        try lists.close()
        let schema = SyncedSchema(migrator: migrator(Self.note)) { SyncedTable("note") }
        try await withTwoDevices(schema, attached: [.bundled("words", at: file)]) { two in
            try await two.desk.write { db in try db.execute(sql: "INSERT INTO note (id, title, list) VALUES ('a', 'Milk', 'x')") }
            let rows = try await two.rows("SELECT note.title, words.list.name FROM note JOIN words.list ON code = note.list")
            #expect(rows == [["\"Milk\"", "\"Shopping\""]])
        }
    }
}
