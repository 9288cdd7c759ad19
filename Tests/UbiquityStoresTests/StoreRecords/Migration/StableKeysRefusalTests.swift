import GRDB
import Testing
import UbiquityStores

/// A conversion of keys lists all that it cannot convert, with the remedy, and changes nothing.
struct StableKeysRefusalTests {
    private static let music = """
        CREATE TABLE artist (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE album (id INTEGER PRIMARY KEY, title TEXT, artist_id INTEGER REFERENCES artist);
        INSERT INTO artist VALUES (1, 'Ann'); INSERT INTO album VALUES (1, 'One', 1);
        """

    /// A schema beside the music, a request, and what the refusal says.
    struct Case: Sendable, CustomTestStringConvertible {
        var sql = ""
        var keys = StableKeys("artist", "album")
        var message: String
        var testDescription: String { message }
    }

    static let cases = [
        Case(keys: StableKeys("artist", "missing"), message: "“missing” is no ordinary table"),
        Case(keys: StableKeys("artist", "ARTIST"), message: "“ARTIST” is listed twice"),
        Case(sql: "CREATE VIEW v AS SELECT 1", keys: StableKeys("v"), message: "“v” is no ordinary table"),
        Case(sql: "CREATE VIRTUAL TABLE f USING fts5(a)", keys: StableKeys("f"), message: "“f” is no ordinary table"),
        Case(sql: "CREATE TABLE t (id TEXT PRIMARY KEY)", keys: StableKeys("t"), message: "The key “id” of “t” is no INTEGER"),
        Case(sql: "CREATE TABLE t (a INTEGER, b INTEGER, PRIMARY KEY (a, b))", keys: StableKeys("t"), message: "The key of “t” has 2 columns"),
        Case(sql: "CREATE TABLE t (a INTEGER)", keys: StableKeys("t"), message: "“t” has no primary key"),
        Case(sql: "CREATE TABLE t (oid INTEGER PRIMARY KEY)", keys: StableKeys("t"), message: "has a name of SQLite's rowid"),
        Case(
            sql: "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES ('x'), (NULL), (2)", keys: StableKeys("t"),
            message: "2 of the keys of “t”"),
        Case(sql: "CREATE TABLE t (artist_id INTEGER)", message: "“t.artist_id” looks like a reference to “artist”"),
        Case(sql: "CREATE TABLE t (AlbumID BIGINT)", message: "“t.AlbumID” looks like a reference to “album”"),
        Case(sql: "CREATE TABLE t (favorite_album_id NUMERIC)", message: "“t.favorite_album_id” looks like a reference to “album”"),
        Case(
            sql: "CREATE TABLE folder (id INTEGER PRIMARY KEY, parent_id INTEGER)", keys: StableKeys("folder"),
            message: "“folder.parent_id” looks like a reference to “folder”"),
        Case(sql: "CREATE TABLE t (a INTEGER DEFAULT 1 REFERENCES artist)", message: "“t.a” has the default 1"),
        Case(sql: "CREATE TABLE t (a INTEGER DEFAULT (abs(-1)) REFERENCES artist)", message: "“t.a” has the default abs(-1)"),
        Case(sql: "CREATE TABLE t (a INTEGER, b INTEGER AS (a) REFERENCES artist)", message: "“t.b” refers to a converted key and is computed"),
        Case(sql: "CREATE TABLE t (a INTEGER REFERENCES artist REFERENCES album)", message: "“t.a” refers to “album.id” and “artist.id”"),
        Case(
            sql: "CREATE TABLE base (id INTEGER PRIMARY KEY); CREATE TABLE t (id INTEGER PRIMARY KEY REFERENCES base)", keys: StableKeys("t"),
            message: "“t.id” refers to “base.id” too, which keeps its integers: list “base”"),
        Case(sql: "CREATE TABLE t (a INTEGER REFERENCES artist CHECK (a > 0))", message: "A CHECK or a computed column of “t” uses “a”"),
        Case(sql: "CREATE TABLE t (a INTEGER REFERENCES artist, b AS (a * 2))", message: "A CHECK or a computed column of “t” uses “a”"),
        Case(sql: "CREATE VIEW first AS SELECT * FROM artist WHERE artist.id = 1", message: "The view “first” uses “id” as a number"),
        Case(sql: "CREATE VIEW first AS SELECT * FROM artist WHERE 1 <> id", message: "The view “first” uses “id” as a number"),
        Case(sql: "CREATE VIEW first AS SELECT * FROM artist WHERE id IN (1, 2)", message: "The view “first” uses “id” as a number"),
        Case(sql: "CREATE VIEW first AS SELECT * FROM artist WHERE id >= (SELECT 1)", message: "The view “first” uses “id” as a number"),
        Case(
            sql: "CREATE VIEW people AS SELECT * FROM artist; CREATE VIEW first AS SELECT * FROM people WHERE id = 1",
            message: "The view “first” uses “id” as a number"),
        Case(
            sql: "CREATE VIEW first AS SELECT CASE artist_id WHEN 1 THEN 'Ann' END FROM album",
            message: "The view “first” uses “artist_id” as a number"),
        Case(sql: "CREATE VIEW first AS SELECT max(id) FROM artist", message: "The view “first” uses “id” as a number"),
        Case(
            sql: "CREATE VIEW first AS SELECT artist.rowid FROM artist JOIN album ON artist.rowid = artist_id",
            message: "The view “first” uses “rowid”"),
        Case(sql: "CREATE INDEX first ON album (artist_id % 2)", message: "The index “first” uses “artist_id” as a number"),
        Case(
            sql: "CREATE TRIGGER t AFTER INSERT ON artist BEGIN INSERT INTO album (title) VALUES ('New'); END",
            message: "The trigger “t” inserts into “album” without a key"),
        Case(
            sql: "CREATE TRIGGER t AFTER INSERT ON artist BEGIN UPDATE album SET artist_id = last_insert_rowid(); END",
            message: "The trigger “t” uses “last_insert_rowid”"),
        Case(
            sql: "CREATE VIRTUAL TABLE f USING fts5(name, content='artist', content_rowid='id')",
            message: "“f” reads “artist” by “id”, which becomes text"),
        Case(
            sql: """
                CREATE VIRTUAL TABLE f USING fts5(name, content='artist');
                CREATE TRIGGER t AFTER INSERT ON artist BEGIN INSERT INTO f (rowid, name) VALUES (new.id, new.name); END
                """, message: "The trigger “t” uses “rowid”"),
        Case(sql: "CREATE VIRTUAL TABLE r USING rtree(id, a, b)", message: "“r” is an R*Tree"),
        Case(
            sql: "CREATE TABLE t (a INTEGER REFERENCES artist); INSERT INTO t VALUES (1), (77), (78)",
            message: "2 rows of “t” refer by “a” to rows that do not exist"),
        Case(
            keys: StableKeys("artist", "album").referring(column: "nothing", in: "album", to: "artist"),
            message: "names a column that does not exist"),
        Case(
            keys: StableKeys("artist", "album").referring(column: "title", in: "album", to: "track"), message: "refers to a table that is not listed"),
        Case(
            keys: StableKeys("artist", "album").referring(column: "artist_id", in: "album", to: "artist", where: "title = ''"),
            message: "“album.artist_id” refers under a condition, and has a foreign key too"),
        Case(
            sql: "CREATE TABLE t (a INTEGER, kind TEXT); INSERT INTO t VALUES (1, 'artist'), (1, 'neither')",
            keys: StableKeys("artist", "album").referring(column: "a", in: "t", to: "artist", where: "kind = 'artist'"),
            message: "1 rows of “t” refer by “a” to rows that do not exist"),
        Case(keys: StableKeys("artist", "album").derived("x", in: "track", upTo: 5), message: "names a table that is not listed"),
        Case(
            sql: "CREATE TABLE t (id INTEGER PRIMARY KEY REFERENCES artist)", keys: StableKeys("artist", "t").derived("x", in: "t", upTo: 5),
            message: "its keys are those of “artist”"),
        Case(keys: StableKeys("artist", "album").accepting("nobody"), message: "accepting(\"nobody\") names nothing in the schema"),
    ]

