import GRDB
import Testing
import UbiquityStores
import UbiquityTesting

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

    @Test(
        "F-03: a child that the author of a deletion did not know is held and listed, with all that refers to it, the rest goes on, and it is back with its parent"
    )
    func held() async throws {
        try await withDevices(3) { devices, _ in
            let (a, b, c) = (try await devices[0].open(Self.schema), try await devices[1].open(Self.schema), try await devices[2].open(Self.schema))
            try await a.execute("INSERT INTO album VALUES ('a1', 'One'); INSERT INTO song VALUES ('s1', 'a1', 'old')")
            try await settle(a, b, c)
            try await a.execute("DELETE FROM album")
            try await b.execute(
                "INSERT INTO song VALUES ('s2', 'a1', 'new'); INSERT INTO play VALUES ('p', 's2'); INSERT INTO note VALUES ('n', 'a1')")
            try await settle(a, b, c)
            for store in [a, b, c] {
                #expect(try await shown(store) == ["note n -"])
                #expect(try await Set(store.held().map(\.record.text)) == ["song/t:s2", "play/t:p"])
                #expect(try await store.status().waiting.isEmpty)
            }
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

    @Test("a reference of several columns that is joined of two records which are one shows alike everywhere, whenever its parent comes")
    func joinedReference() async throws {
        let sql = """
            CREATE TABLE place ("row" TEXT NOT NULL, seat INTEGER NOT NULL, PRIMARY KEY ("row", seat));
            CREATE TABLE ticket (id TEXT NOT NULL PRIMARY KEY, code TEXT UNIQUE, "row" TEXT, seat INTEGER,
            FOREIGN KEY ("row", seat) REFERENCES place ("row", seat) ON DELETE CASCADE);
            """
        let schema = SyncedSchema(migrator: migrator(sql)) {
            SyncedTable("place")
            SyncedTable("ticket", unique: [["code"]])
        }
        let tickets = "SELECT id, quote(code), quote(\"row\"), quote(seat) FROM ticket"
        try await withDevices(3) { devices, _ in
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO place VALUES ('A', 1); INSERT INTO ticket VALUES ('1', 'x', 'A', 1)")
            devices[1].clock.advance(by: 60)
            try await b.execute("INSERT INTO ticket VALUES ('2', 'x', 'B', NULL)")
            try await settle(a, b)
            // By its columns one by one the ticket names (B, 1), which comes only now.
            try await a.execute("INSERT INTO place VALUES ('B', 1)")
            try await settle(a, b)
            let newcomer = try await devices[2].open(schema)
            try await newcomer.settled()
            #expect(try await newcomer.rows(tickets).count == 1)
            for store in [a, b] { #expect(try await store.rows(tickets) == newcomer.rows(tickets)) }
            try await a.execute("DELETE FROM place WHERE \"row\" = 'B'")
            try await settle(a, b, newcomer)
            for store in [a, b] { #expect(try await store.rows(tickets) == newcomer.rows(tickets)) }
        }
    }

    @Test(
        "What a child shows whose parent was deleted apart is what its action says",
        arguments: [
            ("TEXT REFERENCES p (id) ON DELETE SET NULL", "NULL"), ("TEXT DEFAULT 'd' REFERENCES p (id) ON DELETE SET DEFAULT", "'d'"),
            ("TEXT DEFAULT 'gone' REFERENCES p (id) ON DELETE SET DEFAULT", nil),
            ("TEXT NOT NULL DEFAULT 'd' REFERENCES p (id) ON DELETE SET NULL", nil),
            ("TEXT CHECK (p IS NOT NULL) REFERENCES p (id) ON DELETE SET NULL", nil), ("TEXT REFERENCES p (id) ON DELETE CASCADE", nil),
            ("TEXT REFERENCES p (id) ON DELETE RESTRICT", nil), ("TEXT REFERENCES p (id)", nil),
        ])
    func actions(column: String, shown: String?) async throws {
        let sql = "CREATE TABLE p (id TEXT NOT NULL PRIMARY KEY); CREATE TABLE c (id TEXT NOT NULL PRIMARY KEY, p \(column))"
        let schema = SyncedSchema(migrator: migrator(sql)) {
            SyncedTable("c")
            SyncedTable("p")
        }
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO p VALUES ('d'), ('x')")
            try await settle(a, b)
            try await a.execute("DELETE FROM p WHERE id = 'x'")
            try await b.execute("INSERT INTO c VALUES ('1', 'x')")
            try await settle(a, b)
            for store in [a, b] {
                #expect(try await store.rows("SELECT quote(p) FROM c") == (shown.map { [[$0]] } ?? []))
                let held = try await store.held()
                #expect(
                    held.map(\.record.text) == (shown == nil ? ["c/t:1"] : [])
                        && held.allSatisfy { $0.reason.contains("p/x is not there") || $0.reason.contains("CHECK") })
                #expect(try await store.status().held == held.count)
            }
            try await b.execute("INSERT INTO p VALUES ('x')")
            try await settle(b, a)
            for store in [a, b] { #expect(try await store.rows("SELECT p FROM c") == [["x"]]) }
        }
    }

    @Test("A default that is written as another type than its column stores is found as a parent, and only while that is shown")
    func defaultOfAnotherType() async throws {
        let sql = """
            CREATE TABLE p (id INTEGER NOT NULL PRIMARY KEY, q INTEGER REFERENCES q (id));
            CREATE TABLE q (id INTEGER NOT NULL PRIMARY KEY);
            CREATE TABLE c (id TEXT NOT NULL PRIMARY KEY, p INTEGER DEFAULT '1' REFERENCES p (id) ON DELETE SET DEFAULT)
            """
        let schema = SyncedSchema(migrator: migrator(sql)) {
            SyncedTable("c")
            SyncedTable("p", assignsIntegerKeys: true)
            SyncedTable("q", assignsIntegerKeys: true)
        }
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO q VALUES (7); INSERT INTO p VALUES (1, NULL), (2, NULL); INSERT INTO c VALUES ('x', 2)")
            try await settle(a, b)
            try await a.execute("DELETE FROM p WHERE id = 2")
            try await b.execute("UPDATE c SET p = 2; INSERT INTO c VALUES ('y', 2)")
            try await settle(a, b)
            for store in [a, b] { #expect(try await store.rows("SELECT id, quote(p) FROM c ORDER BY id") == [["x", "1"], ["y", "1"]]) }
            // The default's record is held, since its own parent goes: so are those that show it.
            try await a.execute("DELETE FROM q")
            try await b.execute("UPDATE p SET q = 7")
            try await settle(a, b)
            for store in [a, b] {
                #expect(try await store.rows("SELECT id FROM c").isEmpty)
                #expect(try await store.rows("PRAGMA foreign_key_check").isEmpty)
                #expect(try await store.held().map(\.record.text).sorted() == ["c/t:x", "c/t:y", "p/i:1"])
            }
        }
    }

    @Test("A record whose key has come to mean a default, since what it refers to became one, is shown in the place of lost parents at once")
    func defaultByUnion() async throws {
        let sql = """
            CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, isrc TEXT UNIQUE);
            CREATE TABLE entry (song TEXT NOT NULL PRIMARY KEY REFERENCES song (id)) WITHOUT ROWID;
            CREATE TABLE mark (id TEXT NOT NULL PRIMARY KEY, entry TEXT DEFAULT 'a' REFERENCES entry (song) ON DELETE SET DEFAULT)
            """
        let schema = SyncedSchema(migrator: migrator(sql)) {
            SyncedTable("mark")
            SyncedTable("entry")
            SyncedTable("song", unique: [["isrc"]])
        }
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO song VALUES ('b', 'x'), ('z', NULL); INSERT INTO entry VALUES ('b'), ('z')")
            try await settle(a, b)
            try await a.execute("DELETE FROM entry WHERE song = 'z'")
            try await b.execute("INSERT INTO mark VALUES ('m', 'z')")
            try await settle(a, b)
            for store in [a, b] { #expect(try await store.rows("SELECT * FROM mark").isEmpty) }
            // Both songs are one, shown as 'a': so the entry of 'b' is that of 'a'.
            try await a.execute("INSERT INTO song VALUES ('a', 'y')")
            try await settle(a, b)
            try await a.execute("UPDATE song SET isrc = 'w' WHERE id = 'a'")
            try await b.execute("UPDATE song SET isrc = 'w' WHERE id = 'b'")
            try await settle(a, b)
            for store in [a, b] {
                #expect(try await store.rows("SELECT song FROM entry") == [["a"]])
                #expect(try await store.rows("SELECT id, entry FROM mark") == [["m", "a"]])
            }
        }
    }

    @Test("F-06: a join table merges as a set, and is one where what it joins has become one")
    func joinTable() async throws {
        let sql = """
            CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, isrc TEXT UNIQUE);
            CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY);
            CREATE TABLE entry (list TEXT NOT NULL REFERENCES list (id) ON DELETE CASCADE, song TEXT NOT NULL REFERENCES song (id) ON DELETE CASCADE,
                note TEXT, PRIMARY KEY (list, song)) WITHOUT ROWID;
            CREATE TABLE mark (id TEXT NOT NULL PRIMARY KEY, l TEXT, s TEXT, FOREIGN KEY (l, s) REFERENCES entry (list, song));
            """
        let schema = SyncedSchema(migrator: migrator(sql)) {
            ["mark", "entry", "list", "song"].map { SyncedTable($0, unique: $0 == "song" ? [["isrc"]] : []) }
        }
        let entries = "SELECT list, song, quote(note) FROM entry ORDER BY 1, 2"
        try await withDevices(3) { devices, _ in
            let (a, b, c) = (try await devices[0].open(schema), try await devices[1].open(schema), try await devices[2].open(schema))
            try await a.execute("INSERT INTO list VALUES ('l'); INSERT INTO song VALUES ('s1', NULL), ('s3', NULL)")
            try await settle(a, b, c)
            try await a.execute("INSERT INTO song VALUES ('sA', 'x'); INSERT INTO entry VALUES ('l', 'sA', 'of a'), ('l', 's1', NULL)")
            devices[1].clock.advance(by: 60)
            try await b.execute("INSERT INTO song VALUES ('sB', 'x'); INSERT INTO entry VALUES ('l', 'sB', 'of b'), ('l', 's3', NULL)")
            try await b.execute("INSERT INTO mark VALUES ('m', 'l', 'sB')")
            try await settle(a, b, c)
            for store in [a, b, c] {
                #expect(try await store.rows(entries) == [["l", "s1", "NULL"], ["l", "s3", "NULL"], ["l", "sA", "'of b'"]])
                #expect(try await store.rows("SELECT l, s FROM mark") == [["l", "sA"]])
            }
            try await c.execute("DELETE FROM mark; DELETE FROM entry WHERE song = 'sA'")
            try await settle(c, a, b)
            for store in [a, b, c] { #expect(try await store.rows(entries) == [["l", "s1", "NULL"], ["l", "s3", "NULL"]]) }
        }
    }

    /// What is done to an entry that is shown under another key than its own, and the entries afterwards.
    private static let reinserted: [(sql: String, entries: [[String]])] = [
        // The row that is there stays; what is inserted is another.
        (
            "INSERT INTO song VALUES ('sB', 'y'); INSERT INTO entry VALUES ('l', 'sB', 'new')",
            [["l", "sA", "'old'"], ["l", "sB", "'new'"]]
        ),
        (
            "INSERT INTO song VALUES ('sB', 'y'); UPDATE entry SET note = 'late'; INSERT INTO entry VALUES ('l', 'sB', 'new')",
            [["l", "sA", "'late'"], ["l", "sB", "'new'"]]
        ),
        (
            "INSERT INTO song VALUES ('sB', 'y'); INSERT INTO entry VALUES ('l', 'sB', 'new'); UPDATE entry SET note = 'late' WHERE song = 'sA'",
            [["l", "sA", "'late'"], ["l", "sB", "'new'"]]
        ),
        // Moved, or deleted first.
        ("INSERT INTO song VALUES ('sB', 'y'); UPDATE entry SET song = 'sB', note = 'moved'", [["l", "sB", "'moved'"]]),
        ("INSERT INTO song VALUES ('sB', 'y'); DELETE FROM entry; INSERT INTO entry VALUES ('l', 'sB', 'new')", [["l", "sB", "'new'"]]),
        (
            "INSERT INTO song VALUES ('sB', 'y'); INSERT INTO entry VALUES ('l', 'sB', 'new'); DELETE FROM entry WHERE song = 'sA'",
            [["l", "sB", "'new'"]]
        ),
        (
            "INSERT INTO song VALUES ('sB', 'y'); INSERT INTO entry VALUES ('l', 'sB', 'new'); REPLACE INTO entry VALUES ('l', 'sA', 'again')",
            [["l", "sA", "'again'"], ["l", "sB", "'new'"]]
        ),
        (
            "INSERT INTO song VALUES ('sB', 'y'); REPLACE INTO entry VALUES ('l', 'sA', 'again'), ('l', 'sB', 'new')",
            [["l", "sA", "'again'"], ["l", "sB", "'new'"]]
        ),
        // By another program, which enforces no reference: both are one then.
        ("INSERT INTO entry VALUES ('l', 'sB', 'new') -- by sqlite3", [["l", "sA", "'old'"]]),
    ]

    @Test("An entry that is inserted under a key that another row is shown for is another, and that row stays on every device", arguments: reinserted)
    func reinsertedBesideItsRow(sql: String, entries: [[String]]) async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, isrc TEXT UNIQUE);
                CREATE TABLE entry (list TEXT NOT NULL, song TEXT NOT NULL REFERENCES song (id), note TEXT, PRIMARY KEY (list, song));
                """)
        ) { ["song", "entry"].map { SyncedTable($0, unique: $0 == "song" ? [["isrc"]] : []) } }
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(schema), try await devices[1].open(schema))
            try await a.execute("INSERT INTO song VALUES ('sA', 'x')")
            devices[1].clock.advance(by: 60)
            try await b.execute("INSERT INTO song VALUES ('sB', 'x'); INSERT INTO entry VALUES ('l', 'sB', 'old')")
            try await settle(a, b)
            let query = "SELECT list, song, quote(note) FROM entry ORDER BY 1, 2"
            for store in [a, b] { #expect(try await store.rows(query) == [["l", "sA", "'old'"]]) }
            if sql.hasSuffix("by sqlite3") {
                try sqlite3(a.file, sql)
            } else {
                try await a.execute(sql)
            }
            try await settle(a, b)
            for store in [a, b] { #expect(try await store.rows(query) == entries) }
        }
    }

    @Test("A reference that cannot sync is refused at opening, with its remedy")
    func refusals() async throws {
        let sql = """
            CREATE TABLE p (id TEXT NOT NULL PRIMARY KEY, other TEXT UNIQUE); CREATE TABLE local (id TEXT NOT NULL PRIMARY KEY, p TEXT REFERENCES p (id));
            CREATE TABLE typed (id TEXT NOT NULL PRIMARY KEY, p INTEGER REFERENCES p (id));
            CREATE TABLE x (id TEXT NOT NULL PRIMARY KEY REFERENCES y (id)); CREATE TABLE y (id TEXT NOT NULL PRIMARY KEY REFERENCES x (id));
            CREATE TABLE part (k TEXT NOT NULL, l TEXT, m TEXT, PRIMARY KEY (k), FOREIGN KEY (k, l) REFERENCES pair (a, b));
            CREATE TABLE pair (a TEXT NOT NULL, b TEXT NOT NULL, PRIMARY KEY (a, b));
            """
        let schema = SyncedSchema(migrator: migrator(sql)) {
            ["p", "typed", "x", "y", "part", "pair"].map { SyncedTable($0, unique: $0 == "p" ? [["other"]] : []) }
        }
        try await withDevices(1) { devices, _ in
            await #expect {
                try await devices[0].open(schema)
            } throws: { error in
                let message = (error as? UbiquitousStoreError)?.message ?? ""
                let expected = [
                    "only one of them is synced", "of another type than “id”", "refer to each other in a circle", "partly in the primary key",
                ]
                return expected.allSatisfy { message.contains($0) } && message.split(separator: "\n").count == expected.count + 1
            }
        }
    }
}
