package import GRDB
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// A copy of a store's SQLite file as it was at one moment, with the store's own tables.
public struct StoreBackup: Sendable, Hashable, Codable {
    /// The size of the file in bytes.
    public var bytes: Int64
}

extension InspectedStore {
    /// Copies the store's SQLite file while the app uses it; see ``UbiquitousStore/backup(to:progress:)``.
    ///
    /// - Parameters:
    ///   - path: the destination; no file may exist there.
    ///   - progress: called with the finished part, from 0 to 1.
    /// - Returns: the copy that was written.
    /// - Throws: `UbiquitousStoreError`.
    @discardableResult
    package func backup(to path: FilePath, progress: ((Double) -> Void)? = nil) throws -> StoreBackup {
        let place = NewFile(path)
        try place.checkPlace()
        let backup = try read { db in try BackupWriter(place: place).draft(db, progress) }
        try place.place()
        return backup
    }
}

/// Copies a database page by page.
package struct BackupWriter {
    package let place: NewFile

    package init(place: NewFile) { self.place = place }

    /// The size of one step; cancellation takes effect between two steps.
    private static let pagesPerStep: CInt = 256

    /// Writes the draft of a backup, after removing an earlier one.
    ///
    /// - Parameters:
    ///   - db: the store, in a transaction, so that no write restarts the backup.
    ///   - progress: called after each step.
    /// - Returns: the copy that was written; the draft is closed, and not synced to disk.
    /// - Throws: `UbiquitousStoreError`, `CancellationError`.
    package func draft(_ db: Database, _ progress: ((Double) -> Void)?) throws -> StoreBackup {
        place.remove()
        return try place.drafting {
            do {
                // A transaction's snapshot begins with its first read.
                _ = try Row.fetchOne(db, sql: "SELECT 1 FROM main.sqlite_master")
                let queue = try DatabaseQueue(path: place.draft.string)
                try queue.writeWithoutTransaction { copy in
                    try db.backup(to: copy, pagesPerStep: Self.pagesPerStep) { step in
                        try Task.checkCancellation()
                        progress?(Double(step.completedPageCount) / Double(max(1, step.totalPageCount)))
                    }
                    try Task.checkCancellation()
                    // The copy has the store's journal mode, WAL, in which a file is never alone.
                    try copy.execute(sql: "PRAGMA journal_mode = DELETE")
                    let faults = try String.fetchAll(copy, sql: "PRAGMA quick_check(3)")
                    guard faults == ["ok"] else {
                        throw UbiquitousStoreError(
                            .malformed,
                            "No backup was made, because the store is damaged: \(faults.joined(separator: "; ")). Rebuild it from the container (rebuildsFromUbiquitousContent).",
                            path: place.target)
                    }
                }
                try queue.close()
                return StoreBackup(bytes: try place.files.size(of: place.draft))
            } catch let error as DatabaseError {
                throw place.failure(error)
            }
        }
    }
}
