internal import GRDB
internal import StoreFormat
package import StoreRecords
internal import SystemPackage

extension StoreEngine {
    /// Where a seeding is to go on; nil where it is complete.
    package func pendingSeed(_ token: String, source: String?) throws -> PendingSeed? {
        try file.pool.read { db in try PendingSeed.read(token, source: source, db) }
    }

    /// Takes in a batch.
    ///
    /// - Parameters:
    ///   - batch: what comes next in the source.
    ///   - before: how far it had come.
    /// - Returns: how far it has come; nil where another device has completed it.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    package func seed(_ batch: SeedBatch, after before: PendingSeed) throws -> PendingSeed? {
        // With a place in the container, if it can have one: else the rows wait for it.
        if try file.pool.read({ db in try !StoreState.read(db).attached || Adopter.progress(db) != nil }) { try takeOver() }
        let pending = try locked {
            try file.importing { db in
                // Nothing has been merged that could break one.
                if file.hasChecks { try db.execute(sql: "PRAGMA ignore_check_constraints = 0") }
                return try Seeder(sealer: sealer).take(batch, after: before, db)
            }
        }
        // The batch stands, whatever comes of this; what is still marked is looked at again before anything goes out or comes in.
        _ = try? file.resolve(by: sealer)
        Waypoint.seedCommitted.pass()
        return pending ?? nil
    }

    /// Makes what is committed durable: a commit alone does not sync the write-ahead log (sqlite.org/pragma.html#pragma_synchronous).
    package func sync() throws { try publisher.syncWriteAheadLog() }
}
