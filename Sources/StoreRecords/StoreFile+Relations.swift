package import GRDB
internal import StoreFormat

extension StoreFile {
    /// Finds out what records show that saves have marked, and shows it.
    ///
    /// It runs in transactions of its own behind the saves', for no order of single rows need be valid, and foreign keys can only be turned off
    /// outside of one (sqlite.org/pragma.html#pragma_foreign_keys). Each takes one batch of records and writes one log, so that memory does not grow with
    /// their number. After a crash between two of them the other records are still marked.
    ///
    /// - Parameter sealer: makes the logs of what is found out.
    /// - Returns: what is shown otherwise now, and which rows break a CHECK by that.
    /// - Throws: GRDB's errors, and what an election throws.
    @discardableResult
    package func resolve(by sealer: Sealer) throws -> ImportTransaction.Outcome {
        var outcome = ImportTransaction.Outcome()
        guard try pool.read({ db in try RelatedTables.hasUnresolved(shapes, db) }) else { return outcome }
        repeat {
            // A batch that fails leaves the outcome as it was.
            outcome = try mendingDerived { [outcome] in try importing { db in try resolveBatch(by: sealer, after: outcome, db) } }
        } while !outcome.isResolved
        return outcome
    }

    /// Resolves batches in the transaction of ``importing(attaching:_:)``.
    ///
    /// - Parameters:
    ///   - sealer: makes the logs of what is found out.
    ///   - earlier: what earlier batches did.
    ///   - batches: how many batches.
    ///   - db: in that transaction.
    /// - Returns: what was done, earlier too; it is resolved where nothing is left that can be resolved now.
    /// - Throws: GRDB's errors, and what an election throws.
    package func resolveBatch(
        by sealer: Sealer, after earlier: ImportTransaction.Outcome = ImportTransaction.Outcome(), batches: Int = 1, _ db: Database
    ) throws -> ImportTransaction.Outcome {
        // A log names its peer and epoch, which are settled when the store finds its place.
        // What is still to be taken over has no clock yet, by which it is told apart.
        guard try StoreState.read(db).attached, try !Adopter.isTakingRows(db), shapes.contains(where: \.isRelated) else {
            var outcome = earlier
            outcome.isResolved = true
            return outcome
        }
        let outcome = try ImportTransaction.perform(sealer, after: earlier, relations: .unite(batches: batches), db) { _ in }
        Waypoint.relationsShown.pass()
        return outcome
    }
}
