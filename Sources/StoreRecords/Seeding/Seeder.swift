package import GRDB
internal import StoreFormat

/// Takes in batches of seeded records as insertions with the least stamp: they never beat an edit (DESIGN §5).
///
/// Rows, clocks, log and how far it has come are one transaction, the mark that it is complete with the last. A store that has no place in a
/// container yet cannot write logs; there the rows are listed for the ``Adopter``, which takes them over when it has one.
package struct Seeder {
    package let sealer: Sealer

    package init(sealer: Sealer) { self.sealer = sealer }

    /// Takes in a batch, in the transaction that it is called in, with CHECKs on and foreign keys off: what refers to a record that is still to
    /// come, or never does, is held (DESIGN §5).
    ///
    /// - Parameters:
    ///   - batch: what comes next in the source.
    ///   - before: how far it had come.
    ///   - db: the store.
    /// - Returns: how far it has come; nil where it has been completed meanwhile, by another device.
    /// - Throws: `UbiquitousStoreError`, GRDB's errors.
    package func take(_ batch: SeedBatch, after before: PendingSeed, _ db: Database) throws -> PendingSeed? {
        guard try !PendingSeed.isComplete(before.token, db) else {
            try before.remove(db)
            return nil
        }
        guard try StoreState.read(db).epoch == before.epoch else {
            throw UbiquitousStoreError(.unsupported, "The store's content was removed while “\(before.token)” was being seeded: seed it again.")
        }
        let isLogged = try isLogged(db)
        var pending = before
        // Relations are resolved behind the last batch.
        _ = try ImportTransaction.perform(sealer, relations: .leave, db) { transaction in
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
            if let table = tables[shape.number] { return try table.take(row) }
            let log =
                isLogged
                ? try TableSealer(shape: shape, stamp: .least, values: sealer.values(db), related: transaction.related, db) : nil
            let table = try SeedTable(shape, log: log, db)
            tables[shape.number] = table
            return try table.take(row)
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

    /// Whether rows are logged at once, or listed for when the store has its place.
    private func isLogged(_ db: Database) throws -> Bool {
        let state = try StoreState.read(db)
        if state.attached, try Adopter.progress(db) == nil { return true }
        // Rows are taken over in the order of their places: there is no adding to what has begun.
        guard state.sequence == 0 else {
            throw UbiquitousStoreError(
                .suspended, "The store is taking over rows from before, which goes on when its container is back: seed it then.")
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
