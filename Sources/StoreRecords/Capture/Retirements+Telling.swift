package import GRDB
internal import StoreFormat

extension Retirements {
    /// Writes the facts that are not in a log yet into one, in the caller's transaction; returns whether there were
    /// any.
    package static func tell(by sealer: Sealer, _ db: Database) throws -> Bool {
        let untold = try facts("SELECT * FROM ubiquity_retired WHERE NOT told", db)
        guard !untold.isEmpty else { return false }
        var state = try StoreState.read(db)
        var body = LogBodyBuilder()
        for (peer, fact) in untold { body.add(fact, of: peer) }
        state.clock = HybridTime.next(after: state.clock, wall: HybridTime(sealer.now()))
        try sealer.post(body, at: state.clock, state: &state, db)
        try db.execute(sql: "UPDATE ubiquity_retired SET told = 1")
        return true
    }
}
