internal import Foundation
internal import GRDB
internal import Glibc
internal import StoreFormat
internal import SystemPackage

/// Migrates a store with content to another version of the app's schema, completely or not at all.
///
/// The app's migrations run on a copy beside the store file, without this package's triggers and indexes, so that no
/// migration is captured as an edit. The copy is then compared with the store. Forbidden changes are refused, and the
/// store has not been touched. Then the package's own tables are upgraded in the copy, and its pages replace those of
/// the store in one SQLite transaction (sqlite.org/backup.html). Wherever the process is killed, the store file is
/// therefore unchanged or complete: the next opening starts again, or only removes the copy.
///
/// Meanwhile this connection locks the store file exclusively, by SQLite's own lock
/// (sqlite.org/pragma.html#pragma_locking_mode). Another program with the file open, of any version, would lose its
/// writes after the copy, and would continue with outdated column numbers. If another program has the file open, the
/// migration waits for it, and is then refused.
struct SchemaMigration {
    let path: FilePath
    let schema: SyncedSchema
    /// The files that migrations may read beside the store's tables.
    var attached: [AttachedDatabase] = []
    /// The maximum time to wait for other connections to the file.
    var patience = Duration.seconds(10)

    /// Returns the synced tables, or nil if the file has another version than a schema.
    ///
    /// - Throws: `UbiquitousStoreError` if the schema cannot sync, or GRDB's errors.
    static func currentShapes(of schema: SyncedSchema, _ db: Database) throws -> [TableShape]? {
        guard try schema.migrator.hasCompletedMigrations(db) else { return nil }
        let known = try KnownTable.all(db, withLocalColumns: false)
        let shapes = try SchemaInspector.shapes(of: schema, known: known, in: db)
        return KnownTable.matched(known, shapes).allSatisfy { table, shape in shape.map(table.isCurrent) ?? false } ? shapes : nil
    }

    /// Migrates the store.
    ///
    /// - Throws: `UbiquitousStoreError`, or an error of the app's own migrations. The store is unchanged then.
    func run() throws {
        let (store, exclusion) = try exclusive()
        defer { withExtendedLifetime(exclusion) { try? store.close() } }
        let draft = Self.draft(of: path)
        Self.removeDraft(of: path)
        defer { Self.removeDraft(of: path) }
        try store.writeWithoutTransaction { db in try copy(db, to: draft) }
        Waypoint.migrateCopied.pass()
        let tables = try store.read { db in try KnownTable.all(db) }
        let (shapes, setAside) = try migrate(draft, tables, copyingFrom: store)
        Waypoint.migrateRun.pass()
        try store.writeWithoutTransaction { db in
            try db.execute(sql: "ATTACH DATABASE ? AS migrated", arguments: [draft.string])
            // If this throws, the connection is closed.
            try check(tables, shapes, setAside, db)
            try db.execute(sql: "DETACH DATABASE migrated")
        }
        Waypoint.migrateChecked.pass()
        let migrated = try DatabaseQueue(path: draft.string, configuration: Self.configuration)
        try migrated.write { db in try StoreUpgrade(shapes: shapes, local: schema.local, db).run(from: tables) }
        Waypoint.migrateUpgraded.pass()
        try migrated.writeWithoutTransaction { source in
            try store.writeWithoutTransaction { db in
                try source.backup(to: db, pagesPerStep: BatchSize.pages) { _ in Waypoint.migrateReplacing.pass() }
            }
        }
        Waypoint.migrateReplaced.pass()
        try migrated.close()
    }

    /// Opens the store file exclusively, so that no other program can read or write it.
    private func exclusive() throws -> (DatabaseQueue, StoreUse.Exclusion) {
        var configuration = Configuration()
        // The mode is set before the first read. The connection takes the lock with that read, and keeps it until it is
        // closed.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA main.locking_mode = EXCLUSIVE") }
        let deadline = ContinuousClock.now + patience
        while true {
            do {
                guard let exclusion = try StoreUse.exclude(path) else { throw DatabaseError(resultCode: .SQLITE_BUSY) }
                let queue = try DatabaseQueue(path: path.string, configuration: configuration)
                // With a rollback journal, only a write takes the exclusive lock.
                try queue.writeWithoutTransaction { db in try db.execute(sql: "BEGIN EXCLUSIVE; COMMIT") }
                return (queue, exclusion)
            } catch let error as DatabaseError where error.fault == .connection {
                guard ContinuousClock.now < deadline else {
                    throw UbiquitousStoreError(
                        .timedOut,
                        "Another program has \(path) open, but a migration needs exclusive access: close it there (`fuser \(path)` names the process), then open the store again. The store is unchanged.",
                        path: path)
                }
                usleep(20_000)
            }
        }
    }

