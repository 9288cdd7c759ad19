internal import Foundation
internal import GRDB
internal import SystemPackage
internal import UbiquityContainers

/// Opens the SQLite file beneath a store: the app's migrations, then our tables and triggers.
struct StoreFile {
    let path: FilePath
    let pool: DatabasePool
    let shapes: [TableShape]
    let migrations: [String]
    let hasChecks: Bool

    /// The path of a store file: `<store directory>/CoreDataUbiquitySupport/<peer>/<content name>/store/<file name>`.
    static func path(for file: FilePath, peer: PeerIdentifier, contentName: String) -> FilePath {
        file.removingLastComponent().appending("CoreDataUbiquitySupport").appending(peer.description).appending(contentName).appending("store")
            .appending(file.lastComponent!)
    }

    /// Opens or creates the file.
    ///
    /// Nothing of ours is written where the schema cannot sync.
    ///
    /// - Parameters:
    ///   - path: the SQLite file.
    ///   - schema: the app's migrator and synced tables.
    ///   - newState: the state of a store that is new.
    ///   - files: makes the directory that the file lies in.
    /// - Returns: the open file.
    /// - Throws: `UbiquitousStoreError`, or an error of the app's own migrations.
    static func open(_ path: FilePath, schema: SyncedSchema, newState: StoreState, files: any FileLayer = LinuxFileLayer()) throws -> StoreFile {
        do {
            try makeDirectories(path.removingLastComponent(), files)
        } catch {
            throw UbiquitousStoreError(
                .fileSystem,
                "The store's directory \(path.removingLastComponent()) cannot be created; check its parent's owner, mode and free space.",
                path: path.removingLastComponent(), cause: error)
        }
        // Two processes may open a new store at once; the second finds it made.
        guard let lock = try StoreLock.take(FilePath(path.string + "-open"), within: .seconds(60), unless: { Task.isCancelled }) else {
            let holder = StoreLock.holder(of: FilePath(path.string + "-open"))
            throw UbiquitousStoreError(
                .timedOut, "Another process\(holder) has been opening \(path) for a minute; see whether it is stopped.", path: path)
        }
        defer { withExtendedLifetime(lock) {} }
        do {
            // Looked at first, for a pool writes when it opens, and what is refused stays untouched.
            let existing = try existingState(path, expected: newState)
            let pool = try DatabasePool(path: path.string, configuration: configuration)
            let file = try prepare(path, pool, schema: schema, existing: existing, newState: newState)
            Waypoint.openPrepared.pass()
            return file
        } catch let error as DatabaseError {
            throw explained(error, path)
        }
    }

    /// Makes a directory and those above, each durable before the next: a store file that is synced is lost all the same where the name of a
    /// directory above it is not (fsync(2)).
    private static func makeDirectories(_ directory: FilePath, _ files: any FileLayer) throws(Errno) {
        // What is there may be a symbolic link: only what is missing is made.
        guard !FileManager.default.fileExists(atPath: directory.string) else { return }
        let parent = directory.removingLastComponent()
        try makeDirectories(parent, files)
        try files.makeDirectory(directory)
        try files.syncDirectory(parent)
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "Ubiquity"
        // Other processes of this device share the file; the longest they hold it is an import's transaction.
        configuration.busyMode = .timeout(30)
        return configuration
    }

