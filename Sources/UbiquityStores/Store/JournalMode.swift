internal import Foundation
internal import GRDB
internal import SystemPackage
internal import UbiquityContainers

/// How SQLite keeps what a write changes until it is whole (https://sqlite.org/pragma.html#pragma_journal_mode).
public enum JournalMode: String, Sendable, Hashable {
    /// A write-ahead log: reads and a write go on at once, from several connections and processes. `-wal` and `-shm` lie beside the file while it is open, and may stay.
    case wal
    /// A rollback journal: one connection, on which reads and writes of the process take turns, and those of several processes too. When no write is running the file lies alone,
    /// with nothing but lock files beside it, which are not to be copied, in whichever way the process ended but in the midst of a write.
    case delete
}

extension JournalMode {
    /// Opens a database file whose connections all have others attached.
    ///
    /// - Parameters:
    ///   - path: the file, which may be in the other mode; it changes to this one.
    ///   - given: how it is opened. One that only reads changes no mode.
    ///   - databases: what is attached.
    /// - Returns: a pool for a write-ahead log, a queue for a rollback journal.
    /// - Throws: `UbiquitousStoreError` with `timedOut` where another program has the file open in the other mode; GRDB's errors.
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
            // A log goes out behind its save: with less a power cut could bring the journal back, which takes the save away again.
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
                "Another program has \(path) open with a write-ahead log, and this one wants a rollback journal: close it there, and open it with the same journalMode everywhere.",
                path: path, cause: error)
        }
        return queue
    }

    /// What makes a commit as durable as the exchange needs it.
    var synchronous: String {
        switch self {
        // The publisher syncs the write-ahead log before anything goes out.
        case .wal: "NORMAL"
        case .delete: "EXTRA"
        }
    }

    /// The number by which SQLite gives that back; a greater one is more durable.
    var synchronousLevel: Int32 {
        switch self {
        case .wal: 1
        case .delete: 3
        }
    }
}
