internal import GRDB
internal import GRDBSQLite
internal import SystemPackage
internal import UbiquityContainers

/// Whether anybody has a store file open with a rollback journal.
///
/// With a write-ahead log SQLite itself tells: it leaves the log only where no other connection is open. With a rollback journal a connection that is idle holds no lock of SQLite's; so each of an
/// app's holds a shared one on a file of ours beside it, and who needs the store file alone takes that exclusively, and SQLite's own against the others.
enum StoreUse {
    private static func lock(of file: FilePath) -> FilePath { StoreLock.Name.use.file(of: file) }

    /// Says of a connection that it has the file open, until it is closed.
    ///
    /// - Parameters:
    ///   - file: the store file, whose `-open` lock this thread has.
    ///   - db: the connection.
    /// - Throws: `UbiquitousStoreError` where the lock's file cannot be made.
    static func note(_ file: FilePath, _ db: Database) throws {
        let use: FileLock?
        do {
            use = try FileLock.sharedIfFree(lock(of: file))
        } catch {
            let path = lock(of: file)
            throw UbiquitousStoreError(.fileSystem, "\(path) cannot be locked; check its owner and mode.", path: path, cause: error)
        }
        guard let use else { throw DatabaseError(resultCode: .SQLITE_BUSY) }
        // SQLite lets go of what belongs to a connection's functions when it closes that, however that comes about; GRDB keeps its own for longer.
        let code = sqlite3_create_function_v2(
            db.sqliteConnection, "ubiquity_use", 0, SQLITE_UTF8, Unmanaged.passRetained(use).toOpaque(),
            { context, _, _ in sqlite3_result_null(context) }, nil,
            nil, { use in Unmanaged<FileLock>.fromOpaque(use!).release() })
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    /// Keeps everybody from opening the file with a rollback journal.
    ///
    /// - Parameter file: the store file, whose `-open` lock the caller has.
    /// - Returns: what is to be kept meanwhile; nil where somebody has the file open so.
    /// - Throws: `Errno` where the lock's file cannot be opened.
    static func exclude(_ file: FilePath) throws(Errno) -> Exclusion? {
        // Where nobody has ever opened it so there is none, and whoever wants to waits for the `-open` lock.
        guard try LinuxFileLayer().kind(of: lock(of: file)) != nil else { return Exclusion(lock: nil) }
        return try FileLock.ifFree(lock(of: file)).map { Exclusion(lock: $0) }
    }

    /// Nobody has the file open with a rollback journal, nor opens it.
    final class Exclusion {
        private let lock: FileLock?
        fileprivate init(lock: FileLock?) { self.lock = lock }
    }
}
