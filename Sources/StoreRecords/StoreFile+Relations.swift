package import GRDB
internal import StoreFormat

extension StoreFile {
    /// Resolves the records that saves have marked.
    ///
    /// It runs in its own transactions after those of the saves, because single rows need not have a valid order, and
    /// foreign keys can only be turned off outside a transaction (sqlite.org/pragma.html#pragma_foreign_keys). Each
    /// transaction takes one batch of records and writes one log, so that memory does not grow with their number. After
    /// a crash between two of them the remaining records are still marked.
    ///
    /// - Parameter sealer: makes the logs of the facts that are found.
    /// - Returns: the rows that changed, and those that now break a CHECK.
    /// - Throws: GRDB's errors, and errors of an election.
    @discardableResult
    package func resolve(by sealer: Sealer) throws -> ImportTransaction.Outcome {
        var outcome = ImportTransaction.Outcome()
        guard try pool.read({ db in try RelatedTables.hasUnresolved(shapes, db) }) else { return outcome }
        repeat {
            // A batch that fails leaves the outcome unchanged.
            outcome = try mendingDerived { [outcome] in try importing { db in try resolveBatch(by: sealer, after: outcome, db) } }
        } while !outcome.isResolved
        return outcome
    }

    /// Resolves batches in the transaction of ``importing(attaching:_:)``.
    ///
    /// - Parameters:
    ///   - sealer: makes the logs of the facts that are found.
    ///   - earlier: the outcome of earlier batches.
    ///   - batches: the maximum number of batches.
    ///   - db: that transaction.
    /// - Returns: the outcome including earlier batches; it is resolved if nothing is left that can be resolved now.
    /// - Throws: GRDB's errors, and errors of an election.
    package func resolveBatch(
        by sealer: Sealer, after earlier: ImportTransaction.Outcome = ImportTransaction.Outcome(), batches: Int = 1, _ db: Database
    ) throws -> ImportTransaction.Outcome {
        // A log names its peer and epoch, which are known once the store is attached. A row that is still being adopted
        // has no clock yet, which would tell it apart.
        guard try StoreState.read(db).attached, try !Adopter.isTakingRows(db), shapes.contains(where: \.isRelated) else {
            var outcome = earlier
            outcome.isResolved = true
            return outcome
        }
        let outcome = try ImportTransaction.perform(sealer, .relations, after: earlier, relations: .unite(batches: batches), db) { _ in }
        Waypoint.relationsShown.pass()
        return outcome
    }
}
