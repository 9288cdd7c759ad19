internal import GRDB
internal import StoreFormat
package import StoreRecords

/// Takes in batches of a seed, under the exchange lease.
package struct SeedExchange {
    private let context: ExchangeContext

    package init(context: ExchangeContext) { self.context = context }

    /// Returns the progress at which a seeding continues; nil if it is complete.
    package func pending(_ token: String, source: String?) throws -> PendingSeed? {
        try context.file.pool.read { db in try PendingSeed.read(token, source: source, db) }
    }

    /// Returns whether the store still needs a place in the container, or must adopt rows, for which the seed would
    /// wait.
    func needsPlace() throws -> Bool {
        try context.file.pool.read { db in try !StoreState.read(db).attached || Adopter.progress(db) != nil }
    }

    /// Takes in a batch.
    ///
    /// - Parameters:
    ///   - batch: the next part of the source.
    ///   - before: the progress so far.
    /// - Returns: the new progress; nil if another device has completed the seed.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    func take(_ batch: SeedBatch, after before: PendingSeed) throws -> PendingSeed? {
        try context.file.importing { db in
            // Nothing has been merged that could break a CHECK.
            if context.file.hasChecks { try db.execute(sql: "PRAGMA ignore_check_constraints = 0") }
            return try Seeder(sealer: context.sealer).take(batch, after: before, db)
        }
    }

    /// Resolves the records that a batch has marked.
    ///
    /// The batch stays even if this fails. Marked records are examined again before the next exchange.
    func finish() {
        _ = try? context.file.resolve(by: context.sealer)
        Waypoint.seedCommitted.pass()
    }
}
