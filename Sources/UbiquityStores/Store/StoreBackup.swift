internal import GRDB
public import SystemPackage
internal import UbiquityContainers

/// A copy of a store's SQLite file as it was at one moment, with the store's own tables.
public struct StoreBackup: Sendable, Hashable, Codable {
    /// The size of the file in bytes.
    public var bytes: Int64
}

extension UbiquitousStore {
    /// Copies the store's SQLite file as it is at one moment; reads and writes go on.
    ///
    /// SQLite's online backup (sqlite.org/backup.html) writes the copy beside its destination. The method checks the
    /// copy with `quick_check`, syncs it to disk and moves it into place; it is one file, in journal mode DELETE. An
    /// error, or the task's cancellation, leaves nothing behind. A process that is killed leaves nothing at the
    /// destination, and perhaps a file beside it with `-draft-` in its name, which may be deleted. The backup does not
    /// contain attached files (``Options/attachedDatabases``).
    ///
    /// To restore a backup, end every program that uses the store, remove the file that ``file`` names and the files
    /// beside it that end in `-wal` and `-shm`, put a copy of the backup in the file's place, and open the store. This
    /// loses nothing that was published. The backup has the peer identifier of the original store. If that store has
    /// published anything since, the restored store takes a new identifier at its next exchange
    /// (``StoreNotice/didTakeNewIdentifier(_:)``), imports the original's logs as those of another peer, and publishes
    /// what only the backup holds. Saves that were made after the backup and never published exist only in the file
    /// that you removed: keep it if it may hold any. Content that was removed from the container since does not return
    /// with a backup; its unpublished saves are set aside (<doc:Epochs>). A backup belongs to its account, container
    /// and content: another store refuses it.
    ///
    /// - Parameters:
    ///   - path: the destination; no file may exist there.
    ///   - progress: called with the finished part, from 0 to 1, on one of GRDB's threads.
    /// - Returns: the copy that was written.
    /// - Throws: `UbiquitousStoreError`; `CancellationError` if the task is cancelled.
    @discardableResult
    public func backup(to path: FilePath, progress: (@Sendable (Double) -> Void)? = nil) async throws -> StoreBackup {
        let place = NewFile(path)
        try place.checkPlace()
        // The copy is placed after the read has confirmed that its file is the one in use.
        let backup = try await read { db in try BackupWriter(place: place).draft(db, progress) }
        try await blocking { try place.place() }
        return backup
    }
}

extension StoreInspection {
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
private struct BackupWriter {
    let place: NewFile

    /// The size of one step; cancellation takes effect between two steps.
    private static let pagesPerStep: CInt = 256

    /// Writes the draft of a backup, after removing an earlier one.
    ///
    /// - Parameters:
    ///   - db: the store, in a transaction, so that no write restarts the backup.
    ///   - progress: called after each step.
    /// - Returns: the copy that was written; the draft is closed, and not synced to disk.
    /// - Throws: `UbiquitousStoreError`, `CancellationError`.
    func draft(_ db: Database, _ progress: ((Double) -> Void)?) throws -> StoreBackup {
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
