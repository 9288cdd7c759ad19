internal import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// The file of an account that lies aside while a new one is made from the container in its place.
///
/// It lies aside until the new file holds everything that it does.
struct FormerFile {
    let files: StoreFiles
    let account: AccountName

    private var context: StoreContext { files.context }

    /// The directory in which the former file lies.
    private var directory: FilePath { get throws { try store.removingLastComponent().appending("former") } }

    /// The directory in which the account's present file lies.
    private var store: FilePath {
        get throws {
            let peer = try files.home.peer(of: account, in: files.identifier)
            return StoreFile.path(for: files.path, peer: peer, contentName: files.content).removingLastComponent()
        }
    }

    /// Whether a former file exists that is not yet joined into the present one.
    var exists: Bool { get throws { FileManager.default.fileExists(atPath: try directory.appending(files.path.lastComponent!).string) } }

    /// Returns whether the account's file can be rebuilt.
    ///
    /// - Parameter base: the file, which is closed if it can.
    /// - Returns: false if the exchange is paused, or if the file is needed to put its content back into the container.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the file holds data that exists nowhere else, and with
    ///   `timedOut` if another process has it open.
    func canBeReplaced(_ base: StoreBase) async throws -> Bool {
        try await blocking {
            do {
                let isLeft = try base.pool.read { db in
                    if try Self.isLeftAlone(StoreState.read(db)) { return true }
                    try refuseLocalContent(of: base.file.path, db)
                    return false
                }
                if isLeft { return false }
            } catch let error as DatabaseError where error.fault == .file {
                // A damaged file needs a rebuild.
            }
            try base.pool.close()
            try alone(with: base.file.path) {}
            return true
        }
    }

    private static func isLeftAlone(_ state: StoreState) -> Bool { state.paused || state.request == .finishRepublishing }

    /// Moves the account's file aside, so that a new one is made, if the content holds everything that the file does.
    ///
    /// Otherwise the new file would hold less. The move is one rename of the directory that contains the file and
    /// everything that belongs to it. No process may have the file open, because its writes would then go to the moved
    /// file.
    ///
    /// - Throws: `UbiquitousStoreError`, with `contentIncomplete` if the content is gone or holds less; or an error of
    ///   reading it. The file then stays in its place.
    func moveAside() async throws {
        let (former, store) = (try directory, try store)
        // A move that was begun continues; after a removal there is no file to move.
        guard try !exists, try await files.exists(.account(account)) else { return }
        let base = try await files.withoutObservers.open(.account(account))
        do {
            defer { try? base.pool.close() }
            let state = try await base.pool.read { db in try StoreState.read(db) }
            if Self.isLeftAlone(state) { return }
            // Saves of a file that has never published are joined from the former file.
            var isHeld = !state.attached
            if !isHeld { isHeld = try await base.runner.isHeldByContent() }
            guard isHeld else {
                throw UbiquitousStoreError(
                    .contentIncomplete,
                    "\(base.file.path) is not rebuilt: the content is gone, or does not hold everything that the file does. The file stays in use; `ubwatch verify` lists what is wrong with the content.",
                    path: base.file.path)
            }
        } catch let error as DatabaseError where error.fault == .file {
            // The holdings of a damaged file are unknown: it is set aside later if it stays unreadable.
        }
        try await blocking {
            try alone(with: base.file.path) {
                try? FileManager.default.removeItem(atPath: former.string)
                try files.rename(store, to: former)
            }
        }
    }

    /// Runs a body while no other process has a store file open.
    private func alone(with file: FilePath, _ body: () throws -> Void) throws {
        // A process that opens the file waits here, and then finds it in its place or gone.
        let lock = try StoreLock.opening(file)
        defer { withExtendedLifetime(lock) {} }
        guard let exclusion = try StoreUse.exclude(file) else { throw Self.isOpenElsewhere(file) }
        defer { withExtendedLifetime(exclusion) {} }
        do {
            // SQLite leaves its write-ahead log only where no other connection is open (sqlite.org/wal.html).
            let queue = try DatabaseQueue(path: file.string)
            defer { try? queue.close() }
            try queue.writeWithoutTransaction { db in
                _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
                // This also excludes writers that hold no store lock.
                try db.execute(sql: "BEGIN EXCLUSIVE")
                defer { try? db.execute(sql: "ROLLBACK") }
                try body()
            }
        } catch let error as DatabaseError where error.fault == .connection {
            throw Self.isOpenElsewhere(file, error)
        } catch let error as DatabaseError where error.fault == .file {
            // The damaged file is examined again after the move.
            try body()
        }
    }

