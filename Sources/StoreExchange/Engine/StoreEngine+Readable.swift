internal import GRDB
internal import GRDBSQLite
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

// What can be read of a content: the baselines that this store can join, and the logs that lie beside them. A newcomer reads it step by step; a rebuild
// joins it in one transaction; whether a file may go is asked of it.
extension StoreEngine {
    /// The baselines that together hold every log that any baseline holds which this store can join, those that hold most first.
    ///
    /// Nearly always one holds all that the others do. Where devices have written theirs apart from each other, each may hold logs that are in no other, nor in any file.
    ///
    /// - Parameter content: what is there.
    /// - Returns: the baselines, which are whole.
    /// - Throws: `Errno`, or GRDB's errors.
    func readableBaselines(_ content: ContentInventory) throws -> [(id: BaselineID, header: BaselineHeader)] {
        let candidates = try content.baselines.subtracting(refused).compactMap { id in try header(of: id).map { (id: id, header: $0) } }
            .filter { joiner.obstacle(to: $0.header) == nil }.sorted { ($0.header.logs, $0.id) > ($1.header.logs, $1.id) }
        var chosen: [(id: BaselineID, header: BaselineHeader)] = []
        for candidate in candidates where try !isHeld(candidate, by: chosen) && verify(candidate.id, candidate.header) { chosen.append(candidate) }
        return chosen
    }

    /// Whether each log of a baseline is in one of some others.
    private func isHeld(
        _ candidate: (id: BaselineID, header: BaselineHeader), by others: [(id: BaselineID, header: BaselineHeader)]
    ) throws -> Bool {
        guard !others.isEmpty else { return false }
        if others.contains(where: { $0.header.knowledge == candidate.header.knowledge && $0.header.logs == candidate.header.logs }) { return true }
        var rest: [(peer: PeerIdentifier, position: Knowledge.Position)] = []
        do {
            try reader.forEachLog(of: candidate.id, candidate.header) { peer, log in rest.append((peer, log.position)) }
        } catch is LogFault {
            // What is wrong with it is found out as it is read to the end.
            return false
        }
        for (id, header) in others where !rest.isEmpty { rest = try reader.lacking(rest, id, header) }
        return rest.isEmpty
    }
}

extension StoreFile {
    /// How many baselines can be attached together, beside what the app has attached.
    func attachmentLimit() throws -> Int {
        try pool.writeWithoutTransaction { db in
            let attached = try Int.fetchOne(db, sql: "SELECT count(*) FROM pragma_database_list WHERE name NOT IN ('main', 'temp')") ?? 0
            return Int(sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_ATTACHED, -1)) - attached
        }
    }
}
