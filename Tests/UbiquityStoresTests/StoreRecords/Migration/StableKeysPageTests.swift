import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityStores

/// The app of the page about stable keys: its version that counts, and its version that syncs.
struct StableKeysPageTests {
    /// The records of the version that counts.
    private enum Counting {
        /// An artist, whose id SQLite counts.
        struct Artist: Codable, FetchableRecord, MutablePersistableRecord {
            var id: Int64?
            var name: String

            mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
        }

        /// An album of an artist.
        struct Album: Codable, FetchableRecord, MutablePersistableRecord {
            var id: Int64?
            var artistId: Int64
            var title: String

            mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
        }
    }

    /// An artist.
    struct Artist: Codable, FetchableRecord, PersistableRecord {
        var id = StableKeys.newKey()
        var name: String
    }

    /// An album of an artist.
    struct Album: Codable, FetchableRecord, PersistableRecord {
        var id = StableKeys.newKey()
        var artistId: String
        var title: String
    }

    private static var counting: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "artist") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull()
            }
            try db.create(table: "album") { table in
                table.autoIncrementedPrimaryKey("id")
                table.belongsTo("artist", onDelete: .cascade).notNull()
                table.column("title", .text).notNull()
            }
        }
        return migrator
    }

    private static var schema: SyncedSchema {
        var migrator = counting
        migrator.registerMigration("stable keys") { db in
            try StableKeys("artist", "album").convert(db)
        }
        let schema = SyncedSchema(migrator: migrator) {
            SyncedTable("artist")
            SyncedTable("album")
        }
        return schema
    }

    /// Returns the titles of all albums with their artists.
    private static func titles(_ store: UbiquitousStore) async throws -> [String] {
        try await store.read { db in
            let artists = Dictionary(uniqueKeysWithValues: try Artist.fetchAll(db).map { ($0.id, $0.name) })
            return try Album.fetchAll(db).map { "\(artists[$0.artistId] ?? "nobody"): \($0.title)" }.sorted()
        }
    }

    @Test("an app that counted its keys syncs after one migration: its rows arrive on a new device, and records of both are distinct")
    func app() async throws {
        try await withDevices(2) { devices, root in
            let plain = root.removingLastComponent().appending("plain.sqlite")
            let queue = try DatabaseQueue(path: plain.string)
            try Self.counting.migrate(queue)
            try await queue.write { db in
                for name in ["Ann", "Bob"] {
                    var artist = Counting.Artist(name: name)
                    try artist.insert(db)
                    for title in ["First", "Second"] {
                        var album = Counting.Album(artistId: try #require(artist.id), title: title)
                        try album.insert(db)
                    }
                }
            }
            try queue.close()
            let first = try await devices[0].open(Self.schema, existing: plain)
            let second = try await devices[1].open(Self.schema)
            try await settle(first, second)
            #expect(try await Self.titles(second) == ["Ann: First", "Ann: Second", "Bob: First", "Bob: Second"])
            for (store, title) in [(first, "Third"), (second, "Fourth")] {
                try await store.write { db in
                    let ann = try #require(try Artist.filter(Column("name") == "Ann").fetchOne(db))
                    try Album(artistId: ann.id, title: title).insert(db)
                }
            }
            try await settle(first, second)
            let all = ["Ann: First", "Ann: Fourth", "Ann: Second", "Ann: Third", "Bob: First", "Bob: Second"]
            #expect(try await Self.titles(first) == all)
            #expect(try await Self.titles(second) == all)
            try await first.write { db in _ = try Artist.filter(Column("name") == "Ann").deleteAll(db) }
            try await settle(first, second)
            #expect(try await Self.titles(second) == ["Bob: First", "Bob: Second"])
            for store in [first, second] { try await store.close() }
        }
    }

    @Test("the page's further calls convert an app with references that no foreign key declares, and one that ships its rows")
    func calls() throws {
        let queue = try keyedDatabase(
            """
            CREATE TABLE artist (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE album (id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist);
            CREATE TABLE comment (id INTEGER PRIMARY KEY, kind TEXT, subject INTEGER);
            CREATE TABLE settings (name TEXT PRIMARY KEY, favorite INTEGER, album_id INTEGER);
            INSERT INTO artist VALUES (1, 'Ann'), (300, 'Own'); INSERT INTO album VALUES (1, 1); INSERT INTO settings VALUES ('a', 1, 5);
            """)
        let shipped = StableKeys("artist", "album")
            .derived("org.example.shop", in: "artist", upTo: 275)
            .derived("org.example.shop", in: "album", upTo: 347)
            .referring(column: "favorite", in: "settings", to: "album")
            .accepting("settings.album_id")
        try shipped.migrate(queue)
        try queue.read { db throws in
            #expect(
                try lines(db, "SELECT album_id, artist.name FROM settings JOIN album ON album.id = favorite JOIN artist ON artist.id = artist") == [
                    "5|\"Ann\""
                ])
        }
        let undeclared = try keyedDatabase(
            """
            CREATE TABLE artist (id INTEGER PRIMARY KEY); CREATE TABLE album (id INTEGER PRIMARY KEY);
            CREATE TABLE comment (id INTEGER PRIMARY KEY, kind TEXT, subject INTEGER);
            CREATE TABLE settings (name TEXT PRIMARY KEY, favorite INTEGER, album_id INTEGER);
            """)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("stable keys") { db in
            try StableKeys("artist", "album", "comment")
                .referring(column: "favorite", in: "settings", to: "album")
                .referring(column: "subject", in: "comment", to: "artist", where: "kind = 'artist'")
                .referring(column: "subject", in: "comment", to: "album", where: "kind = 'album'")
                .accepting("settings.album_id")
                .convert(db)
        }
        try migrator.migrate(undeclared)
    }

    @Test("every Swift listing of the page stands in this test, line by line")
    func listings() throws {
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
                !$0.isEmpty && $0 != "}" && !$0.hasPrefix(".convert")
            }
        }
        // The full-text index of the page is in the tests beside this one.
        let files = ["StableKeysPageTests.swift", "StableKeysTests.swift"].map { FilePath(#filePath).removingLastComponent().appending($0) }
        let source = Set(try files.flatMap { lines(try String(contentsOfFile: $0.string, encoding: .utf8)) })
        let page = packageDirectory.appending("Sources/Ubiquity/Ubiquity.docc/StableKeys.md")
        let listings = try String(contentsOfFile: page.string, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
        #expect(listings.count == 8)
        for line in listings.flatMap(lines) where !line.hasPrefix("try StableKeys") { #expect(source.contains(line), "\(line)") }
    }
}
