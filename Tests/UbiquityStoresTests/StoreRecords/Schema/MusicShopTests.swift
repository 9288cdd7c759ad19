import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityStores

/// A schema as apps have them: a music shop of eleven tables, foreign keys throughout, join table and self-reference included.
struct MusicShopTests {
    private static func sql(key: String) -> String {
        """
        CREATE TABLE artist (id \(key), name TEXT);
        CREATE TABLE album (id \(key), title TEXT NOT NULL, artist TEXT NOT NULL REFERENCES artist (id) ON DELETE CASCADE);
        CREATE TABLE media_type (id \(key), name TEXT UNIQUE);
        CREATE TABLE genre (id \(key), name TEXT UNIQUE);
        CREATE TABLE track (id \(key), name TEXT NOT NULL, album TEXT REFERENCES album (id) ON DELETE SET NULL,
            media_type TEXT NOT NULL REFERENCES media_type (id), genre TEXT REFERENCES genre (id) ON DELETE SET NULL, composer TEXT,
            milliseconds INTEGER NOT NULL, bytes INTEGER, unit_price NUMERIC NOT NULL);
        CREATE TABLE playlist (id \(key), name TEXT);
        CREATE TABLE playlist_track (playlist TEXT NOT NULL REFERENCES playlist (id) ON DELETE CASCADE,
            track TEXT NOT NULL REFERENCES track (id) ON DELETE CASCADE, position TEXT, PRIMARY KEY (playlist, track)) WITHOUT ROWID;
        CREATE TABLE employee (id \(key), last_name TEXT NOT NULL, first_name TEXT NOT NULL, title TEXT,
            reports_to TEXT REFERENCES employee (id) ON DELETE SET NULL);
        CREATE TABLE customer (id \(key), name TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
            support TEXT REFERENCES employee (id) ON DELETE SET NULL);
        CREATE TABLE invoice (id \(key), customer TEXT NOT NULL REFERENCES customer (id) ON DELETE RESTRICT, date TEXT NOT NULL, total NUMERIC);
        CREATE TABLE invoice_line (id \(key), invoice TEXT NOT NULL REFERENCES invoice (id) ON DELETE CASCADE,
            track TEXT NOT NULL REFERENCES track (id) ON DELETE RESTRICT, unit_price NUMERIC NOT NULL, quantity INTEGER NOT NULL CHECK (quantity > 0));
        CREATE INDEX album_artist ON album (artist);
        CREATE INDEX track_album ON track (album);
        """
    }
    private static let tables = [
        "artist", "album", "media_type", "genre", "track", "playlist", "playlist_track", "employee", "customer", "invoice", "invoice_line",
    ]

    private static func schema(key: String = "TEXT NOT NULL PRIMARY KEY") -> SyncedSchema {
        SyncedSchema(migrator: migrator(sql(key: key))) {
            let unique = ["media_type": "name", "genre": "name", "customer": "email"]
            tables.map { name in SyncedTable(name, unique: unique[name].map { [[$0]] } ?? []) }
        }
    }

    /// Fills a plain database, whose rows refer to each other as a shop's do.
    private static func fill(_ path: FilePath) throws {
        let queue = try DatabaseQueue(path: path.string)
        try migrator(sql(key: "TEXT NOT NULL PRIMARY KEY")).migrate(queue)
        try queue.write { db in
            func insert(_ table: String, _ values: [(any DatabaseValueConvertible)?]) throws {
                let places = Array(repeating: "?", count: values.count).joined(separator: ",")
                try db.execute(sql: "INSERT INTO \(table) VALUES (\(places))", arguments: StatementArguments(values))
            }
            for number in 0..<3 { try insert("media_type", ["m\(number)", "Medium \(number)"]) }
            for number in 0..<5 { try insert("genre", ["g\(number)", "Genre \(number)"]) }
            for number in 0..<10 { try insert("artist", ["a\(number)", "Artist \(number)"]) }
            for number in 0..<20 { try insert("album", ["b\(number)", "Album \(number)", "a\(number / 2)"]) }
            for number in 0..<100 {
                try insert(
                    "track", ["t\(number)", "Track \(number)", "b\(number / 5)", "m\(number % 3)", "g\(number % 5)", nil, number * 1000, nil, 0.99])
            }
            for number in 0..<4 {
                try insert("playlist", ["p\(number)", "List \(number)"])
                for track in 0..<10 { try insert("playlist_track", ["p\(number)", "t\(track * (number + 1))", "\(track)"]) }
            }
            for number in 0..<4 {
                try insert("employee", ["e\(number)", "Last \(number)", "First", nil, number == 0 ? nil : "e\((number - 1) / 2)"])
            }
            for number in 0..<8 { try insert("customer", ["c\(number)", "Customer \(number)", "c\(number)@x", "e\(number % 4)"]) }
            for number in 0..<16 {
                try insert("invoice", ["i\(number)", "c\(number / 2)", "2026-01-01", 1.98])
                for line in 0..<2 { try insert("invoice_line", ["l\(number * 2 + line)", "i\(number)", "t\(number * 3 + line)", 0.99, 1]) }
            }
        }
        try queue.close()
    }

