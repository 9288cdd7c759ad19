import Foundation
import GRDB
import SystemPackage
import UbiquityStores

extension StoreSuite {
    private static let shop: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE artist (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL);
                    CREATE TABLE album (id TEXT NOT NULL PRIMARY KEY, artist TEXT NOT NULL REFERENCES artist (id) ON DELETE CASCADE, title TEXT NOT NULL);
                    CREATE TABLE track (id TEXT NOT NULL PRIMARY KEY, album TEXT NOT NULL REFERENCES album (id) ON DELETE CASCADE, title TEXT NOT NULL, seconds INTEGER);
                    CREATE INDEX album_artist ON album (artist);
                    CREATE INDEX track_album ON track (album);
                    """)
        }
        return migrator
    }()
    private static let shopSchema = SyncedSchema(migrator: shop) {
        SyncedTable("artist")
        SyncedTable("album")
        SyncedTable("track")
    }

    /// Inserts a part of 1,000 rows, with ten albums for each artist and nine tracks for each album.
    private static func insertShop(_ part: Int, _ keys: Item.Keys, _ db: Database) throws {
        let artist = try db.cachedStatement(sql: "INSERT INTO artist VALUES (?,?)")
        let album = try db.cachedStatement(sql: "INSERT INTO album VALUES (?,?,?)")
        let track = try db.cachedStatement(sql: "INSERT INTO track VALUES (?,?,?,?)")
        for row in part * 1000..<(part + 1) * 1000 {
            let (artistRow, albumRow) = (row / 100 * 100, row / 10 * 10)
            if row == artistRow { try artist.execute(arguments: [keys.key(1_000_000 + artistRow), "Artist \(artistRow)"]) }
            if row == albumRow {
                try album.execute(arguments: [keys.key(2_000_000 + albumRow), keys.key(1_000_000 + artistRow), "Album \(albumRow)"])
            } else {
                try track.execute(arguments: [keys.key(row), keys.key(2_000_000 + albumRow), "Track \(row)", row % 300])
            }
        }
    }

    /// Measures an import of 100,000 rows in three related tables, against plain inserts with foreign keys on.
    static func importingRelations(_ report: Report) async throws {
        for keys in Item.Keys.allCases {
            var ours: [Double] = []
            var plain: [Double] = []
            for _ in 0..<5 {
                try await withDevices(2) { devices in
                    let author = try await devices[0].store(contentName: "Shop", schema: shopSchema)
                    for part in 0..<100 { try await author.write { db in try insertShop(part, keys, db) } }
                    try await author.publish()
                    try await author.close()
                    let store = try await devices[1].store(contentName: "Shop", schema: shopSchema)
                    ours.append(try await seconds { try await store.settled() })
                    let count = try await store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM track")! }
                    precondition(count == 90_000, "\(count) tracks were imported")
                    try await store.close()
                    let pool = try DatabasePool(path: devices[1].directory.appending("Plain.sqlite").string)
                    try shop.migrate(pool)
                    plain.append(try await seconds { try await pool.write { db in for part in 0..<100 { try insertShop(part, keys, db) } } })
                    try pool.close()
                }
            }
            report.line(
                "import_with_relations_100k", variant: keys.rawValue, unit: "s", ours: median(ours), reference: median(plain),
                referenceName: "plain GRDB, foreign keys on, one transaction")
        }
    }

    /// Measures an import of 10,000 records that a UNIQUE column makes one with local records, against upserts of equal
    /// rows.
    static func mergingUniques(_ report: Report) async throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(sql: "CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, email TEXT UNIQUE, name TEXT)")
        }
        let schema = SyncedSchema(migrator: migrator) { SyncedTable("person", unique: [["email"]]) }
        @Sendable func insert(_ device: Int, _ clause: String, _ db: Database) throws {
            let statement = try db.cachedStatement(sql: "INSERT INTO person VALUES (?,?,?) \(clause)")
            for row in 0..<10_000 {
                try statement.execute(arguments: [
                    Item.Keys.random.key(device * 100_000 + row), "person\(row)@example.org", "Name \(row) of \(device)",
                ])
            }
        }
        var ours: [Double] = []
        var plain: [Double] = []
        for _ in 0..<5 {
            try await withDevices(2) { devices in
                var stores: [UbiquitousStore] = []
                for (number, device) in devices.enumerated() {
                    let store = try await device.store(contentName: "People", schema: schema)
                    try await store.write { db in try insert(number, "", db) }
                    stores.append(store)
                }
                try await stores[0].publish()
                ours.append(try await seconds { try await stores[1].settled() })
                let count = try await stores[1].read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM person")! }
                precondition(count == 10_000, "\(count) people")
                for store in stores { try await store.close() }
                let pool = try DatabasePool(path: devices[1].directory.appending("Plain.sqlite").string)
                try migrator.migrate(pool)
                try await pool.write { db in try insert(1, "", db) }
                let clause = "ON CONFLICT (email) DO UPDATE SET name = excluded.name"
                plain.append(try await seconds { try await pool.write { db in try insert(0, clause, db) } })
                try pool.close()
            }
        }
        report.line(
            "unique_merge_10k", variant: "random UUID keys", unit: "s", ours: median(ours), reference: median(plain),
            referenceName: "plain GRDB, upserts in one transaction")
    }
}