    /// Runs the app's migrations on the copy.
    ///
    /// If duplicates block a uniqueness rule that the migrations create, it sets them aside and runs the migrations
    /// again.
    ///
    /// - Returns: the migrated synced tables, and the number of rows set aside in each, by its number.
    private func migrate(_ draft: FilePath, _ tables: [KnownTable], copyingFrom store: DatabaseQueue) throws -> ([TableShape], [Int64: Int]) {
        func withCopy<Result>(_ body: (Database) throws -> Result) throws -> Result {
            var configuration = Self.configuration
            configuration.foreignKeysEnabled = false
            let copy = try DatabaseQueue(path: draft.string, configuration: configuration)
            defer { try? copy.close() }
            return try copy.write(body)
        }
        do {
            return (try migrate(draft), [:])
        } catch let error as DatabaseError where DuplicateRows.isCause(of: error) {
            Self.removeDraft(of: path)
            try store.writeWithoutTransaction { db in try copy(db, to: draft) }
            let setAside = try withCopy { db in try DuplicateRows(db).setAside(from: tables, by: schema) }
            do {
                return (try migrate(draft), setAside)
            } catch let error as DatabaseError where DuplicateRows.isCause(of: error) {
                throw try withCopy { db in try DuplicateRows(db).explanation(error, path) }
            }
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        // After a crash, the copy is made again.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = OFF") }
        return configuration
    }

    private func copy(_ db: Database, to draft: FilePath) throws {
        let copy = try DatabaseQueue(path: draft.string, configuration: Self.configuration)
        try copy.writeWithoutTransaction { target in try db.backup(to: target, pagesPerStep: BatchSize.pages) }
        try copy.close()
    }

    /// Runs the app's migrations on the copy.
    ///
    /// - Returns: the migrated synced tables. Their columns keep their numbers where possible.
    private func migrate(_ draft: FilePath) throws -> [TableShape] {
        var configuration = Self.configuration
        // With foreign keys on, GRDB refuses a migration if a reference dangles, as another program may have left one.
        // Such rows are held.
        configuration.foreignKeysEnabled = false
        // Writes to an attached file could not be rolled back if the migration is refused later.
        let readable = attached.filter { $0.migrator == nil }
        configuration.prepareDatabase { db in for database in readable { try database.attach(to: db, .delete) } }
        let copy = try DatabaseQueue(path: draft.string, configuration: configuration)
        try copy.write { db in
            // This package's triggers and indexes on the app's tables go, because a column that they name could not be
            // dropped.
            for type in ["trigger", "index"] {
                let names = try String.fetchAll(
                    db, sql: "SELECT name FROM sqlite_master WHERE type = ? AND name LIKE 'ubiquity\\_%' ESCAPE '\\'", arguments: [type])
                for name in names { try db.execute(sql: "DROP \(type) \(name.quotedIdentifier)") }
            }
        }
        try schema.migrator.migrate(copy)
        let shapes = try copy.read { db in
            guard try db.tableExists("ubiquity_state") else {
                throw UbiquitousStoreError(
                    .invalidSchema,
                    "The app's migrator erases the database if the schema has changed: set eraseDatabaseOnSchemaChange to false for a store. \(path) is unchanged.",
                    path: path)
            }
            return try SchemaInspector.shapes(of: schema, in: db)
        }
        try copy.close()
        return shapes
    }

    /// Compares the copy with the store.
    private func check(_ tables: [KnownTable], _ shapes: [TableShape], _ setAside: [Int64: Int], _ db: Database) throws {
        let isVersionNew = try !schema.migrator.hasCompletedMigrations(db)
        var check = MigrationCheck(db)
        for (table, shape) in KnownTable.matched(tables, shapes) {
            if !isVersionNew { check.compareDeclarations(table, shape) }
            if let shape { try check.compare(table, shape, setAside: setAside[table.number] ?? 0) }
        }
        guard check.violations.isEmpty else {
            let list = check.violations.map { "  - \($0)" }.joined(separator: "\n")
            throw UbiquitousStoreError(
                .invalidSchema, "The app's new schema cannot be applied to \(path), which is unchanged:\n\(list)", path: path)
        }
    }
}

extension SchemaMigration {
    /// Returns the path of the copy on which a file's migrations run.
    static func draft(of path: FilePath) -> FilePath { FilePath(path.string + "-migration") }

    /// Removes a copy that a killed process has left.
    static func removeDraft(of path: FilePath) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(draft(of: path).string + suffix) }
    }
}
