internal import GRDB
internal import StoreFormat
package import StoreRecords

/// Takes in batches of a seed, under the right to exchange.
package struct SeedExchange {
    private let context: ExchangeContext

    package init(context: ExchangeContext) { self.context = context }

    /// Where a seeding goes on; nil where it is complete.
    package func pending(_ token: String, source: String?) throws -> PendingSeed? {
        try context.file.pool.read { db in try PendingSeed.read(token, source: source, db) }
    }

    /// Whether the store has no place in the container yet, or has not taken over what was in its tables: the rows would wait for it.
    func needsPlace() throws -> Bool {
        try context.file.pool.read { db in try !StoreState.read(db).attached || Adopter.progress(db) != nil }
    }

    /// Takes in a batch.
    ///
    /// - Parameters:
    ///   - batch: what comes next in the source.
    ///   - before: how far it had come.
    /// - Returns: how far it has come; nil where another device has completed it.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    func take(_ batch: SeedBatch, after before: PendingSeed) throws -> PendingSeed? {
        try context.file.importing { db in
            // Nothing has been merged that could break one.
            if context.file.hasChecks { try db.execute(sql: "PRAGMA ignore_check_constraints = 0") }
            return try Seeder(sealer: context.sealer).take(batch, after: before, db)
        }
    }

    /// Resolves what a batch has marked.
    ///
    /// The batch stands, whatever comes of this; what is still marked is looked at again before anything goes out or comes in.
    func finish() {
        _ = try? context.file.resolve(by: context.sealer)
        Waypoint.seedCommitted.pass()
    }
}