    private static func prepare(
        _ path: FilePath, _ pool: DatabasePool, schema: SyncedSchema, existing: StoreState?, newState: StoreState
    ) throws -> StoreFile {
        if existing == nil {
            try schema.migrator.migrate(pool)
            Waypoint.openMigrated.pass()
        } else if try pool.read({ db in try !schema.migrator.hasCompletedMigrations(db) }) {
            throw UbiquitousStoreError(
                .unsupported, "\(path) has content, and the app's schema has newer migrations: a store with content cannot be migrated yet.",
                path: path)
        }
        return try pool.write { db in
            let shapes = try SchemaInspector.shapes(of: schema, in: db)
            if existing == nil {
                for statement in StoreTables.statements { try db.execute(sql: statement) }
                try newState.insert(db)
            }
            let numbered = try install(shapes, db)
            let migrations = try schema.migrator.appliedMigrations(db)
            let hasChecks = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND sql LIKE '%check%')")!
            return StoreFile(path: path, pool: pool, shapes: numbered, migrations: migrations, hasChecks: hasChecks)
        }
    }

    /// The state of a store file that is there; nil where there is none, or none of ours yet.
    private static func existingState(_ path: FilePath, expected: StoreState) throws -> StoreState? {
        guard FileManager.default.fileExists(atPath: path.string) else { return nil }
        do {
            var readOnly = configuration
            readOnly.readonly = true
            return try existingState(path, expected: expected, readOnly)
        } catch let error as DatabaseError where [.SQLITE_READONLY, .SQLITE_CANTOPEN].contains(error.resultCode) {
            // A transaction was cut off, at the file's making: only who can write can undo it.
            return try existingState(path, expected: expected, configuration)
        }
    }

    private static func existingState(_ path: FilePath, expected: StoreState, _ configuration: Configuration) throws -> StoreState? {
        let queue = try DatabaseQueue(path: path.string, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read { db in
            guard try db.tableExists("ubiquity_state") else { return nil }
            let format = try Int.fetchOne(db, sql: "SELECT format FROM ubiquity_state") ?? 0
            guard format <= StoreTables.format else {
                throw UbiquitousStoreError(
                    .newerFormat, "\(path) was written by a newer version (format \(format)); update this program. The file is untouched.", path: path
                )
            }
            let state = try StoreState.read(db)
            for (found, wanted, what) in [
                (state.account, expected.account, "account"), (state.container, expected.container, "container"),
                (state.content, expected.content, "content"),
            ] where found != wanted {
                throw UbiquitousStoreError(
                    .foreignStore, "\(path) belongs to the \(what) “\(found)”, not “\(wanted)”; put it back where it came from.", path: path)
            }
            return state
        }
    }

    /// Rows that nobody captured would stay on this device for ever.
    private static func checkEmpty(_ shape: TableShape, _ db: Database) throws {
        let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(shape.name.quotedDatabaseIdentifier)")!
        guard count == 0 else {
            throw UbiquitousStoreError(
                .unsupported,
                "The table “\(shape.name)” holds \(count) rows from before it was synced: existing rows cannot be taken over yet; insert them through the store."
            )
        }
    }

    /// Whether the triggers of a table are there as they should be, and no others of ours.
    private static func hasTriggers(_ shape: TableShape, _ db: Database) throws -> Bool {
        let expected = Set(CaptureTriggers(shape).triggers.filter { $0.hasPrefix("CREATE") })
        let found = try Set(
            String.fetchAll(
                db, sql: "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'ubiquity\\_%\\_\(shape.number)' ESCAPE '\\'"))
        return found == expected
    }

    /// Makes triggers that somebody has dropped or changed anew, and notes the rows that came meanwhile.
    ///
    /// What was updated or deleted without a trigger left no trace, and cannot be told from what was always so.
    private static func reinstall(_ shape: TableShape, _ db: Database) throws {
        guard try !hasTriggers(shape, db) else { return }
        for statement in CaptureTriggers(shape).triggers { try db.execute(sql: statement) }
        let place = shape.hasRowid ? "rowid" : shape.keyColumns.map(\.quotedDatabaseIdentifier).joined(separator: ", ")
        try db.execute(
            sql: """
                INSERT INTO \(shape.captureTable) (operation, \(shape.ownPlaceColumns)) SELECT \(CaptureTriggers.Operation.inserted.rawValue), \(place)
                FROM \(shape.name.quotedDatabaseIdentifier) WHERE (\(place)) NOT IN (SELECT \(shape.ownPlaceColumns) FROM \(shape.clockTable))
                """)
    }

    /// Puts clocks back beside their rows where the rows have been given other numbers.
    ///
    /// A dump that is read back (and VACUUM, by its documentation) may number the rows of a table anew, from 1 and in their order. So the
    /// greatest numbers differ where any do, and the order says which clock is whose.
    private static func reconcile(_ shape: TableShape, _ db: Database) throws {
        guard shape.hasRowid, !shape.isRowidKey else { return }
        let table = shape.name.quotedDatabaseIdentifier
        guard try Bool.fetchOne(db, sql: "SELECT (SELECT max(rowid) FROM \(table)) IS NOT (SELECT max(rid) FROM \(shape.clockTable))")!,
            try Bool.fetchOne(db, sql: "SELECT NOT EXISTS (SELECT 1 FROM \(shape.captureTable))")!
        else { return }
        let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)")!
        guard rows == (try Int.fetchOne(db, sql: "SELECT count(*) FROM \(shape.clockTable)")!) else {
            // Where a trigger is missing, that is why.
            guard try hasTriggers(shape, db) else { return }
            throw UbiquitousStoreError(
                .malformed,
                "The rows of “\(shape.name)” have been changed where no trigger saw it, so that their stamps fit no more. Move the store file aside and open again: it is filled anew from the container."
            )
        }
        try db.execute(
            sql: """
                CREATE TEMP TABLE ubiquity_renumbered AS SELECT * FROM
                (SELECT rowid AS new, row_number() OVER (ORDER BY rowid) AS place FROM \(table))
                JOIN (SELECT *, row_number() OVER (ORDER BY rid) AS place FROM \(shape.clockTable)) USING (place);
                DELETE FROM \(shape.clockTable);
                INSERT INTO \(shape.clockTable) SELECT new, life, time, peer, columns, others FROM ubiquity_renumbered;
                DROP TABLE ubiquity_renumbered;
                """)
    }

    /// Gives tables the numbers that they had before, and makes tables and triggers of ours that are missing.
    private static func install(_ shapes: [TableShape], _ db: Database) throws -> [TableShape] {
        var numbered: [TableShape] = []
        for var shape in shapes {
            let key = shape.keyColumns.joined(separator: "\n")
            let columns = shape.columns.joined(separator: "\n")
            if let row = try Row.fetchOne(db, sql: "SELECT number, key, columns FROM ubiquity_table WHERE name = ?", arguments: [shape.name]) {
                guard row["key"] == key, row["columns"] == columns else {
                    throw UbiquitousStoreError(
                        .unsupported, "The columns of “\(shape.name)” have changed: a store with content cannot be migrated yet.")
                }
                shape.number = row["number"]
                try reconcile(shape, db)
                try reinstall(shape, db)
            } else {
                try checkEmpty(shape, db)
                try db.execute(sql: "INSERT INTO ubiquity_table (name, key, columns) VALUES (?,?,?)", arguments: [shape.name, key, columns])
                shape.number = db.lastInsertedRowID
                for statement in CaptureTriggers(shape).tables { try db.execute(sql: statement) }
                for statement in CaptureTriggers(shape).triggers { try db.execute(sql: statement) }
            }
            numbered.append(shape)
        }
        return numbered
    }

    private static func explained(_ error: DatabaseError, _ path: FilePath) -> UbiquitousStoreError {
        switch error.resultCode {
        case .SQLITE_NOTADB, .SQLITE_CORRUPT:
            UbiquitousStoreError(
                .notADatabase,
                "\(path) is not a whole SQLite database. Move it aside and open again: the store is filled anew from the container, with all that had been published.",
                path: path)
        case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH:
            UbiquitousStoreError(
                .fileSystem, "\(path) cannot be opened for writing; check its owner and mode, and those of its directory.", path: path)
        case .SQLITE_FULL, .SQLITE_IOERR:
            UbiquitousStoreError(.fileSystem, "\(path) cannot be read or written; check the disk and its free space.", path: path)
        default: UbiquitousStoreError(.database, "\(path) could not be prepared.", path: path, cause: error)
        }
    }
}

extension StoreFile {
    /// Runs an import's transaction: without CHECKs, since no order of single rows need be valid (DESIGN §5).
    func importing<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try pool.writeWithoutTransaction { db in
            // Each pragma makes SQLite prepare all statements anew, so it is set only where it matters.
            if hasChecks { try db.execute(sql: "PRAGMA ignore_check_constraints = 1") }
            defer { if hasChecks { try? db.execute(sql: "PRAGMA ignore_check_constraints = 0") } }
            // Random keys touch pages all over: with SQLite's own 2 MB each would be written out again and again. 2 MB is SQLite's default.
            try db.execute(sql: "PRAGMA cache_size = -65536")
            defer { try? db.execute(sql: "PRAGMA cache_size = -2000") }
            var result: Result?
            try db.inTransaction(.immediate) {
                result = try body(db)
                return .commit
            }
            return result!
        }
    }
}
