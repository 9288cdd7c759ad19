internal import GRDB

extension StoreFile {
    /// Finds out what records show that saves have marked, and shows it.
    ///
    /// It is a transaction of its own behind the saves', for no order of single rows need be valid, and foreign keys can only be turned off
    /// outside of one (sqlite.org/pragma.html#pragma_foreign_keys). After a crash between the two the records are still marked.
    ///
    /// - Parameter sealer: makes the log of what is found out.
    /// - Returns: what is shown otherwise now.
    /// - Throws: GRDB's errors, and what an election throws.
    @discardableResult
    func resolve(by sealer: Sealer) throws -> ImportNotice {
        guard try pool.read({ db in try RelatedTables.hasUnresolved(shapes, db) }) else { return ImportNotice() }
        return try mendingDerived { try importing { db in try resolve(by: sealer, db) } }
    }

    /// The same in the transaction of ``importing(attaching:_:)``.
    @discardableResult
    func resolve(by sealer: Sealer, _ db: Database) throws -> ImportNotice {
        // What another connection has written meanwhile is an edit, and not what is computed here.
        try sealer.seal(db)
        var state = try StoreState.read(db)
        var notice = ImportNotice()
        // A log names its peer and epoch, which are settled when the store finds its place.
        // What is still to be taken over has no clock yet, by which it is told apart.
        guard state.attached, try !Adopter.isTakingRows(db), let related = RelatedTables(shapes, db) else { return notice }
        try db.execute(sql: "UPDATE ubiquity_import SET active = 1")
        try sealer.resolve(related, peers: StoreKnowledge.peers(db), state: &state, notice: &notice, db)
        try state.update(db)
        Waypoint.relationsShown.pass()
        try db.execute(sql: "UPDATE ubiquity_import SET active = 0")
        for shape in shapes where notice.touches(shape.name) { try db.notifyChanges(in: Table(shape.name)) }
        return notice
    }
}