    private func content(_ store: UbiquitousStore) async throws -> [[String]] {
        try await store.read { db in
            try Self.tables.map { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table) ORDER BY 1, 2").map { row in
                    table + row.databaseValues.map { "|\($0)" }.joined()
                }
            }
        }
    }

    @Test("A music shop's schema is adopted on one device, edited apart on three, and equal at the end, with every reference whole")
    func shop() async throws {
        try await withDevices(3) { devices, root in
            let plain = root.appending("shop.sqlite")
            try Self.fill(plain)
            let first = try await devices[0].open(Self.schema(), existing: plain)
            try await first.settled()
            let stores = [first, try await devices[1].open(Self.schema()), try await devices[2].open(Self.schema())]
            try await settle(stores[0], stores[1], stores[2])
            let adopted = try await content(first)
            #expect(adopted.map(\.count) == [10, 20, 3, 5, 100, 4, 40, 4, 8, 16, 32])
            for store in stores { #expect(try await content(store) == adopted) }
            // One deletes what the others go on using, two make the same genre and the same customer, and lists are edited by all.
            try await stores[0].execute("DELETE FROM artist WHERE id = 'a1'; DELETE FROM employee WHERE id = 'e1'")
            try await stores[0].execute("DELETE FROM playlist WHERE id = 'p3'; INSERT INTO genre VALUES ('gz', 'Jazz')")
            try await stores[0].execute("INSERT INTO track VALUES ('n0', 'New', 'b9', 'm1', 'gz', NULL, 1, NULL, 1.29)")
            try await stores[1].execute("INSERT INTO album VALUES ('n1', 'Late', 'a1'); UPDATE track SET album = 'n1' WHERE id = 't50'")
            try await stores[1].execute("INSERT INTO genre VALUES ('ga', 'Jazz'); UPDATE track SET genre = 'ga' WHERE album = 'b9'")
            try await stores[1].execute(
                "INSERT INTO customer VALUES ('n1', 'Ann', 'ann@x', 'e1'); INSERT INTO invoice VALUES ('n1', 'n1', '2026-02-01', 0.99)")
            try await stores[1].execute("INSERT INTO playlist_track VALUES ('p3', 't99', '9'); UPDATE customer SET support = 'e1' WHERE id = 'c0'")
            try await stores[2].execute(
                "INSERT INTO customer VALUES ('n2', 'Anne', 'ann@x', 'e2'); INSERT INTO invoice VALUES ('n2', 'n2', '2026-02-02', 1.98)")
            try await stores[2].execute("INSERT INTO invoice_line VALUES ('n2', 'n2', 't7', 0.99, 2); UPDATE album SET title = 'Renamed'")
            try await stores[2].execute(
                "DELETE FROM playlist_track WHERE playlist = 'p0'; DELETE FROM media_type WHERE id NOT IN (SELECT media_type FROM track)")
            try await settle(stores[0], stores[1], stores[2])
            try await settle(stores[2], stores[1], stores[0])
            let merged = try await content(stores[0])
            for store in stores {
                #expect(try await content(store) == merged)
                #expect(try await store.rows("PRAGMA foreign_key_check").isEmpty)
                #expect(try await store.rows("PRAGMA integrity_check") == [["ok"]])
                // The album by an artist who is gone waits, and says for whom.
                #expect(try await store.held().map(\.record.text) == ["album/t:n1", "playlist_track/t:p3/t:t99"])
                #expect(try await store.duplicates().map(\.record.text) == ["customer/t:n1", "genre/t:ga"])
                #expect(try await store.rows("SELECT genre FROM track WHERE id = 'n0'") == [["ga"]])
                #expect(try await store.rows("SELECT customer FROM invoice WHERE id LIKE 'n%'") == [["n1"], ["n1"]])
                #expect(try await store.rows("SELECT album IS NULL FROM track WHERE id = 't50'") == [["1"]])
                #expect(try await store.rows("SELECT support IS NULL FROM customer WHERE id = 'c0'") == [["1"]])
            }
            try await stores[2].execute("INSERT INTO artist VALUES ('a1', 'Back')")
            try await settle(stores[2], stores[1], stores[0])
            for store in stores {
                #expect(try await store.rows("SELECT a.title FROM track t JOIN album a ON a.id = t.album WHERE t.id = 't50'") == [["Late"]])
            }
        }
    }

    @Test("The same schema with integer keys, which devices would count up alike, is refused table by table")
    func integerKeys() async throws {
        try await withDevices(1) { devices, _ in
            await #expect {
                try await devices[0].open(Self.schema(key: "INTEGER PRIMARY KEY"))
            } throws: { error in
                guard let error = error as? UbiquitousStoreError, error.code == .invalidSchema else { return false }
                return Self.tables.allSatisfy { $0 == "playlist_track" || error.message.contains("of “\($0)” is an INTEGER PRIMARY KEY") }
            }
        }
    }
}
