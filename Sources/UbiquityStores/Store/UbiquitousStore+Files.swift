internal import GRDB
internal import StoreRecords
public import SystemPackage
internal import UbiquityContainers

extension UbiquitousStore {
    /// Copies the store's SQLite file, as it is at one moment, while the store is read and written.
    ///
    /// SQLite's online backup (sqlite.org/backup.html) writes the copy beside its place. The copy is checked with
    /// `quick_check`, synced to the disk, and renamed into its place. It is one file, in journal mode DELETE. An error
    /// or a cancellation leaves nothing. A process that is killed leaves nothing at the place, but possibly a file
    /// beside it with `-draft-` in its name, which may be deleted. The backup does not contain attached files
    /// (``StoreOptions/attachedDatabases``).
    ///
    /// To restore a backup, end every program that uses the store. Remove the file that ``file`` names, and the files
    /// beside it that end in `-wal` and `-shm`. Put a copy of the backup in the file's place, and open the store.
    /// Nothing published is lost by that: the backup has the peer identifier of the store that it was made from. If
    /// that store has published anything since, the restored store takes a new identifier at its next exchange
    /// (``StoreNotice/didTakeNewIdentifier(_:)``), imports the logs of the old identifier as another peer's, and
    /// publishes the saves that only the backup holds. Saves that were made after the backup and never published are in
    /// the removed file: keep that file if it may hold any. Content that was removed from the container in the meantime
    /// does not come back with a backup. Its unsent saves are set aside (<doc:Epochs>). A backup belongs to its
    /// account, container and content: another store refuses it.
    ///
    /// - Parameters:
    ///   - path: where to; nothing may be there.
    ///   - progress: called with the part that is done, from 0 to 1, on a thread of GRDB's.
    /// - Returns: what was written.
    /// - Throws: `UbiquitousStoreError`; `CancellationError` where the task is cancelled.
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

extension UbiquitousStore {
    /// Writes the visible records of synced tables for other programs; <doc:Export> describes the formats.
    ///
    /// The export reads all records in one transaction. Each table is sorted by its key, so stores with equal content
    /// produce equal bytes. The records are first written to a draft beside the destination, which is then moved into
    /// place. An error, or cancellation of the task, removes the draft. A process that is killed leaves nothing at the
    /// destination, but can leave the draft, whose name contains `-draft-`. It can be deleted.
    ///
    /// - Parameters:
    ///   - path: the destination: a file of JSON Lines or a directory of CSV files. Nothing may exist there.
    ///   - format: the format.
    ///   - tables: the synced tables; nil for all of them.
    ///   - progress: called with the completed part, from 0 to 1, on a thread of GRDB.
    /// - Returns: the number of exported records of each table.
    /// - Throws: `UbiquitousStoreError`; `CancellationError` if the task is cancelled.
    @discardableResult
    public func export(
        to path: FilePath, format: RecordFormat = .jsonLines, tables: [String]? = nil, progress: (@Sendable (Double) -> Void)? = nil
    ) async throws -> RecordExport {
        let place = NewFile(path)
        try place.checkPlace()
        // The export is moved into place only after it is certain that the file it was read from is still in use.
        let export = try await read { db in
            place.remove()
            return try place.drafting { try RecordExporter(tables, db, progress).write(format, to: place.draft) }
        }
        try await blocking { try place.place() }
        return export
    }
}

extension UbiquitousStore {
    /// Writes the records of files into the store, as one save or not at all; <doc:Export> describes the formats.
    ///
    /// A record whose key exists gets the supplied columns that differ; other records are inserted. Columns that are
    /// not supplied stay, or get their default. If a record appears twice, the later one overwrites the earlier. The
    /// other devices get the save like any other. What ``export(to:format:tables:progress:)`` has written is read back
    /// without change.
    ///
    /// The store's other saves wait meanwhile; reads do not. A process that is killed has written everything or nothing.
    ///
    /// ```swift
    /// let rehearsal = try await store.importRecords(from: "people.csv", isRehearsal: true)
    /// if rehearsal.tables["person"]?.updated == 0 { try await store.importRecords(from: "people.csv") }
    /// ```
    ///
    /// - Parameters:
    ///   - path: a file of JSON Lines (`.jsonl`), a file of CSV (`<table>.csv`), or a directory of CSV files.
    ///   - format: the format, whatever the names end in; nil to derive it from the names.
    ///   - isRehearsal: whether everything is undone at the end, so that only the result shows what would be written.
    ///   - progress: called with the number of records that have been read, once every thousand, on a thread of GRDB.
    /// - Returns: for each table, the numbers of records that were inserted, updated and unchanged.
    /// - Throws: `UbiquitousStoreError`, which names the file and the line of what cannot be written;
    ///   `CancellationError` if the task is cancelled. Nothing is written then.
    @discardableResult
    public func importRecords(
        from path: FilePath, format: RecordFormat? = nil, isRehearsal: Bool = false, progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> RecordImport {
        let inputs = try await blocking { try RecordInput.inputs(of: path, format: format) }
        do {
            return try await write { db in try RecordImport(of: inputs, isRehearsal: isRehearsal, progress: progress, db) }
        } catch {
            // SQLite is interrupted by a cancellation, and says so in its own words.
            try Task.checkCancellation()
            throw error
        }
    }
}
