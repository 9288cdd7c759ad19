package import GRDB
internal import StoreFormat

/// Inserts batches of seeded records with the least stamp, so that they never win over an edit.
///
/// The rows, clocks, log and progress of a batch are one transaction; the last one also sets the mark of completion. A
/// store that is not attached yet cannot write logs. There the rows are listed for the ``Adopter``, which adopts them
/// once the store is attached.
package struct Seeder {
    package let sealer: Sealer

    package init(sealer: Sealer) { self.sealer = sealer }

    /// Inserts a batch, in the caller's transaction, with CHECKs on and foreign keys off.
    ///
    /// A record that refers to a later or missing record is held.
    ///
    /// - Parameters:
    ///   - batch: the next records of the source.
    ///   - before: the progress so far.
    ///   - db: the store.
    /// - Returns: the progress, or nil if another device has completed the seeding in the meantime.
    /// - Throws: `UbiquitousStoreError`, GRDB's errors.
    package func take(_ batch: SeedBatch, after before: PendingSeed, _ db: Database) throws -> PendingSeed? {
        guard !sealer.shapes.contains(where: { $0.access != nil }) else {
            throw UbiquitousStoreError(
                .unsupported,
                "A store with a scope is not seeded, because a seed has no author: write the records by ordinary saves of an account that may."
            )
        }
        guard try !PendingSeed.isComplete(before.token, db) else {
            try before.remove(db)
            return nil
        }
        guard try StoreState.read(db).epoch == before.epoch else {
            throw UbiquitousStoreError(.unsupported, "The store's content was removed while “\(before.token)” was being seeded: seed it again.")
        }
        let isLogged = try isLogged(db)
        var pending = before
        // Relations are resolved after the last batch.
        _ = try ImportTransaction.perform(sealer, .seeding, relations: .leave, db) { transaction in
            pending = try take(batch, after: before, isLogged: isLogged, transaction)
        }
        Waypoint.seedTaken.pass()
        return pending
    }

    private func take(_ batch: SeedBatch, after before: PendingSeed, isLogged: Bool, _ transaction: ImportTransaction) throws -> PendingSeed {
        let db = transaction.db
        var tables: [Int64: SeedTable] = [:]
        func take(_ row: SeedBatch.Row) throws -> Bool {
            guard let shape = sealer.shapes.first(where: { $0.name == row.table }) else {
                throw UbiquitousStoreError(
                    .unsupported, "A record cannot be seeded into “\(row.table)”, which is no synced table: declare it, or leave it out.")
            }
            if let table = tables[shape.number] { return try table.take(row, &transaction.unannounced) }
            let log =
                isLogged
                ? try TableSealer(shape: shape, stamp: .least, values: sealer.values(db), related: transaction.related, db) : nil
            let table = try SeedTable(shape, log: log, db)
            tables[shape.number] = table
            return try table.take(row, &transaction.unannounced)
        }
        var pending = before
        for row in batch.rows {
            if try take(row) { pending.seeding.seeded += 1 } else { pending.seeding.skipped += 1 }
        }
        pending.position += batch.rows.count
        if batch.isLast {
            _ = try take(pending.mark)
            try pending.remove(db)
        } else {
            try pending.save(db)
        }
        try log(tables, &transaction.state, db)
        return pending
    }

    /// Returns whether rows are logged at once, or listed until the store is attached.
    private func isLogged(_ db: Database) throws -> Bool {
        let state = try StoreState.read(db)
        if state.attached, try Adopter.progress(db) == nil { return true }
        // Rows are adopted in the order of their places, so rows cannot be added to an adoption that has begun.
        guard state.sequence == 0 else {
            throw UbiquitousStoreError(
                .suspended, "The store is adopting existing rows, and continues when its container is back: seed it then.")
        }
        return false
    }

    private func log(_ tables: [Int64: SeedTable], _ state: inout StoreState, _ db: Database) throws {
        var body = LogBodyBuilder()
        for shape in sealer.shapes {
            guard let table = tables[shape.number], table.count > 0 else { continue }
            try db.notifyChanges(in: Table(shape.name))
            if let log = table.log {
                body.add(shape.logTable, count: log.count, rows: log.rows)
            } else {
                try Adopter.enlist(shape, rows: table.count, adding: true, db)
            }
        }
        guard !body.isEmpty else { return }
        try sealer.post(body, at: .least, state: &state, db)
    }
}
