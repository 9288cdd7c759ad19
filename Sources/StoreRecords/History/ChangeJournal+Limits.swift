internal import Foundation
internal import GRDB

extension ChangeJournal {
    /// Begins or ends the history of a file's changes, and removes changes beyond its limits.
    ///
    /// A file that has nothing to remove is only read.
    ///
    /// - Parameters:
    ///   - retention: the limits; nil for no history.
    ///   - pool: the open file.
    ///   - shapes: its synced tables.
    ///   - now: the present time.
    /// - Throws: GRDB's errors.
    static func keep(_ retention: HistoryRetention?, in pool: any DatabaseWriter, _ shapes: [TableShape], now: Date) throws {
        enum Need { case nothing, beginning, end, pruning }
        let need = try pool.read { db -> Need in
            guard try isInstalled(db) else { return retention == nil ? .end : .beginning }
            guard try isActive(db) else { return retention == nil ? .nothing : .beginning }
            guard let retention else { return .end }
            return try isBeyond(retention, now: now, db) ? .pruning : .nothing
        }
        switch need {
        case .nothing: break
        case .beginning:
            try pool.write { db in
                // Another process may have been faster.
                if try isInstalled(db), try isActive(db) { return }
                try ofOpening.begin(shapes, now: now, db)
            }
        case .end: try pool.write { db in try end(db) }
        case .pruning:
            // Nobody waits for it: another process may be writing.
            pool.asyncWriteWithoutTransaction { db in
                try? db.inTransaction(.immediate) {
                    try prune(retention!, now: now, db)
                    return .commit
                }
            }
        }
    }

    /// Removes the changes beyond the retention, but not the last transaction.
    static func prune(_ retention: HistoryRetention, now: Date, _ db: Database) throws {
        guard let last = try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(number) FROM ubiquity_history")) else { return }
        let young = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT number FROM ubiquity_history WHERE time >= ? ORDER BY number LIMIT 1"),
            arguments: [retention.beginning(now: now)])
        let end = min(max(last - Int64(max(0, retention.count)), (young ?? last) - 1), last - 1)
        try db.cachedStatement(
            sql: """
                UPDATE ubiquity_tracking SET (number, mark) = (SELECT number, mark FROM ubiquity_history WHERE number <= ?1 ORDER BY number DESC LIMIT 1)
                WHERE EXISTS (SELECT 1 FROM ubiquity_history WHERE number <= ?1)
                """
        ).execute(arguments: [end])
        try db.cachedStatement(sql: "DELETE FROM ubiquity_history WHERE number <= ?").execute(arguments: [end])
    }

    /// Returns whether a file holds changes beyond the retention.
    private static func isBeyond(_ retention: HistoryRetention, now: Date, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM (SELECT number, time FROM ubiquity_history ORDER BY number LIMIT 1) oldest,
                (SELECT max(number) AS number FROM ubiquity_history) last
                WHERE oldest.number < last.number AND (oldest.time < ? OR oldest.number <= last.number - ?))
                """, arguments: [retention.beginning(now: now), retention.count])!
    }
}
