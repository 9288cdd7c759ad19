import GRDB
import Testing
import UbiquityStores

/// Records that refer to others which are not there, or are shown otherwise.
struct ForeignKeyTests {
    private static let sql = """
        CREATE TABLE album (id TEXT NOT NULL PRIMARY KEY, title TEXT);
        CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, album TEXT REFERENCES album (id) ON DELETE CASCADE, title TEXT);
        CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, album TEXT REFERENCES album (id) ON DELETE SET NULL);
        CREATE TABLE play (id TEXT NOT NULL PRIMARY KEY, song TEXT REFERENCES song (id) ON DELETE RESTRICT);
        """
    private static let schema = SyncedSchema(migrator: migrator(sql)) {
        SyncedTable("play")
        SyncedTable("note")
        SyncedTable("song")
        SyncedTable("album")
    }
    private static let all = """
        SELECT 'album', id, NULL FROM album UNION ALL SELECT 'song', id, album FROM song UNION ALL SELECT 'note', id, album FROM note
        UNION ALL SELECT 'play', id, song FROM play ORDER BY 1, 2
        """

    private func shown(_ store: UbiquitousStore) async throws -> [String] {
        try await store.read { db in
            try Row.fetchAll(db, sql: Self.all).map { row in "\(row[0] as String) \(row[1] as String) \(row[2] as String? ?? "-")" }
        }
    }

    @Test("A child that the author of a deletion did not know is held, with all that refers to it, and is back when its parent is")
    func held() async throws {
        try await withDevices(3) { devices, _ in
            let (a, b, c) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema), try await devices[2].open(Self.schema))
            try await a.execute("INSERT INTO album VALUES ('a1', 'One'); INSERT INTO song VALUES ('s1', 'a1', 'old')")
            try await settle(a, b, c)
            try await a.execute("DELETE FROM album")
            try await b.execute(
                "INSERT INTO song VALUES ('s2', 'a1', 'new'); INSERT INTO play VALUES ('p', 's2'); INSERT INTO note VALUES ('n', 'a1')")
            try await settle(a, b, c)
            for store in [a, b, c] { #expect(try await shown(store) == ["note n -"]) }
            try await c.execute("INSERT INTO album VALUES ('a1', 'Again')")
            #expect(try await shown(c) == ["album a1 -", "note n a1", "play p s2", "song s2 a1"])
            try await settle(c, a, b)
            for store in [a, b, c] { #expect(try await shown(store) == ["album a1 -", "note n a1", "play p s2", "song s2 a1"]) }
        }
    }

    @Test("Parents and children come in one import in any order, circles too")
    func anyOrder() async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE x (id TEXT NOT NULL PRIMARY KEY, y TEXT REFERENCES y (id) DEFERRABLE INITIALLY DEFERRED);
                CREATE TABLE y (id TEXT NOT NULL PRIMARY KEY, x TEXT REFERENCES x (id) DEFERRABLE INITIALLY DEFERRED, up TEXT REFERENCES y (id));
                """)
        ) {
            SyncedTable("x")
            SyncedTable("y")
        }
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO x VALUES ('1', '2'); INSERT INTO y VALUES ('2', '1', NULL); INSERT INTO y VALUES ('3', NULL, '3')")
            try await settle(a, b)
            #expect(try await b.rows("SELECT id, y FROM x UNION ALL SELECT id, x FROM y WHERE x IS NOT NULL") == [["1", "2"], ["2", "1"]])
            #expect(try await b.rows("SELECT up FROM y WHERE id = '3'") == [["3"]])
        }
    }

    @Test("A deletion through the shell, which enforces no foreign keys, leaves no orphan shown here or elsewhere")
    func shell() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema))
            try await a.execute(
                "INSERT INTO album VALUES ('a1', 'One'); INSERT INTO song VALUES ('s1', 'a1', 'old'); INSERT INTO play VALUES ('p', 's1')")
            try await settle(a, b)
            try sqlite3(a.file, "DELETE FROM album")
            try await settle(a, b)
            for store in [a, b] { #expect(try await shown(store) == []) }
            try await b.execute("INSERT INTO album VALUES ('a1', 'Again')")
            try await settle(b, a)
            for store in [a, b] { #expect(try await shown(store) == ["album a1 -", "play p s1", "song s1 a1"]) }
        }
    }
}
