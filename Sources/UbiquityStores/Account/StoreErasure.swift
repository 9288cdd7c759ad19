internal import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Removes the SQLite file of a store that nobody has open.
///
/// A crash leaves a whole database or none, because no other file belongs to it by then. The directory and its locks
/// stay, because another process may wait for a lock.
struct StoreErasure {
    let file: FilePath
    let schema: SyncedSchema

    /// Removes the file.
    ///
    /// - Parameter isRemovable: decides whether the file may be removed, while nobody else can read or write it.
    /// - Returns: whether the file is gone; false if a process has it open, or it may not be removed.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    func run(if isRemovable: (Database) throws -> Bool) throws -> Bool {
        guard FileManager.default.fileExists(atPath: file.string) else { return true }
        guard let lock = try StoreLock.take(StoreLock.Name.open.file(of: file), within: .zero, unless: { false }) else { return false }
        defer { withExtendedLifetime(lock) {} }
        guard let exclusion = try StoreUse.exclude(file) else { return false }
        defer { withExtendedLifetime(exclusion) {} }
        do {
            // SQLite leaves its write-ahead log only where no other connection is open (sqlite.org/wal.html).
            let queue = try DatabaseQueue(path: file.string)
            defer { try? queue.close() }
            return try queue.writeWithoutTransaction { db in
                guard try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE") == "delete" else { return false }
                // Writers block here, then find the file removed.
                try db.execute(sql: "BEGIN EXCLUSIVE")
                defer { try? db.execute(sql: "ROLLBACK") }
                guard try isRemovable(db) else { return false }
                try remove()
                return true
            }
        } catch let error as DatabaseError where error.fault == .connection {
            return false
        }
    }

    private func remove() throws(UbiquitousStoreError) {
        // A draft holds the account's records too.
        StoreFile.removeDrafts(of: file)
        do {
            try FileManager.default.removeItem(atPath: file.string)
        } catch {
            throw UbiquitousStoreError(.fileSystem, "\(file) cannot be removed; check the owner and mode of its directory.", path: file, cause: error)
        }
    }

    /// Returns whether all saves of a file are published, and it holds no conflicts, local data, pause or request.
    static func isSent(_ schema: SyncedSchema, _ sealer: Sealer, _ db: Database) throws -> Bool {
        try Outbox.isEmpty(db) && !sealer.hasNotes(db) && !Adopter.isPending(db) && localContent(schema, db).isEmpty
            && Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_conflict") == 0 && !StoreState.read(db).paused
            && StoreState.read(db).request == nil
    }

    /// Returns the tables and columns of a file that never leave the device.
    static func localContent(_ schema: SyncedSchema, _ db: Database) throws -> [String] {
        let shapes = try SchemaInspector.shapes(of: schema, in: db)
        let synced = Set(shapes.map(\.name))
        let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'").filter { name in
            !synced.contains(name) && !name.hasPrefix("ubiquity_") && !name.hasPrefix("sqlite_") && name != "grdb_migrations"
        }
        return (tables + shapes.flatMap { shape in shape.localColumns.map { "\(shape.name).\($0)" } }).sorted()
    }
}

extension StoreFiles {
    /// Removes the file of an account that is not signed in, if all its saves are published and in the container.
    ///
    /// - Parameters:
    ///   - account: the account.
    ///   - base: the open file, which is no longer in use; nil if this process has not opened it.
    ///   - isStopped: called after steps that may take long.
    /// - Throws: `UbiquitousStoreError`, `Errno`, or GRDB's errors.
    func eraseGone(_ account: AccountName, _ base: StoreBase? = nil, unless isStopped: () async -> Bool) async throws {
        await base?.stop()
        // A read may still be running: then the file is removed when the store is opened again.
        if let base, (try? base.pool.close()) == nil { return }
        guard try await exists(.account(account)), try !former(of: account).exists else { return }
        let sealed = try await withoutObservers.open(.account(account))
        let (file, sealer) = (sealed.file.path, sealed.sealer)
        let isHeld = (try? await sealed.runner.isHeldByContent()) == true
        try sealed.pool.close()
        guard isHeld, try home.account != account, await !isStopped() else { return }
        try await blocking {
            _ = try StoreErasure(file: file, schema: context.schema).run { db in try StoreErasure.isSent(context.schema, sealer, db) }
        }
    }

    /// Removes the files of all known accounts that are not signed in, if all their saves are published.
    func eraseGone(unless isStopped: () async -> Bool) async throws {
        let present = try home.account
        for account in try home.knownAccounts where account != present {
            do {
                try await eraseGone(account, unless: isStopped)
            } catch {
                context.logger.error(
                    "\(path.lastComponent!.string): the file of \(account) stays: \(error)",
                    metadata: .facts([.event: "eraseFailed", .account: account.description, .error: "\(error)"]))
            }
        }
    }
}
