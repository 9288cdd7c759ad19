internal import Foundation
package import GRDB
package import StoreFormat
internal import StoreRecords
package import SystemPackage
internal import TreeWatching
package import UbiquityContainers

/// Writes sealed logs into the container under their final names.
///
/// The order is: sync the write-ahead log, so that no log outlives its save; write a temporary file and sync it; rename
/// it to its final name; sync the directory; remove the sealed log from the outbox. A crash before the rename leaves a
/// temporary file, which the next start removes. A crash after it leaves the file and the sealed log. The next start
/// then finds a file of that name with equal bytes, because the name contains their hash. Missing parent directories
/// are never created.
package struct Publisher {
    package let layout: ContentLayout
    package let storeFile: FilePath
    package let files: any FileLayer
    var log: StoreLog?
    var metrics: ExchangeMetrics?
    var hint: TransportHint?
    /// The container with a scope that the logs are signed for; nil for a plain container.
    var scope: ScopeContext?

    package init(layout: ContentLayout, storeFile: FilePath, files: any FileLayer, log: StoreLog? = nil) {
        self.layout = layout
        self.storeFile = storeFile
        self.files = files
        self.log = log
    }

    /// The maximum number of logs, and of their bytes, that share one sync of the directory and one transaction.
    private static let batch = 64
    private static let batchBytes = 4 << 20

    /// Publishes all sealed logs.
    ///
    /// The logs of one save are removed from the outbox together, so that a store that takes another identifier
    /// meanwhile still has all of them.
    ///
    /// - Parameters:
    ///   - pool: the store file.
    ///   - placed: called with the name of each log in the container.
    ///   - pause: called after each batch that ends with a whole save, with the number of bytes since the last call. If
    ///     it throws, publishing ends there.
    /// - Throws: `Errno` if a directory or free space is missing. All unpublished logs stay sealed.
    package func publish(
        from pool: any DatabaseWriter, placing placed: (LogFileName) -> Void = { _ in }, between pause: (Int) throws -> Void = { _ in }
    ) throws {
        var bytes = 0
        var through: Int64 = 0
        while true {
            let (state, logs, value) = try pool.read { db in
                (try StoreState.read(db), try Outbox.first(Self.batch, after: through, bytes: Self.batchBytes, db), try LargeValues.last(db))
            }
            guard let last = logs.last else { return }
            let began = ContinuousClock.now
            try syncWriteAheadLog()
            Waypoint.publishSynced.pass()
            let directory = layout.logs(of: state.peer, epoch: state.epoch)
            let temporary = layout.temporary(of: state.peer, epoch: state.epoch)
            // The temporary directory is not a parent of a final name, and synchronisers would not bring it back.
            try files.makeDirectory(temporary)
            if value > 0 { try publishValues(through: value, of: state, from: pool, by: temporary) }
            for log in logs {
                try place(try scope?.signed(log) ?? log.bytes, as: log.name.description, in: directory, by: temporary)
                placed(log.name)
            }
            try files.syncDirectory(directory)
            Waypoint.publishDirectorySynced.pass()
            hint?.published(in: directory)
            through = last.name.sequence
            if let whole = logs.last(where: { !$0.goesOn }) {
                try pool.write { db in
                    try Outbox.clear(through: whole.name.sequence, of: state.peer, db)
                    try LargeValues.clear(through: value, db)
                }
                Waypoint.publishCleared.pass()
            }
            let size = logs.reduce(0) { $0 + $1.bytes.count }
            bytes += size
            for log in logs {
                self.log?.detail("published \(log.name), \(log.bytes.count) bytes", [.log: log.name.description, .bytes: "\(log.bytes.count)"])
            }
            log?.exchange(
                "published \(counted(logs.count, "log")) up to \(last.name.sequence), \(size) bytes, in \(began.elapsed)",
                [.event: "published", .count: "\(logs.count)", .bytes: "\(size)", .milliseconds: "\(began.milliseconds)"])
            metrics?.published(logs: logs.count, bytes: size)
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
            // An earlier log may have published the same value.
            if (try? files.read(directory.appending(name), limit: value.bytes.count)) != value.bytes {
                try place(value.bytes, as: name, in: directory, by: temporary)
            }
            Waypoint.publishValuePlaced.pass()
        }
        try files.syncDirectory(directory)
        try files.syncDirectory(directory.removingLastComponent())
    }

    /// Publishes a receipt, and removes the earlier ones.
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
        hint?.published(in: directory)
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
                // Either a crash happened between this rename and the removal from the outbox, or the file was damaged
                // later. Its author publishes a damaged file again.
                if try files.read(final, limit: .max) == bytes { return try files.remove(draft) }
                try files.remove(final)
                try files.renameNew(draft, to: final)
            }
        }
        Waypoint.publishRenamed.pass()
    }

    /// Writes a temporary file and passes it to a closure that renames it.
    ///
    /// A file that is not renamed is removed.
    ///
    /// Another copy of this store that starts meanwhile may take the file for a remnant of a crash and remove it. A
    /// missing file is therefore written again.
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

    /// Makes commits durable.
    ///
    /// In WAL mode with synchronous NORMAL, they are durable once the log file is synced
    /// (sqlite.org/pragma.html#pragma_synchronous).
    ///
    /// Another descriptor of the file works too, because fsync(2) applies to the file. If there is no log file, a
    /// checkpoint has synced the database.
    package func syncWriteAheadLog() throws {
        do {
            try files.syncFile(FilePath(storeFile.string + "-wal"))
        } catch Errno.noSuchFileOrDirectory {}
    }

    /// Removes unfinished files that a crash left.
    ///
    /// Call it while no other process publishes.
    func removeDrafts(of peer: PeerIdentifier, epoch: Int64) {
        let temporary = layout.temporary(of: peer, epoch: epoch)
        // Files behind a link belong to somebody else.
        for name in (try? files.directoryNames(in: temporary)) ?? [] { try? files.remove(temporary.appending(name)) }
    }
}
