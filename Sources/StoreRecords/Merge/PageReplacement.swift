internal import GRDB
internal import GRDBSQLite

/// Replaces all pages of a database by those of another one, in one SQLite transaction (sqlite.org/backup.html).
///
/// It locks the target from its creation on: nobody else writes to it until ``finish()``. Readers of a write-ahead log
/// see the former pages until ``run()`` returns. A crash before that leaves the target as it was.
struct PageReplacement: ~Copyable {
    private let backup: OpaquePointer

    /// Locks the target.
    ///
    /// - Parameters:
    ///   - source: the connection with the pages. What it writes before ``run()`` is replaced too.
    ///   - target: a connection outside of a transaction.
    /// - Throws: GRDB's errors, also if another connection has locked the target.
    init(from source: Database, to target: Database) throws {
        guard let backup = sqlite3_backup_init(target.sqliteConnection, "main", source.sqliteConnection, "main") else {
            throw Self.error(of: target, sqlite3_errcode(target.sqliteConnection))
        }
        // The first page already takes the lock.
        let code = sqlite3_backup_step(backup, 1)
        guard code == SQLITE_OK || code == SQLITE_DONE else {
            sqlite3_backup_finish(backup)
            throw Self.error(of: target, code)
        }
        self.backup = backup
    }

    deinit { sqlite3_backup_finish(backup) }

    /// Copies all pages and commits.
    consuming func run() throws {
        let code = sqlite3_backup_step(backup, -1)
        guard code == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    private static func error(of target: Database, _ code: CInt) -> DatabaseError {
        DatabaseError(resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(target.sqliteConnection)))
    }
}
