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

    /// Whether an account's file is one that can be made anew.
    ///
    /// - Parameter base: the file, which is closed where it is.
    /// - Returns: false of one that is paused, or that alone knows that its content is being put back.
    /// - Throws: `UbiquitousStoreError` with `unsupported` where it holds what is nowhere else, and with `timedOut` where another process has it open.
    func canBeMadeAnew(_ base: StoreBase) async throws -> Bool {
        try await blocking {
            do {
                let isLeft = try base.pool.read { db in
                    if try Self.isLeftAlone(StoreState.read(db)) { return true }
                    try refuseLocalContent(of: base.file.path, db)
                    return false
                }
                if isLeft { return false }
            } catch let error as DatabaseError where error.fault == .file {
                // A new one is what it needs.
            }
            try base.pool.close()
            try alone(with: base.file.path) {}
            return true
        }
    }

    private static func isLeftAlone(_ state: StoreState) -> Bool { state.paused || state.request == .finishRepublishing }

    /// Puts an account's file out of the way, so that a new one is made; where the content holds all that it does, for what is made would be less.
    ///
    /// It is one rename of the directory in which the file lies with what belongs to it. Nobody may have the file open: what they write would go where nobody looks.
    ///
    /// - Throws: `UbiquitousStoreError`, with `contentIncomplete` where the content is gone or holds less; or what reading it throws. The file is where it was.
    func setFormer(_ account: AccountName) async throws {
        let (former, store) = (try former(account), try store(account))
        // One that was begun goes on; what a removal has left is no file.
        guard try !hasFormer(account), try await exists(.account(account)) else { return }
        let base = try await muted.open(.account(account))
        do {
            defer { try? base.pool.close() }
            let state = try await base.pool.read { db in try StoreState.read(db) }
            if Self.isLeftAlone(state) { return }
            // What has never been published is joined from there.
            var isHeld = !state.attached
            if !isHeld { isHeld = try await base.engine.isHeldByContent() }
            guard isHeld else {
                throw UbiquitousStoreError(
                    .contentIncomplete,
                    "\(base.file.path) is not made anew: the content is gone, or does not hold all that it does. It is used as it is; `ubwatch verify` lists what is wrong with the content.",
                    path: base.file.path)
            }
        } catch let error as DatabaseError where error.fault == .file {
            // What it holds cannot be told: it is set aside where it cannot be read in the end either.
        }
        try await blocking {
            try alone(with: base.file.path) {
                try? FileManager.default.removeItem(atPath: former.string)
                try rename(store, to: former)
            }
        }
    }

    /// Runs a body while no other process has a store file open.
    private func alone(with file: FilePath, _ body: () throws -> Void) throws {
        // Whoever opens it waits, and finds it there or not.
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
                // Nor may anybody write whom the locks say nothing of.
                try db.execute(sql: "BEGIN EXCLUSIVE")
                defer { try? db.execute(sql: "ROLLBACK") }
                try body()
            }
        } catch let error as DatabaseError where error.fault == .connection {
            throw Self.isOpenElsewhere(file, error)
        } catch let error as DatabaseError where error.fault == .file {
            // It is looked at again where it lies.
            try body()
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
            // The content may have gone since. What was saved there rests on what it held.
            let missing = try await blocking { try Self.missing(from: base, of: source) }
            guard missing == 0 else {
                try source.pool.close()
                return try await setAside("it holds \(counted(missing, "log")) that the content does not, nor the new file")
            }
            let join = StoreJoin(source: source, destination: base, conflictRetention: context.options.conflictRetention)
            try await blocking { try join.finish() }
            try source.pool.close()
        } catch let error as UbiquitousStoreError where error.code == .notADatabase {
            return try await setAside("it cannot be read")
        } catch let error as DatabaseError where error.fault == .file {
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
