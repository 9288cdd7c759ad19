internal import Dispatch
internal import GRDB
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Moves a large write-ahead log into its file, on a connection and a thread of its own.
///
/// SQLite would otherwise do it in the next commit, which would then take as long as copying the file. Nobody waits for
/// it: readers and writers go on (sqlite.org/wal.html#ckpt). If the process ends before it is done, the next commit or
/// opening continues.
package final class LogCheckpoint: Sendable {
    /// The size in bytes from which a log counts as large.
    ///
    /// SQLite begins to move a log of 1,000 pages by itself.
    private static let least: Int64 = 16 << 20

    private let running = DispatchGroup()

    /// Begins, if the log of a file is large.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - pool: its connections.
    ///   - writer: the connection of the pool that has written the log, outside of a transaction. Until the end, its
    ///     commits leave the log alone.
    /// - Throws: GRDB's errors.
    func begin(_ file: FilePath, _ pool: any DatabaseWriter, after writer: Database) throws {
        guard let size = try? LinuxFileLayer().size(of: FilePath(file.string + "-wal")), size >= Self.least else { return }
        let queue = try DatabaseQueue(path: file.string)
        let pages = try Int.fetchOne(writer, sql: "PRAGMA wal_autocheckpoint") ?? 0
        try writer.execute(sql: "PRAGMA wal_autocheckpoint = 0")
        DispatchQueue.global(qos: .utility).async(group: running) {
            // A reader of former pages leaves a part, which a later commit moves.
            try? queue.writeWithoutTransaction { db in _ = try db.checkpoint(.passive) }
            try? queue.close()
            pool.asyncWriteWithoutTransaction { db in try? db.execute(sql: "PRAGMA wal_autocheckpoint = \(pages)") }
        }
    }

    /// Waits until the log is moved.
    package func wait() { running.wait() }
}
