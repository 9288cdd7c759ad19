internal import Foundation
internal import GRDB
internal import SystemPackage

/// Takes a store that has content to another version of the app's schema: whole, or not at all.
///
/// The app's migrations run on a copy beside the store file, without our triggers and indexes, so that nothing of theirs is noted as an edit. There they
/// are compared with the store; what cannot be carried is refused, and the store has not been touched. Then our own tables are brought
/// after in the copy, and its pages take the place of the store's in one transaction of SQLite's (sqlite.org/backup.html).
/// So wherever the process is killed, the store file is as it was, or it is the new one: the next opening begins again, or has nothing to do but
/// remove the copy.
///
/// Meanwhile this connection has the store file for itself, by SQLite's own lock (sqlite.org/pragma.html#pragma_locking_mode): whoever
/// has it open, of whatever version or program, would lose what it wrote after the copy, and go on with columns that have other numbers now. Where
/// somebody has it open, that is waited for, and then the migration is refused.
struct SchemaMigration {
    let path: FilePath
    let schema: SyncedSchema
    /// What migrations may read beside the store's tables.
    var attached: [AttachedDatabase] = []
    /// How long to wait for other connections to the file.
    var patience = Duration.seconds(10)

    /// Whether the file is of another version than a schema.
    ///
    /// - Throws: `UbiquitousStoreError` where the schema cannot sync, or GRDB's errors.
    static func isNeeded(by schema: SyncedSchema, _ db: Database) throws -> Bool {
        guard try schema.migrator.hasCompletedMigrations(db) else { return true }
        let shapes = try SchemaInspector.shapes(of: schema, in: db)
        return KnownTable.matched(try KnownTable.all(db), shapes).contains { table, shape in shape.map { !table.isCurrent($0) } ?? true }
    }

    /// Migrates the store.
    ///
    /// - Throws: `UbiquitousStoreError`, or an error of the app's own migrations. The store is as it was, then.
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
            // Where it throws, the connection is closed.
            try check(tables, shapes, setAside, db)
            try db.execute(sql: "DETACH DATABASE migrated")
        }
        Waypoint.migrateChecked.pass()
        let migrated = try DatabaseQueue(path: draft.string, configuration: Self.configuration)
        try migrated.write { db in try StoreUpgrade(shapes: shapes, db).run(from: tables) }
        Waypoint.migrateUpgraded.pass()
        try migrated.writeWithoutTransaction { source in
            try store.writeWithoutTransaction { db in
                try source.backup(to: db, pagesPerStep: BatchSize.pages) { _ in Waypoint.migrateReplacing.pass() }
            }
        }
        Waypoint.migrateReplaced.pass()
        try migrated.close()
    }

    /// Opens the store file so that nobody else can read or write it.
    private func exclusive() throws -> (DatabaseQueue, StoreUse.Exclusion) {
        var configuration = Configuration()
        // Before the connection looks at the file: it takes the lock with its first look, and keeps it until it is closed.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA main.locking_mode = EXCLUSIVE") }
        let deadline = ContinuousClock.now + patience
        while true {
            do {
                guard let exclusion = try StoreUse.exclude(path) else { throw DatabaseError(resultCode: .SQLITE_BUSY) }
                let queue = try DatabaseQueue(path: path.string, configuration: configuration)
                // With a rollback journal only a write takes it.
                try queue.writeWithoutTransaction { db in try db.execute(sql: "BEGIN EXCLUSIVE; COMMIT") }
                return (queue, exclusion)
            } catch let error as DatabaseError where error.fault == .connection {
                guard ContinuousClock.now < deadline else {
                    throw UbiquitousStoreError(
                        .timedOut,
                        "Another program has \(path) open, and a migration needs it alone: close it there (`fuser \(path)` names the process), then open again. The store is as it was.",
                        path: path)
                }
                usleep(20_000)
            }
        }
    }

    /// Runs the app's migrations on the copy, and where duplicates are in the way of a uniqueness rule that these make, once more without.
    ///
    /// - Returns: the synced tables as they are then, and how many rows of each were set aside, by its number.
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
        // The copy is made anew after a crash.
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
    /// - Returns: the synced tables as they are then; their columns keep the numbers that they had, where that can be.
    private func migrate(_ draft: FilePath) throws -> [TableShape] {
        var configuration = Self.configuration
        // With foreign keys on, GRDB refuses a migration where a reference dangles, as another program may have left one: such rows are held.
        configuration.foreignKeysEnabled = false
        // What an attached file would be written by a migration that is then refused could not be taken back.
        let readable = attached.filter { $0.migrator == nil }
        configuration.prepareDatabase { db in for database in readable { try database.attach(to: db, .delete) } }
        let copy = try DatabaseQueue(path: draft.string, configuration: configuration)
        try copy.write { db in
            // Ours on the app's tables: a column that they name could not be dropped.
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
                    "The app's migrator erases the database where the schema has changed: set eraseDatabaseOnSchemaChange to false for a store. \(path) is as it was.",
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
                .invalidSchema, "The app's new schema cannot be carried to \(path), which is as it was:\n\(list)", path: path)
        }
    }
}

extension SchemaMigration {
    private static func draft(of path: FilePath) -> FilePath { FilePath(path.string + "-migration") }

    /// Removes the copy that a process which was killed has left.
    static func removeDraft(of path: FilePath) {
        for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: draft(of: path).string + suffix) }
    }
}
