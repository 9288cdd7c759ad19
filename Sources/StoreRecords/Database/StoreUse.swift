internal import GRDB
internal import GRDBSQLite
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// Determines whether any process has a store file with a rollback journal open.
///
/// With a write-ahead log SQLite itself tells: it leaves the log only if no other connection is open. With a rollback
/// journal an idle connection holds no SQLite lock. So each of an app's connections holds a shared lock on a lock file
/// beside the store file. An operation that needs the store file alone takes that lock exclusively, and SQLite's own
/// lock against other programs.
package enum StoreUse {
    private static func lock(of file: FilePath) -> FilePath { StoreLock.Name.use.file(of: file) }

    /// Marks the file as open by a connection, until the connection closes.
    ///
    /// - Parameters:
    ///   - file: the store file, whose `-open` lock this thread holds.
    ///   - db: the connection.
    /// - Throws: `UbiquitousStoreError` if the lock's file cannot be created.
    static func note(_ file: FilePath, _ db: Database) throws {
        let use: FileLock?
        do {
            use = try FileLock.sharedIfFree(lock(of: file))
        } catch {
            let path = lock(of: file)
            throw UbiquitousStoreError(.fileSystem, "\(path) cannot be locked; check its owner and mode.", path: path, cause: error)
        }
        guard let use else { throw DatabaseError(resultCode: .SQLITE_BUSY) }
        // SQLite releases the context of a connection's function when the connection closes, for whatever reason. GRDB
        // keeps its own objects longer.
        let code = sqlite3_create_function_v2(
            db.sqliteConnection, "ubiquity_use", 0, SQLITE_UTF8, Unmanaged.passRetained(use).toOpaque(),
            { context, _, _ in sqlite3_result_null(context) }, nil,
            nil, { use in Unmanaged<FileLock>.fromOpaque(use!).release() })
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    /// Keeps all processes from opening the file with a rollback journal.
    ///
    /// - Parameter file: the store file, whose `-open` lock the caller holds.
    /// - Returns: an object to keep for that time; nil if a process has the file open with a rollback journal.
    /// - Throws: `Errno` if the lock's file cannot be opened.
    package static func exclude(_ file: FilePath) throws(Errno) -> Exclusion? {
        // Without the lock file, nobody has ever opened the store with a rollback journal, and new ones wait for the
        // `-open` lock.
        guard try LinuxFileLayer().kind(of: lock(of: file)) != nil else { return Exclusion(lock: nil) }
        return try FileLock.ifFree(lock(of: file)).map { Exclusion(lock: $0) }
    }

    /// While it exists, nobody has the file open with a rollback journal, and nobody opens it.
    package final class Exclusion {
        private let lock: FileLock?
        fileprivate init(lock: FileLock?) { self.lock = lock }
    }
}