    private static func isOpenElsewhere(_ file: FilePath, _ cause: (any Error)? = nil) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .timedOut, "\(file) cannot be rebuilt, because another process has it open: end that process first.", path: file, cause: cause)
    }

    /// Refuses to rebuild a file that holds data that exists nowhere else.
    private func refuseLocalContent(of file: FilePath, _ db: Database) throws {
        let content = try StoreErasure.localContent(context.schema, db)
        guard !content.isEmpty else { return }
        throw UbiquitousStoreError(
            .unsupported,
            "\(file) holds data that never leaves this device (\(content.joined(separator: ", "))), which a rebuild would lose: use rebuildFromUbiquitousContent(), which keeps it.",
            path: file)
    }

    /// Joins the unpublished saves of the former file into the present one, and removes the former file.
    ///
    /// It is set aside instead if the present file does not hold everything that it did.
    func mergeMovedAside(into base: StoreBase) async throws {
        let former = try directory
        let file = former.appending(files.path.lastComponent!)
        guard FileManager.default.fileExists(atPath: file.string) else { return }
        func setAside(_ reason: String) async throws {
            let aside = try await files.setDamagedAside(former).appending(files.path.lastComponent!)
            context.logger.error(
                "\(file): \(reason); it is now at \(aside)",
                metadata: .facts([.event: "setAside", .account: account.description, .file: file.string, .path: aside.string, .error: reason]))
            context.notices.post(.didSetAside(aside))
        }
        do {
            let source = try await files.open(at: file, account.description, .store, identity: base.runner.peer)
            // Content that was removed by then stays removed; the unpublished saves are set aside.
            let epoch = try await source.pool.read { db in try StoreState.read(db).epoch }
            guard try await base.pool.read({ db in try StoreState.read(db).epoch }) == epoch else {
                try source.pool.close()
                return try await setAside("its content has been removed since, so its unpublished saves are not joined")
            }
            // The content may have gone since, and the former file's saves depend on it.
            let missing = try await blocking { try Self.missing(from: base, of: source) }
            guard missing == 0 else {
                try source.pool.close()
                return try await setAside("it holds \(counted(missing, "log")) that neither the content nor the new file holds")
            }
            let join = StoreJoin(source: source, destination: base, conflictRetention: context.options.advanced.conflictRetention)
            try await blocking { try join.finish() }
            try source.pool.close()
        } catch let error as UbiquitousStoreError where error.code == .notADatabase {
            return try await setAside("it cannot be read")
        } catch let error as DatabaseError where error.fault == .file {
            return try await setAside("it is damaged")
        }
        try await blocking { try FileManager.default.removeItem(atPath: former.string) }
    }

    /// Returns the number of logs that one file holds and another does not.
    private static func missing(from base: StoreBase, of source: StoreBase) throws -> Int {
        try source.pool.read { origin in
            let names = try StoreKnowledge.peers(origin)
            return try base.pool.read { db in
                let peers = try StoreKnowledge.peers(db)
                let isThere = try db.makeStatement(sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_log WHERE peer = ? AND sequence = ? AND hash = ?)")
                var missing = 0
                let rows = try Row.fetchCursor(origin, sql: "SELECT peer, sequence, hash FROM ubiquity_log")
                while let row = try rows.next() {
                    let number = names[PeerNumber(rawValue: row["peer"])].flatMap { peers[$0] }
                    let isHeld = try Bool.fetchOne(
                        isThere, arguments: [number?.rawValue, row["sequence"] as Int64, row["hash"] as Data])
                    if isHeld != true { missing += 1 }
                }
                return missing
            }
        }
    }
}
