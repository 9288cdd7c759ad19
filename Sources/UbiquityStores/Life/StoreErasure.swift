internal import Foundation
internal import GRDB
internal import Logging
internal import SystemPackage
internal import UbiquityContainers

/// Removes the SQLite file of a store, where nobody has it open.
///
/// A crash on the way leaves a whole database or none, for nothing lies beside it by then. The directory and the locks in it stay: somebody may be waiting for one.
struct StoreErasure {
    let file: FilePath
    let schema: SyncedSchema

    /// Removes it.
    ///
    /// - Parameter isRemovable: looks whether it may go, while nobody else can read or write.
    /// - Returns: whether it is gone; not where somebody has it open, or it may not go.
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
                // Who wants to write waits, and finds that it is gone.
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
        do {
            try FileManager.default.removeItem(atPath: file.string)
        } catch {
            throw UbiquitousStoreError(.fileSystem, "\(file) cannot be removed; check the owner and mode of its directory.", path: file, cause: error)
        }
    }

    /// Whether a file holds nothing that has not gone out, and nothing that somebody has said of it.
    static func isSent(_ schema: SyncedSchema, _ sealer: Sealer, _ db: Database) throws -> Bool {
        try Outbox.isEmpty(db) && !sealer.hasNotes(db) && !Adopter.isPending(db) && localContent(schema, db).isEmpty
            && Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_conflict") == 0 && !StoreState.read(db).paused
            && StoreState.read(db).request == nil
    }

    /// The tables and columns of a file that never leave the device.
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
    /// Removes the file of an account that is not signed in, if all that is in it has gone out and is in the container.
    ///
    /// - Parameters:
    ///   - account: the account.
    ///   - base: the file, open, and in use no more; nil where this process has not had it open.
    ///   - isStopped: asked after what may last.
    /// - Throws: `UbiquitousStoreError`, `Errno`, or GRDB's errors.
    func eraseGone(_ account: AccountName, _ base: StoreBase? = nil, unless isStopped: () async -> Bool) async throws {
        await base?.stop()
        // Somebody may be reading still: then it goes when the store is opened again.
        if let base, (try? base.pool.close()) == nil { return }
        guard try await exists(.account(account)), try !hasFormer(account) else { return }
        let sealed = try await muted.open(.account(account))
        let (file, sealer) = (sealed.file.path, sealed.sealer)
        let isHeld = (try? await sealed.engine.isHeldByContent()) == true
        try sealed.pool.close()
        guard isHeld, try home.account != account, await !isStopped() else { return }
        try await blocking {
            _ = try StoreErasure(file: file, schema: context.schema).run { db in try StoreErasure.isSent(context.schema, sealer, db) }
        }
    }

    /// The same for every account that is known here and not signed in.
    func eraseGone(unless isStopped: () async -> Bool) async throws {
        let present = try home.account
        for account in try home.knownAccounts where account != present {
            do {
                try await eraseGone(account, unless: isStopped)
            } catch {
                context.logger.error("\(path.lastComponent!.string): the file of \(account) stays: \(error)")
            }
        }
    }
}
