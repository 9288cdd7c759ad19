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
    var log: StoreLog?

    /// How many logs, and bytes of them, share one sync of the directory and one transaction.
    private static let batch = 64
    private static let batchBytes = 4 << 20

    /// Publishes all sealed logs.
    ///
    /// The logs of one save are forgotten together, so that a store that takes another identifier meanwhile has all of them.
    ///
    /// - Parameters:
    ///   - pool: the store file.
    ///   - pause: called after each batch that ends with a whole save, with the bytes since the last; what it throws ends the publication there.
    /// - Throws: `Errno` where a directory or the room for a file is missing; all that is not published stays sealed.
    func publish(from pool: any DatabaseWriter, between pause: (Int) throws -> Void = { _ in }) throws {
        var bytes = 0
        var placed: Int64 = 0
        while true {
            let (state, logs, value) = try pool.read { db in
                (try StoreState.read(db), try Outbox.first(Self.batch, after: placed, bytes: Self.batchBytes, db), try LargeValues.last(db))
            }
            guard let last = logs.last else { return }
            let began = ContinuousClock.now
            try syncWriteAheadLog()
            Waypoint.publishSynced.pass()
            let directory = layout.logs(of: state.peer, epoch: state.epoch)
            let temporary = layout.temporary(of: state.peer, epoch: state.epoch)
            // No ancestor of a final name, and nothing that a synchroniser would bring back.
            try files.makeDirectory(temporary)
            if value > 0 { try publishValues(through: value, of: state, from: pool, by: temporary) }
            for log in logs { try place(log.bytes, as: log.name.description, in: directory, by: temporary) }
            try files.syncDirectory(directory)
            Waypoint.publishDirectorySynced.pass()
            placed = last.name.sequence
            if let whole = logs.last(where: { !$0.goesOn }) {
                try pool.write { db in
                    try Outbox.clear(through: whole.name.sequence, of: state.peer, db)
                    try LargeValues.clear(through: value, db)
                }
                Waypoint.publishCleared.pass()
            }
            let size = logs.reduce(0) { $0 + $1.bytes.count }
            bytes += size
            for log in logs { self.log?.detail("published \(log.name), \(log.bytes.count) bytes") }
            log?.exchange("published \(counted(logs.count, "log")) up to \(last.name.sequence), \(size) bytes, in \(began.elapsed)")
            guard !last.goesOn else { continue }
            let published = bytes
            bytes = 0
            try pause(published)
        }
    }

    /// Publishes large values, durably, before any log that names one.
    private func publishValues(through last: Int64, of state: StoreState, from pool: any DatabaseWriter, by temporary: FilePath) throws {
        let directory = layout.values(of: state.peer, epoch: state.epoch)
        try files.makeDirectory(directory)
        var number: Int64 = 0
        while number < last, let value = try pool.read({ db in try LargeValues.next(after: number, db) }) {
            number = value.number
            let name = value.hash.description
            // The same value may have gone out with an earlier log.
            if (try? files.read(directory.appending(name), limit: value.bytes.count)) != value.bytes {
                try place(value.bytes, as: name, in: directory, by: temporary)
            }
            Waypoint.publishValuePlaced.pass()
        }
        try files.syncDirectory(directory)
        try files.syncDirectory(directory.removingLastComponent())
    }

    /// Publishes a receipt and removes those before it.
    func publish(_ receipt: Receipt, number: Int64, of peer: PeerIdentifier, epoch: Int64) throws {
        let directory = layout.receipts(of: peer, epoch: epoch)
        let temporary = layout.temporary(of: peer, epoch: epoch)
        try syncWriteAheadLog()
        try files.makeDirectory(temporary)
        let before = try files.names(in: directory).filter { Receipt.number(ofFile: $0).map { $0 < number } ?? false }
        try draft(try receipt.encoded(), as: String(number), by: temporary) { draft in
            try files.renameNew(draft, to: directory.appending(String(number)))
        }
        try files.syncDirectory(directory)
        Waypoint.receiptWritten.pass()
        for name in before { try files.remove(directory.appending(name)) }
        Waypoint.receiptTrimmed.pass()
    }

    private func place(_ bytes: [UInt8], as name: String, in directory: FilePath, by temporary: FilePath) throws {
        let final = directory.appending(name)
        try draft(bytes, as: name, by: temporary) { draft in
            Waypoint.publishWritten.pass()
            do {
                try files.renameNew(draft, to: final)
            } catch Errno.fileExists {
                // A crash came between this rename and the forgetting; or the file has been damaged since, and its owner sends it again.
                if try files.read(final, limit: .max) == bytes { return try files.remove(draft) }
                try files.remove(final)
                try files.renameNew(draft, to: final)
            }
        }
        Waypoint.publishRenamed.pass()
    }

    /// Writes a temporary file and has it named; one that is not named is removed.
    ///
    /// Another copy of this store that starts meanwhile may take the file for what a crash left, so a missing one is written again.
    private func draft(_ bytes: [UInt8], as name: String, by temporary: FilePath, _ giveName: (FilePath) throws -> Void) throws {
        var attempts = 3
        while true {
            attempts -= 1
            let draft = temporary.appending("\(name).\(UUID().uuidString)")
            try files.writeNew(draft, bytes)
            do {
                return try giveName(draft)
            } catch {
                try? files.remove(draft)
                guard error as? Errno == .noSuchFileOrDirectory, attempts > 0 else { throw error }
            }
        }
    }

    /// Commits in WAL mode with synchronous NORMAL are durable once the log file is synced (sqlite.org/pragma.html#pragma_synchronous).
    ///
    /// Another descriptor of the same file does: fsync(2) is about the file. Where there is no log file, a checkpoint has synced the database.
    func syncWriteAheadLog() throws {
        do {
            try files.syncFile(FilePath(storeFile.string + "-wal"))
        } catch Errno.noSuchFileOrDirectory {}
    }

    /// Removes what a crash left half written.
    ///
    /// Call it while no other process publishes.
    func removeDrafts(of peer: PeerIdentifier, epoch: Int64) {
        let temporary = layout.temporary(of: peer, epoch: epoch)
        // What lies behind a link is somebody else's.
        for name in (try? files.directoryNames(in: temporary)) ?? [] { try? files.remove(temporary.appending(name)) }
    }
}
