package import Foundation
internal import GRDB
internal import StoreFormat

extension StoreFile {
    /// Begins or ends the history of the file's changes, and removes changes beyond its limits.
    ///
    /// A file that has nothing to remove is only read.
    ///
    /// - Parameters:
    ///   - retention: the limits; nil for no history.
    ///   - now: the present time.
    /// - Throws: GRDB's errors.
    package func keepHistory(_ retention: HistoryRetention?, now: Date) throws {
        enum Need { case nothing, beginning, end, pruning }
        let need = try pool.read { db -> Need in
            guard try ChangeJournal.isInstalled(db) else { return retention == nil ? .end : .beginning }
            guard try ChangeJournal.isActive(db) else { return retention == nil ? .nothing : .beginning }
            guard let retention else { return .end }
            return try ChangeJournal.isBeyond(retention, now: now, db) ? .pruning : .nothing
        }
        switch need {
        case .nothing: break
        case .beginning:
            try pool.write { [shapes] db in
                // Another process may have been faster.
                if try ChangeJournal.isInstalled(db), try ChangeJournal.isActive(db) { return }
                try ChangeJournal.ofOpening.begin(shapes, now: now, db)
            }
        case .end: try pool.write { db in try ChangeJournal.end(db) }
        case .pruning:
            // Nobody waits for it: another process may be writing.
            pool.asyncWriteWithoutTransaction { db in
                try? db.inTransaction(.immediate) {
                    try ChangeJournal.prune(retention!, now: now, db)
                    return .commit
                }
            }
        }
    }
}
