internal import GRDB

extension StoreFile {
    /// Finds out what records show that saves have marked, and shows it.
    ///
    /// It runs in transactions of its own behind the saves', for no order of single rows need be valid, and foreign keys can only be turned off
    /// outside of one (sqlite.org/pragma.html#pragma_foreign_keys). Each takes one batch of records and writes one log, so that memory does not grow with
    /// their number. After a crash between two of them the other records are still marked.
    ///
    /// - Parameter sealer: makes the logs of what is found out.
    /// - Returns: what is shown otherwise now.
    /// - Throws: GRDB's errors, and what an election throws.
    @discardableResult
    func resolve(by sealer: Sealer) throws -> ImportNotice {
        var notice = ImportNotice()
        guard try pool.read({ db in try RelatedTables.hasUnresolved(shapes, db) }) else { return notice }
        var isDone = false
        while !isDone {
            // A batch that fails leaves the notice as it was.
            (isDone, notice) = try mendingDerived { [notice] in try importing { db in try resolveBatch(by: sealer, after: notice, db) } }
        }
        return notice
    }

    /// Resolves batches in the transaction of ``importing(attaching:_:)``.
    ///
    /// - Parameters:
    ///   - sealer: makes the logs of what is found out.
    ///   - notice: what was shown otherwise before.
    ///   - batches: how many batches.
    ///   - db: in that transaction.
    /// - Returns: whether nothing is left that can be resolved now, and what is shown otherwise with what was before.
    /// - Throws: GRDB's errors, and what an election throws.
    func resolveBatch(
        by sealer: Sealer, after notice: ImportNotice = ImportNotice(), batches: Int = 1, _ db: Database
    ) throws -> (isDone: Bool, notice: ImportNotice) {
        var notice = notice
        // What another connection has written meanwhile is an edit, and not what is computed here.
        try sealer.seal(db)
        var state = try StoreState.read(db)
        // A log names its peer and epoch, which are settled when the store finds its place.
        // What is still to be taken over has no clock yet, by which it is told apart.
        guard state.attached, try !Adopter.isTakingRows(db), let related = RelatedTables(shapes, db) else { return (true, notice) }
        try db.execute(sql: "UPDATE ubiquity_import SET active = 1")
        let isDone = try sealer.resolve(related, peers: StoreKnowledge.peers(db), state: &state, notice: &notice, batches: batches, db)
        try state.update(db)
        Waypoint.relationsShown.pass()
        try db.execute(sql: "UPDATE ubiquity_import SET active = 0")
        for shape in shapes where notice.touches(shape.name) { try db.notifyChanges(in: Table(shape.name)) }
        return (isDone, notice)
    }
}
