package import GRDB
internal import StoreFormat

/// The progress of a seeding: a row of `ubiquity_seed`, which exists only while the seeding is incomplete.
package struct PendingSeed: Sendable {
    let token: String
    /// The identity of the source, so that a changed source starts over; nil for a source that always starts over.
    let source: String?
    /// The number of records of the source that were inserted or skipped.
    package var position = 0
    package var seeding = Seeding()
    /// The epoch in which the seeding began; its records are removed together with that epoch.
    var epoch: Int64 = 1

    /// Returns the point at which a seeding continues, or nil if it is complete, here or on another device.
    package static func read(_ token: String, source: String?, _ db: Database) throws -> PendingSeed? {
        guard try !isComplete(token, db) else { return nil }
        var pending = PendingSeed(token: token, source: source)
        pending.epoch = try StoreState.read(db).epoch
        guard let source, try db.tableExists("ubiquity_seed", in: "main"),
            let row = try Row.fetchOne(db, sql: "SELECT * FROM ubiquity_seed WHERE token = ? AND source = ?", arguments: [token, source])
        else { return pending }
        pending.position = row["position"]
        pending.seeding.seeded = row["seeded"]
        pending.seeding.skipped = row["skipped"]
        return pending
    }

    /// Stores the progress, in the transaction of the batch.
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

    /// Removes the row of a complete seeding.
    func remove(_ db: Database) throws {
        guard try db.tableExists("ubiquity_seed", in: "main") else { return }
        try db.execute(sql: "DELETE FROM ubiquity_seed WHERE token = ?", arguments: [token])
        if try Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_seed") == 0 { try db.execute(sql: "DROP TABLE ubiquity_seed") }
    }

    /// Returns whether the metadata contain a token.
    package static func isComplete(_ token: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(StoreMetadata.table) WHERE key = ?)", arguments: [key(token)])!
    }

    /// The metadata row of a complete seeding.
    var mark: SeedBatch.Row {
        SeedBatch.Row(table: StoreMetadata.table, columns: ["key", "value"], values: [.text(Self.key(token)), .integer(1)])
    }

    private static func key(_ token: String) -> String { "\(StoreMetadata.ownPrefix)seed.\(token)" }
}
