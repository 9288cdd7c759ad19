package import GRDB
internal import StoreFormat

/// How far a seeding has come: a row of `ubiquity_seed`, which is there only while one is under way.
package struct PendingSeed: Sendable {
    let token: String
    /// What tells a source from another, so that a changed one is begun anew; nil for one that is always begun anew.
    let source: String?
    /// How many records of the source have been taken in or passed over.
    package var position = 0
    package var seeding = Seeding()
    /// The epoch in which it began: its records go with that.
    var epoch: Int64 = 1

    /// Where a seeding is to go on; nil where it is complete, here or on another device.
    package static func read(_ token: String, source: String?, _ db: Database) throws -> PendingSeed? {
        guard try !isComplete(token, db) else { return nil }
        var pending = PendingSeed(token: token, source: source)
        pending.epoch = try StoreState.read(db).epoch
        guard let source, try db.tableExists("ubiquity_seed"),
            let row = try Row.fetchOne(db, sql: "SELECT * FROM ubiquity_seed WHERE token = ? AND source = ?", arguments: [token, source])
        else { return pending }
        pending.position = row["position"]
        pending.seeding.seeded = row["seeded"]
        pending.seeding.skipped = row["skipped"]
        return pending
    }

    /// Notes it with what has been taken in.
    func save(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS ubiquity_seed
                (token TEXT PRIMARY KEY, source TEXT, position INTEGER NOT NULL, seeded INTEGER NOT NULL, skipped INTEGER NOT NULL)
                """)
        try db.execute(
            sql: "INSERT OR REPLACE INTO ubiquity_seed VALUES (?,?,?,?,?)",
            arguments: [token, source, position, seeding.seeded, seeding.skipped])
    }

    /// Forgets it, for it is complete.
    func remove(_ db: Database) throws {
        guard try db.tableExists("ubiquity_seed") else { return }
        try db.execute(sql: "DELETE FROM ubiquity_seed WHERE token = ?", arguments: [token])
        if try Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_seed") == 0 { try db.execute(sql: "DROP TABLE ubiquity_seed") }
    }

    /// Whether a token is among the metadata.
    package static func isComplete(_ token: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(StoreMetadata.table) WHERE key = ?)", arguments: [key(token)])!
    }

    /// What stands in the metadata once it is complete.
    var mark: SeedBatch.Row {
        SeedBatch.Row(table: StoreMetadata.table, columns: ["key", "value"], values: [.text(Self.key(token)), .integer(1)])
    }

    private static func key(_ token: String) -> String { "\(StoreMetadata.ownPrefix)seed.\(token)" }
}
