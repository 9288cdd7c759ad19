internal import Foundation
internal import GRDB
internal import SystemPackage
internal import UbiquityContainers

/// Gives sealed logs their names in the container.
///
/// The order is: sync the write-ahead log, so that no log outlives its save; write a temporary file and sync it; rename it into place;
/// sync the directory; forget the sealed log. A crash before the rename leaves a temporary file, which the next start removes. A crash
/// after it leaves both, and the next start finds the name taken by the same bytes, for the name holds their hash. No directory is ever
/// made on the way.
struct Publisher {
    let layout: ContentLayout
    let storeFile: FilePath
    let files: any FileLayer

    /// How many logs share one sync of the directory and one transaction.
    private static let batch = 64

    /// Publishes all sealed logs.
    ///
    /// - Returns: how many.
    /// - Throws: `Errno` where a directory or the room for a file is missing; all that is not published stays sealed.
    func publish(from pool: DatabasePool) throws -> Int {
        var count = 0
        while true {
            let (state, logs) = try pool.read { db in
                (try StoreState.read(db), try Outbox.first(Self.batch, db))
            }
            guard let last = logs.last else { return count }
            try syncWriteAheadLog()
            Waypoint.publishSynced.pass()
            let directory = layout.logs(of: state.peer, epoch: state.epoch)
            let temporary = layout.temporary(of: state.peer, epoch: state.epoch)
            // No ancestor of a final name, and nothing that a synchroniser would bring back.
            try files.makeDirectory(temporary)
            for log in logs { try place(log.bytes, as: log.name.description, in: directory, by: temporary) }
            try files.syncDirectory(directory)
            Waypoint.publishDirectorySynced.pass()
            try pool.write { db in
                try Outbox.clear(through: last.name.sequence, of: state.peer, db)
            }
            Waypoint.publishCleared.pass()
            count += logs.count
        }
    }

    /// Publishes a receipt and removes those before it.
    func publish(_ receipt: Receipt, number: Int64, of peer: PeerIdentifier, epoch: Int64) throws {
        let directory = layout.receipts(of: peer, epoch: epoch)
        try syncWriteAheadLog()
        try files.makeDirectory(layout.temporary(of: peer, epoch: epoch))
        let before = try files.names(in: directory).filter { Receipt.number(ofFile: $0).map { $0 < number } ?? false }
        try place(try receipt.encoded(), as: String(number), in: directory, by: layout.temporary(of: peer, epoch: epoch))
        try files.syncDirectory(directory)
        Waypoint.receiptWritten.pass()
        for name in before { try files.remove(directory.appending(name)) }
    }

    private func place(_ bytes: [UInt8], as name: String, in directory: FilePath, by temporary: FilePath) throws {
        let draft = temporary.appending("\(name).\(UUID().uuidString)")
        try files.writeNew(draft, bytes)
        Waypoint.publishWritten.pass()
        do {
            try giveName(draft, directory.appending(name), bytes)
        } catch {
            try? files.remove(draft)
            throw error
        }
        Waypoint.publishRenamed.pass()
    }

    private func giveName(_ draft: FilePath, _ final: FilePath, _ bytes: [UInt8]) throws {
        do {
            try files.renameNew(draft, to: final)
        } catch Errno.fileExists {
            // A crash came between this rename and the forgetting; or the file has been damaged since, and its owner sends it again.
            if try files.read(final, limit: .max) == bytes { return try files.remove(draft) }
            try files.remove(final)
            try files.renameNew(draft, to: final)
        }
    }

    /// Commits in WAL mode with synchronous NORMAL are durable once the log file is synced (sqlite.org/pragma.html#pragma_synchronous).
    ///
    /// Another descriptor of the same file does: fsync(2) is about the file. Where there is no log file, a checkpoint has synced the database.
    private func syncWriteAheadLog() throws {
        do {
            try files.syncFile(FilePath(storeFile.string + "-wal"))
        } catch Errno.noSuchFileOrDirectory {}
    }

    /// Removes what a crash left half written.
    ///
    /// Call it while no other process publishes.
    func removeDrafts(of peer: PeerIdentifier, epoch: Int64) {
        let temporary = layout.temporary(of: peer, epoch: epoch)
        for name in (try? files.names(in: temporary)) ?? [] { try? files.remove(temporary.appending(name)) }
    }

    /// Finds logs under this peer's name that this store did not write: its identifier is in use by another copy of it.
    ///
    /// - Parameters:
    ///   - state: the store's state.
    ///   - pool: where the sealed logs are.
    /// - Returns: the name of such a log, or nil.
    /// - Throws: `Errno`, or GRDB's errors.
    func foreignLog(_ state: StoreState, in pool: DatabasePool) throws -> LogFileName? {
        let sealed = try pool.read { db in
            try Dictionary(
                Row.fetchAll(db, sql: "SELECT sequence, hash FROM ubiquity_outbox").map { ($0["sequence"] as Int64, $0["hash"] as Data) }
            ) { $1 }
        }
        let directory = layout.logs(of: state.peer, epoch: state.epoch)
        for name in try files.names(in: directory).compactMap({ LogFileName($0) }) {
            let isForeign =
                name.sequence > state.sequence || (name.sequence == state.sequence && name.hash != state.predecessor)
                || sealed[name.sequence].map { Array($0) != name.hash.bytes } ?? false
            // A whole log, that is; anybody can give a file such a name.
            guard isForeign, let bytes = try? files.read(directory.appending(name.description), limit: LogFile.limit) else { continue }
            if let log = try? LogFile(decoding: bytes, named: name), log.header.peer == state.peer { return name }
        }
        return nil
    }
}
