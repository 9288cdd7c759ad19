internal import Foundation
internal import GRDB
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// The journal in which SQLite keeps the changes of an unfinished write
/// (https://sqlite.org/pragma.html#pragma_journal_mode).
public enum JournalMode: String, Sendable, Hashable {
    /// A write-ahead log: several connections and processes read at the same time as one of them writes.
    ///
    /// `-wal` and `-shm` lie beside the file while it is open, and may stay.
    case wal
    /// A rollback journal: the process has one connection, on which its reads and writes take turns, also with other
    /// processes.
    ///
    /// While no write runs, the file lies alone, with only lock files beside it, which must not be copied. This also
    /// holds after the process has ended in any way, unless it ended during a write.
    case delete
}

extension JournalMode {
    /// Opens a database file whose connections all attach other databases.
    ///
    /// - Parameters:
    ///   - path: the file, which may be in the other mode; it changes to this one.
    ///   - given: the configuration. A connection that only reads does not change the mode.
    ///   - databases: the databases to attach.
    /// - Returns: a pool for a write-ahead log, a queue for a rollback journal.
    /// - Throws: `UbiquitousStoreError` with `timedOut` if another program has the file open in the other mode; GRDB's
    ///   errors.
    func open(_ path: FilePath, _ given: Configuration, attaching databases: [AttachedDatabase] = []) throws -> any DatabaseWriter {
        switch self {
        case .wal: try AttachedDatabase.pool(at: path.string, given, attaching: databases)
        case .delete: try queue(path, given, attaching: databases)
        }
    }

    private func queue(_ path: FilePath, _ given: Configuration, attaching databases: [AttachedDatabase]) throws -> DatabaseQueue {
        for database in databases { try database.prepare(self) }
        var configuration = given
        configuration.prepareDatabase { db in
            // A log is published after its save. With a lower level a power cut could restore the journal, which would
            // undo the save.
            try db.execute(sql: "PRAGMA main.synchronous = EXTRA")
            for database in databases { try database.attach(to: db, self) }
        }
        let queue = try DatabaseQueue(path: path.string, configuration: configuration)
        guard !given.readonly else { return queue }
        do {
            try queue.writeWithoutTransaction { db in
                guard try String.fetchOne(db, sql: "PRAGMA main.journal_mode = DELETE") == "delete" else {
                    throw DatabaseError(resultCode: .SQLITE_BUSY)
                }
            }
        } catch let error as DatabaseError where error.fault == .connection {
            throw UbiquitousStoreError(
                .timedOut,
                "Another program has \(path) open with a write-ahead log, but this program needs a rollback journal: close it there, and use the same journalMode in every program.",
                path: path, cause: error)
        }
        return queue
    }

    /// The value of `synchronous` that makes a commit as durable as the exchange needs it.
    var synchronous: String {
        switch self {
        // The publisher syncs the write-ahead log before it publishes anything.
        case .wal: "NORMAL"
        case .delete: "EXTRA"
        }
    }

    /// The number that SQLite returns for that level; a greater number is more durable.
    var synchronousLevel: Int32 {
        switch self {
        case .wal: 1
        case .delete: 3
        }
    }
}
