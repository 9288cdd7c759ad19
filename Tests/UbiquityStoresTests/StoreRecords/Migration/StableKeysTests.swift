import Foundation
import GRDB
import Testing
import UbiquityStores

@testable import StoreRecords

/// Keys become stable, and all else of a schema stays.
struct StableKeysTests {
    @Test("the text of a statement stays, comments and quotes included, but for the types of keys and references")
    func text() throws {
        let queue = try keyedDatabase(
            """
            CREATE TABLE [select] -- a keyword
            (`a""b` INTEGER /* counted, (really */ PRIMARY KEY AUTOINCREMENT, "x""y" TEXT COLLATE NOCASE DEFAULT 'REFERENCES child(id), ''' NOT NULL);
            CREATE TABLE "child one" ('id' integer constraint k primary key desc, n INT,
                "the ref" INTEGER(10) DEFAULT NULL CHECK ("the ref" IS NULL OR 'REFERENCES x' <> '') REFERENCES [SELECT] ON DELETE SET NULL,
                untyped REFERENCES "select", [up] AS (n + 1) STORED, "child one" INTEGER, FOREIGN KEY ("child one") REFERENCES "CHILD ONE");
            """)
        try queue.writeWithoutTransaction { db throws in
            try db.execute(sql: "INSERT INTO \"select\" VALUES (3, 'a'), (7, 'b'); PRAGMA foreign_keys = OFF")
            try db.execute(
                sql: "INSERT INTO \"child one\" (id, n, \"the ref\", untyped, \"child one\") VALUES (1, 5, 7, 3, 2), (2, 6, NULL, NULL, NULL)")
            try db.execute(sql: "PRAGMA foreign_keys = ON")
        }
        try StableKeys("select", "child one").migrate(queue)
        try queue.read { db throws in
            #expect(
                try String.fetchAll(db, sql: "SELECT sql FROM sqlite_master WHERE name IN ('select', 'child one') ORDER BY rowid") == [
                    """
                    CREATE TABLE [select] -- a keyword
                    (`a""b` TEXT NOT NULL /* counted, (really */ PRIMARY KEY , "x""y" TEXT COLLATE NOCASE DEFAULT 'REFERENCES child(id), ''' NOT NULL)
                    """,
                    """
                    CREATE TABLE "child one" ('id' TEXT NOT NULL constraint k primary key desc, n INT,
                        "the ref" TEXT DEFAULT NULL CHECK ("the ref" IS NULL OR 'REFERENCES x' <> '') REFERENCES [SELECT] ON DELETE SET NULL,
                        untyped TEXT REFERENCES "select", [up] AS (n + 1) STORED, "child one" TEXT, FOREIGN KEY ("child one") REFERENCES "CHILD ONE")
                    """,
                ])
            #expect(
                try lines(
                    db,
                    #"""
                    SELECT c.rowid, c.n, c.up, p.rowid, q."x""y", s.n FROM "child one" c LEFT JOIN "select" p ON p."a""""b" = c."the ref"
                    LEFT JOIN "select" q ON q."a""""b" = c.untyped LEFT JOIN "child one" s ON s.id = c."child one" ORDER BY 1
                    """#) == ["1|5|6|7|\"a\"|6", "2|6|7|NULL|NULL|NULL"])
            #expect(try lines(db, "SELECT * FROM sqlite_sequence WHERE name = 'select'").isEmpty)
        }
    }

    @Test("indexes, triggers and views stay, and run as before")
    func objects() throws {
        let queue = try keyedDatabase(
            """
            CREATE TABLE artist (id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT REPLACE, albums INTEGER DEFAULT 0);
            CREATE TABLE album (id INTEGER PRIMARY KEY, title TEXT, artist_id INTEGER REFERENCES artist ON DELETE CASCADE ON UPDATE CASCADE);
            CREATE UNIQUE INDEX album_title ON album (artist_id, lower(title)) WHERE title IS NOT NULL;
            CREATE TRIGGER counted AFTER INSERT ON album BEGIN UPDATE artist SET albums = albums + 1 WHERE id = new.artist_id; END;
            CREATE TRIGGER other AFTER INSERT ON album WHEN new.title IS NULL BEGIN SELECT RAISE(ABORT, 'untitled'); END;
            CREATE VIEW listing AS SELECT album.id, title, name FROM album JOIN artist ON artist.id = artist_id;
            CREATE TRIGGER renamed INSTEAD OF UPDATE ON listing BEGIN UPDATE album SET title = new.title WHERE id = old.id; END;
            INSERT INTO artist (id, name) VALUES (1, 'Ann'), (2, 'Bob'); INSERT INTO album VALUES (1, 'One', 1), (2, 'Two', 2), (3, 'Three', 1);
            """)
        let others = "SELECT type, name, sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL ORDER BY name"
        let before = try queue.read { db in try (lines(db, others), lines(db, "SELECT name, albums FROM artist ORDER BY name")) }
        try StableKeys("artist", "album").migrate(queue)
        try queue.write { db throws in
            #expect(try lines(db, others) == before.0)
            #expect(try lines(db, "SELECT name, albums FROM artist ORDER BY name") == before.1, "no trigger has run")
            try db.execute(
                sql: "INSERT INTO album SELECT 'new', 'Four', id FROM artist WHERE name = 'Bob'; UPDATE listing SET title = 'Last' WHERE id = 'new'")
            #expect(try lines(db, "SELECT name, albums FROM artist ORDER BY name") == ["\"Ann\"|2", "\"Bob\"|2"])
            #expect(try lines(db, "SELECT title FROM listing WHERE name = 'Bob' ORDER BY title") == ["\"Last\"", "\"Two\""])
            #expect(throws: DatabaseError.self) { try db.execute(sql: "INSERT INTO album SELECT 'n2', 'LAST', id FROM artist WHERE name = 'Bob'") }
            try db.execute(sql: "UPDATE artist SET id = 'ann' WHERE name = 'Ann'; DELETE FROM artist WHERE name = 'Bob'")
            #expect(try lines(db, "SELECT title, artist_id FROM album ORDER BY title") == ["\"One\"|\"ann\"", "\"Three\"|\"ann\""])
        }
    }

    @Test("keys of all kinds: composite references, keys that are references, circles, tables without rowid, and tables that keep their numbers")
    func kinds() throws {
        let queue = try keyedDatabase(
            """
            CREATE TABLE a (id INTEGER PRIMARY KEY, kind TEXT, b INTEGER REFERENCES b, UNIQUE (id, kind));
            CREATE TABLE b (id INT NOT NULL PRIMARY KEY, a INTEGER REFERENCES a (id)) WITHOUT ROWID;
            CREATE TABLE detail (id INTEGER PRIMARY KEY REFERENCES a (id), text TEXT) STRICT;
            CREATE TABLE more (id INTEGER PRIMARY KEY, detail INTEGER REFERENCES detail, x INTEGER, y TEXT, FOREIGN KEY (x, y) REFERENCES a (id, kind));
            INSERT INTO a VALUES (1, 'p', 10), (-2, 'q', NULL); INSERT INTO b VALUES (10, -2), (11, 1); INSERT INTO detail VALUES (-2, 'd');
            INSERT INTO more VALUES (9, -2, 1, 'p'), (8, NULL, NULL, 'q');
            """)
        let query = """
            SELECT more.id, detail.text, origin.kind, target.kind, own.kind FROM more LEFT JOIN detail ON detail.id = more.detail
            LEFT JOIN a origin ON origin.id = detail.id LEFT JOIN a target ON (target.id, target.kind) = (x, y)
            LEFT JOIN b ON b.id = target.b LEFT JOIN a own ON own.id = b.a ORDER BY more.id
            """
        let before = try queue.read { db in try lines(db, query) }
        try StableKeys("a", "b", "detail").migrate(queue)
        try queue.read { db throws in
            #expect(try lines(db, query) == before)
            #expect(before == ["8|NULL|NULL|NULL|NULL", "9|\"d\"|\"q\"|\"p\"|\"q\""])
            for column in ["a.id", "b.id", "detail.id"] {
                let name = column.split(separator: ".")
                #expect(try lines(db, "SELECT DISTINCT typeof(\(name[1])) FROM \(name[0])") == ["\"text\""])
            }
            #expect(try lines(db, "SELECT typeof(id) FROM more") == ["\"integer\"", "\"integer\""], "an unlisted table keeps its numbers")
        }
    }

    @Test("a reference that no foreign key declares is converted where the app names it, also one to several tables")
    func undeclared() throws {
        let queue = try keyedDatabase(
            """
            CREATE TABLE artist (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE album (id INTEGER PRIMARY KEY, artist_id INTEGER);
            CREATE TABLE comment (id INTEGER PRIMARY KEY, kind TEXT, subject INTEGER, album_count INTEGER);
            INSERT INTO artist VALUES (1, 'Ann'), (2, 'Bob'); INSERT INTO album VALUES (1, 2), (2, NULL);
            INSERT INTO comment VALUES (1, 'artist', 1, 5), (2, 'album', 1, 6), (3, 'album', 2, 7), (4, NULL, NULL, 8);
            """)
        try StableKeys("artist", "album", "comment").referring(column: "artist_id", in: "album", to: "artist")
            .referring(column: "SUBJECT", in: "Comment", to: "artist", where: "comment.kind = 'artist'")
            .referring(column: "subject", in: "comment", to: "album", where: "kind = 'album'").migrate(queue)
        try queue.read { db throws in
            #expect(
                try lines(db, "SELECT album.rowid, name FROM album LEFT JOIN artist ON artist.id = artist_id ORDER BY 1") == ["1|\"Bob\"", "2|NULL"])
            #expect(
                try lines(
                    db,
                    """
                    SELECT comment.rowid, name, album.rowid, album_count FROM comment LEFT JOIN artist ON artist.id = subject
                    LEFT JOIN album ON album.id = subject ORDER BY 1
                    """) == ["1|\"Ann\"|NULL|5", "2|NULL|1|6", "3|NULL|2|7", "4|NULL|NULL|8"])
        }
    }

    @Test("shipped rows get equal keys in every database, and rows beyond get random ones; a default that names a shipped row names it still")
    func shipped() throws {
        func converted(_ name: String) throws -> [String] {
            let queue = try keyedDatabase(
                """
                CREATE TABLE genre (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO genre VALUES (1, 'Rock'), (25, 'Opera'), (26, 'Own');
                CREATE TABLE track (id INTEGER PRIMARY KEY, title TEXT, genre INTEGER NOT NULL DEFAULT 25 REFERENCES genre,
                    second INTEGER DEFAULT ( 25 ) REFERENCES genre ON DELETE SET NULL, third INTEGER CHECK (third <> '') DEFAULT + 1 REFERENCES genre, n DEFAULT 25);
                """)
            try StableKeys("genre", "track").derived(name, in: "genre", upTo: 25).migrate(queue)
            return try queue.write { db throws in
                try db.execute(sql: "INSERT INTO track (id, title) VALUES ('t', 'Aria')")
                let named =
                    "SELECT a.name, b.name, c.name, n FROM track JOIN genre a ON a.id = genre JOIN genre b ON b.id = second JOIN genre c ON c.id = third"
                #expect(try lines(db, named) == ["\"Opera\"|\"Opera\"|\"Rock\"|25"])
                return try String.fetchAll(db, sql: "SELECT id FROM genre ORDER BY rowid")
            }
        }
        let (first, second, other) = (try converted("shop"), try converted("shop"), try converted("another shop"))
        #expect(first[..<2] == second[..<2])
        #expect(first[2] != second[2])
        #expect(Set(first + second + other).count == 7)
        // The keys of shipped rows never change: devices that convert later must find the same.
        #expect(first[0] == "D56D0995-21CA-88C4-A9AE-8A380C1C75E0")
        for key in first { #expect(UUID(uuidString: key)?.uuidString == key) }
    }

    @Test("a full-text index by rowid finds the rows that it found before")
    func fullText() throws {
        let queue = try keyedDatabase(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO note VALUES (5, 'milk and bread'), (900, 'bread alone');
            CREATE VIRTUAL TABLE note_text USING fts5(body, content='note');
            CREATE TRIGGER note_insert AFTER INSERT ON note BEGIN INSERT INTO note_text (rowid, body) VALUES (new.rowid, new.body); END;
            INSERT INTO note_text (note_text) VALUES ('rebuild');
            """)
        try StableKeys("note").migrate(queue)
        try queue.write { db throws in
            try db.execute(sql: "INSERT INTO note VALUES ('new', 'more milk'); INSERT INTO note_text (note_text, rank) VALUES ('integrity-check', 1)")
            #expect(
                try lines(db, "SELECT rowid, body FROM note_text WHERE note_text MATCH 'milk' ORDER BY rowid") == [
                    "5|\"milk and bread\"", "901|\"more milk\"",
                ])
        }
    }

    @Test("a full-text index that GRDB keeps by the key is refused, and works by the rowid when the migration makes it again")
    func fullTextOfGRDB() throws {
        @Sendable func index(_ db: Database) throws {
            try db.create(virtualTable: "note_text", using: FTS5()) { table in
                table.synchronize(withTable: "note")
                table.column("body")
            }
        }
        let queue = try keyedDatabase("CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO note VALUES (5, 'milk'), (900, 'bread')")
        try queue.write(index)
        let message = try StableKeys("note").refusal(queue)
        #expect(message.contains("“note_text” reads “note” by “id”, which becomes text"), "\(message)")
        var migrator = DatabaseMigrator()
        migrator.registerMigration("stable keys") { db in
            try db.drop(table: "note_text")
            try db.dropFTS5SynchronizationTriggers(forTable: "note_text")
            try StableKeys("note").convert(db)
            try index(db)
        }
        try migrator.migrate(queue)
        try queue.write { db throws in
            try db.execute(sql: "INSERT INTO note VALUES ('new', 'more milk'); UPDATE note SET body = 'butter' WHERE rowid = 900")
            let found = "SELECT note.rowid, note.body FROM note JOIN note_text ON note_text.rowid = note.rowid WHERE note_text MATCH ? ORDER BY 1"
            #expect(try lines(db, found.replacing("?", with: "'milk'")) == ["5|\"milk\"", "901|\"more milk\""])
            #expect(try lines(db, found.replacing("?", with: "'butter'")) == ["900|\"butter\""])
        }
    }

    @Test("new keys are UUIDs of version 7, and sort by the time of their creation")
    func newKeys() throws {
        let early = KeySequence(at: Date(timeIntervalSince1970: 1_000), using: SystemRandomNumberGenerator())
        let late = KeySequence(at: Date(timeIntervalSince1970: 1_000.001), using: SystemRandomNumberGenerator())
        let keys = (1...5000).map { early.key($0) } + (1...5000).map { late.key($0) } + [StableKeys.newKey()]
        #expect(keys == keys.sorted())
        #expect(Set(keys).count == keys.count)
        for key in keys {
            #expect(key.dropFirst(14).first == "7" && "89AB".contains(key[key.index(key.startIndex, offsetBy: 19)]))
            #expect(UUID(uuidString: key)?.uuidString == key)
        }
        #expect(keys[0].hasPrefix("0000000F-4240-7"), "a million milliseconds")
    }
}
