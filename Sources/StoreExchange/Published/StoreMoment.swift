internal import Foundation
internal import GRDB
internal import StoreRecords
internal import SystemPackage

/// A store as it is at one moment, while its app goes on.
///
/// What a head lists and what its snapshots hold must be of one moment: an audit would otherwise find in a snapshot what no
/// listed log says, and a log could name a statement that the head does not list yet.
final class StoreMoment {
    private let queue: DatabaseQueue
    private let scratch: FilePath
    private var copied = false

    /// Begins to read a store.
    ///
    /// - Parameters:
    ///   - store: the SQLite file.
    ///   - scratch: where a copy is made if one is needed; a copy that a killed process has left is removed.
    /// - Throws: GRDB's errors.
    init(of store: FilePath, scratch: FilePath) throws {
        self.scratch = scratch
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(30)
        // The transaction stays open as long as this object lives.
        configuration.allowsUnsafeTransactions = true
        queue = try DatabaseQueue(path: AttachedDatabase.readOnly(store), configuration: configuration)
        Self.remove(scratch)
        try queue.inDatabase { db in
            // The transaction begins with the first statement that reads.
            try db.execute(sql: "BEGIN")
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
        }
    }

    deinit {
        try? queue.close()
        Self.remove(scratch)
    }

    private static func remove(_ copy: FilePath) {
        for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: copy.string + suffix) }
    }

    /// Reads the store.
    func read<Result>(_ body: (Database) throws -> Result) throws -> Result { try queue.inDatabase(body) }

    /// Returns the path of a copy of the store, which is made at the first call.
    ///
    /// SQLite copies what the open transaction sees (sqlite.org/backup.html).
    func copy() throws -> FilePath {
        guard !copied else { return scratch }
        var configuration = Configuration()
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = OFF") }
        let copy = try DatabaseQueue(path: scratch.string, configuration: configuration)
        try queue.inDatabase { db in try copy.inDatabase { try db.backup(to: $0) } }
        try copy.close()
        copied = true
        return scratch
    }
}