    @Test("a conversion refuses what it cannot convert, and says what to do", arguments: cases)
    func refuses(_ test: Case) throws {
        let message = try test.keys.refusal(keyedDatabase(Self.music + test.sql))
        #expect(message.contains(test.message), "\(message)")
    }

    @Test("one refusal lists all obstacles of a schema")
    func all() throws {
        let queue = try keyedDatabase(
            Self.music + """
                CREATE VIEW v AS SELECT id + 1 FROM artist; CREATE TABLE t (artist_id INTEGER); CREATE VIRTUAL TABLE r USING rtree(id, a, b);
                """)
        let message = try StableKeys("artist", "album").refusal(queue)
        #expect(message.split(separator: "\n  - ").count == 4, "\(message)")
    }

    @Test("what the app accepts is no obstacle")
    func accepts() throws {
        let queue = try keyedDatabase(
            Self.music + """
                CREATE VIEW v AS SELECT id + 1 FROM artist; CREATE TABLE t (artist_id INTEGER, a INTEGER REFERENCES artist CHECK (a > 0));
                CREATE VIRTUAL TABLE r USING rtree(id, a, b); INSERT INTO t VALUES (1, 1);
                """)
        try StableKeys("artist", "album").accepting("V", "t", "t.artist_id", "r").migrate(queue)
        try queue.read { db throws in
            #expect(try lines(db, "SELECT artist_id, name FROM t JOIN artist ON artist.id = a") == ["1|\"Ann\""])
        }
    }

    @Test("outside a migration, and in one with immediate checks, foreign keys are on, and the conversion is refused")
    func foreignKeys() throws {
        let queue = try keyedDatabase(Self.music)
        let error = #expect(throws: UbiquitousStoreError.self) { try queue.write { db in try StableKeys("artist", "album").convert(db) } }
        #expect(error?.code == .unsupported)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("keys", foreignKeyChecks: .immediate) { db in try StableKeys("artist", "album").convert(db) }
        #expect(throws: UbiquitousStoreError.self) { try migrator.migrate(queue) }
        try StableKeys("artist", "album").migrate(queue)
    }
}
