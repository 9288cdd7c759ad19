internal import Foundation
internal import GRDB
internal import Logging
internal import SystemPackage
internal import UbiquityContainers

/// An account's file that is made anew from the container: it lies out of the way until what is made holds all that it does.
extension StoreFiles {
    /// Where an account's file lies while a new one is made in its place.
    private func former(_ account: AccountName) throws -> FilePath { try store(account).removingLastComponent().appending("former") }

    /// The directory in which an account's file lies.
    private func store(_ account: AccountName) throws -> FilePath {
        StoreFile.path(for: path, peer: try home.peer(of: account, in: identifier), contentName: content).removingLastComponent()
    }

    /// Whether an account's former file is still to be brought into the present one.
    func hasFormer(_ account: AccountName) throws -> Bool {
        FileManager.default.fileExists(atPath: try former(account).appending(path.lastComponent!).string)
    }

    /// Puts an account's file out of the way, so that a new one is made.
    ///
    /// It is one rename of the directory in which the file lies with what belongs to it. Nobody may have the file open: what they write would go where nobody looks.
    /// One stays that is paused, or that alone knows that its content is being put back.
    func setFormer(_ account: AccountName) async throws {
        try await blocking {
            let (former, store) = (try former(account), try store(account))
            let file = store.appending(path.lastComponent!)
            // One that was begun goes on.
            guard !FileManager.default.fileExists(atPath: former.string), FileManager.default.fileExists(atPath: file.string) else { return }
            // Whoever opens it waits, and finds none.
            guard let lock = try StoreLock.take(FilePath(file.string + "-open"), within: .seconds(60), unless: { Task.isCancelled }) else {
                throw UbiquitousStoreError(.timedOut, "Another process has been opening \(file) for a minute; see whether it is stopped.", path: file)
            }
            defer { withExtendedLifetime(lock) {} }
            guard let exclusion = try StoreUse.exclude(file) else { throw Self.isOpenElsewhere(file) }
            defer { withExtendedLifetime(exclusion) {} }
            do {
                // SQLite leaves its write-ahead log only where no other connection is open (sqlite.org/wal.html).
                let queue = try DatabaseQueue(path: file.string)
                defer { try? queue.close() }
                try queue.writeWithoutTransaction { db in
                    if try db.tableExists("ubiquity_state") {
                        let state = try StoreState.read(db)
                        if state.paused || state.request == .finishRepublishing { return }
                    }
                    try refuseLocalContent(of: file, db)
                    _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
                    // Nor may anybody write whom the locks say nothing of.
                    try db.execute(sql: "BEGIN EXCLUSIVE")
                    defer { try? db.execute(sql: "ROLLBACK") }
                    try rename(store, to: former)
                }
            } catch let error as DatabaseError where [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode) {
                throw Self.isOpenElsewhere(file, error)
            } catch let error as DatabaseError where error.isDamage {
                // It is looked at again where it lies.
                try rename(store, to: former)
            }
        }
    }

    private static func isOpenElsewhere(_ file: FilePath, _ cause: (any Error)? = nil) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .timedOut, "\(file) is to be made anew, and another process has it open: let that end first.", path: file, cause: cause)
    }

    /// Refuses to make a file anew that holds what is nowhere else.
    private func refuseLocalContent(of file: FilePath, _ db: Database) throws {
        let content = try StoreErasure.localContent(context.schema, db)
        guard !content.isEmpty else { return }
        throw UbiquitousStoreError(
            .unsupported,
            "\(file) holds what never leaves this device (\(content.joined(separator: ", "))), which would be lost if it were made anew: use rebuildFromUbiquitousContent(), which keeps that.",
            path: file)
    }

    /// Puts an account's former file back where the content is gone, or does not hold all that the file does: what would be made from it would be less.
    ///
    /// Only before the new one is begun: that makes its place in the content, and a wipe is not to be seen any more.
    ///
    /// - Parameters:
    ///   - account: whose file.
    ///   - container: in which the content lies.
    /// - Throws: `UbiquitousStoreError`, or what reading the content throws.
    func restoreFormer(of account: AccountName, in container: UbiquityContainer) async throws {
        let (former, store) = (try former(account), try store(account))
        let name = path.lastComponent!
        guard try hasFormer(account), !FileManager.default.fileExists(atPath: store.string) else { return }
        do {
            let base = try await muted.open(at: former.appending(name), account.description, .store, in: container, identity: container.peer)
            defer { try? base.pool.close() }
            // What has never been published is joined from there.
            guard try await base.pool.read({ db in try StoreState.read(db).attached }) else { return }
            guard try await !base.engine.isHeldByContent() else { return }
        } catch let error as UbiquitousStoreError where error.code == .notADatabase {
            return
        } catch let error as DatabaseError where error.isDamage {
            return
        }
        do {
            try await blocking { try rename(former, to: store) }
            context.logger.error(
                "\(store.appending(name)): it is not made anew, for the content is gone or does not hold all that it does; see `ubwatch verify`")
        } catch {
            // Another process has put it back, or has begun a new one, which the former is held against in the end.
            guard FileManager.default.fileExists(atPath: store.string) else { throw error }
        }
    }

    /// Brings what had not gone out from a former file of an account into the present one, and removes it; it is set aside where the present one does not hold all that it did.
    func absorbFormer(of account: AccountName, into base: StoreBase) async throws {
        let former = try former(account)
        let file = former.appending(path.lastComponent!)
        guard FileManager.default.fileExists(atPath: file.string) else { return }
        func setAside(_ reason: String) async throws {
            let aside = try await setDamagedAside(former).appending(path.lastComponent!)
            context.logger.error("\(file): \(reason); it lies at \(aside)")
            context.notices.post(.didSetAside(aside))
        }
        do {
            let source = try await open(at: file, account.description, .store, identity: base.engine.peer)
            // What had been removed by then stays so; what had not gone out is set aside.
            let epoch = try await source.pool.read { db in try StoreState.read(db).epoch }
            guard try await base.pool.read({ db in try StoreState.read(db).epoch }) == epoch else {
                try source.pool.close()
                return try await setAside("its content has been removed since, and what had not gone out from it is not joined")
            }
            let join = StoreJoin(source: source, destination: base, conflictRetention: context.options.conflictRetention)
            // Before it is emptied.
            let missing = try await blocking { try Self.missing(from: base, of: source) }
            try await blocking { if missing == 0 { try join.finish() } else { try join.advance() } }
            try source.pool.close()
            guard missing == 0 else { return try await setAside("it holds \(counted(missing, "log")) that the content does not, nor the new file") }
        } catch let error as UbiquitousStoreError where error.code == .notADatabase {
            return try await setAside("it cannot be read")
        } catch let error as DatabaseError where error.isDamage {
            return try await setAside("it is damaged")
        }
        try await blocking { try FileManager.default.removeItem(atPath: former.string) }
    }

    /// How many logs one file holds and another does not.
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

extension DatabaseError {
    /// Whether it says that a file is no database, or no whole one.
    fileprivate var isDamage: Bool { [.SQLITE_NOTADB, .SQLITE_CORRUPT].contains(resultCode) }
}
