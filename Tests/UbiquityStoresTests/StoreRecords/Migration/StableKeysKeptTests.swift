import GRDB
import Testing
import UbiquityStores

/// Conversions of keys in which a reference, a counter or a row could be lost.
struct StableKeysKeptTests {
    @Test("a condition reads other tables as they were before the conversion, whichever is converted first")
    func conditions() throws {
        let queue = try keyedDatabase(
            """
            CREATE TABLE artist (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE comment (id INTEGER PRIMARY KEY, subject INTEGER, text TEXT);
            CREATE TABLE album (id INTEGER PRIMARY KEY, title TEXT);
            INSERT INTO artist VALUES (1, 'Ann'); INSERT INTO album VALUES (10, 'One');
            INSERT INTO comment VALUES (7, 1, 'a'), (8, 10, 'b'), (9, NULL, 'c');
            """)
        try StableKeys("artist", "comment", "album")
            .referring(column: "subject", in: "comment", to: "artist", where: "EXISTS (SELECT 1 FROM artist WHERE artist.id = subject)")
            .referring(column: "subject", in: "comment", to: "album", where: "EXISTS (SELECT 1 FROM album WHERE album.id = subject)")
            .migrate(queue)
        try queue.read { db throws in
            let found = """
                SELECT comment.rowid, text, name, title FROM comment LEFT JOIN artist ON artist.id = subject LEFT JOIN album ON album.id = subject
                ORDER BY 1
                """
            #expect(try lines(db, found) == ["7|\"a\"|\"Ann\"|NULL", "8|\"b\"|NULL|\"One\"", "9|\"c\"|NULL|NULL"])
            #expect(try lines(db, "SELECT name FROM temp.sqlite_master").isEmpty)
        }
    }

    @Test("a table that keeps its numbers gives none of them again, as AUTOINCREMENT promises")
    func counters() throws {
        let queue = try keyedDatabase(
            """
            CREATE TABLE artist (id INTEGER PRIMARY KEY AUTOINCREMENT);
            CREATE TABLE play (id INTEGER PRIMARY KEY AUTOINCREMENT, artist INTEGER REFERENCES artist);
            INSERT INTO artist VALUES (1); INSERT INTO play VALUES (1, 1), (9, 1); DELETE FROM play WHERE id = 9;
            """)
        try StableKeys("artist").migrate(queue)
        try queue.write { db throws in
            #expect(try lines(db, "SELECT name, seq FROM sqlite_sequence") == ["\"play\"|9"])
            try db.execute(sql: "INSERT INTO play (artist) SELECT id FROM artist")
            #expect(try lines(db, "SELECT id FROM play ORDER BY id") == ["1", "10"])
        }
    }

    @Test("a CHECK can contain the name of its own table")
    func qualified() throws {
        let queue = try keyedDatabase(
            "CREATE TABLE artist (id INTEGER PRIMARY KEY, name TEXT CHECK (artist.name GLOB 'A*')); INSERT INTO artist VALUES (5, 'Ann')")
        try StableKeys("artist").migrate(queue)
        try queue.write { db throws in
            #expect(
                try String.fetchAll(db, sql: "SELECT sql FROM sqlite_master WHERE name = 'artist'") == [
                    "CREATE TABLE artist (id TEXT NOT NULL PRIMARY KEY, name TEXT CHECK (artist.name GLOB 'A*'))"
                ])
            #expect(try lines(db, "SELECT rowid, name FROM artist") == ["5|\"Ann\""])
            #expect(throws: DatabaseError.self) { try db.execute(sql: "INSERT INTO artist VALUES ('new', 'Bob')") }
        }
    }

    @Test("rows that would replace each other are refused")
    func replacing() throws {
        let queue = try keyedDatabase(
            """
            CREATE TABLE artist (id INTEGER PRIMARY KEY); CREATE TABLE t (a UNIQUE ON CONFLICT REPLACE REFERENCES artist);
            INSERT INTO artist VALUES (1); INSERT INTO t VALUES (1), ('1');
            """)
        #expect(try StableKeys("artist").refusal(queue).contains("Rows of “t” were lost"))
    }
}
