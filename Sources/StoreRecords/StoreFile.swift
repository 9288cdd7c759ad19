package import Foundation
package import GRDB
package import StoreFormat
package import SystemPackage
package import UbiquityContainers

/// The open SQLite file of a store, with the app's migrations and the store's own tables and triggers.
///
/// A file with content of another schema version is migrated first, by `SchemaMigration`.
package struct StoreFile {
    package let path: FilePath
    package let pool: StorePool
    /// Watches the app's work on the writer's connection; nil if the file is only read.
    package let durability: DurabilityGuard?
    package let checkpoint = LogCheckpoint()
    package let shapes: [TableShape]
    package let migrations: [String]
    package let hasChecks: Bool
    var hasForeignKeys: Bool { shapes.contains { !$0.foreignKeys.isEmpty } }

    /// Returns the path of a store file.
    ///
    /// It is `<store directory>/CoreDataUbiquitySupport/<peer>/<content name>/store/<file name>`, with `fallback` in
    /// place of `store` for a fallback file.
    package static func path(for file: FilePath, peer: PeerIdentifier, contentName: String, place: StoreFilePlace = .store) -> FilePath {
        supportDirectory(of: file).appending(peer.description).appending(contentName).appending(place == .fallback ? "fallback" : "store")
            .appending(file.lastComponent!)
    }

    /// Returns the directory of a store's files, which lies beside the path that the app names.
    package static func supportDirectory(of file: FilePath) -> FilePath { file.removingLastComponent().appending(supportDirectoryName) }
    static let supportDirectoryName = "CoreDataUbiquitySupport"

    /// Opens or creates the file.
    ///
    /// If the schema cannot sync, no own table or trigger is written.
    ///
    /// - Parameters:
    ///   - path: the SQLite file.
    ///   - schema: the app's migrator and synced tables.
    ///   - newState: the state of a new store.
    ///   - plain: the app's plain database, a copy of which a new store begins with.
    ///   - attached: the files that every connection attaches.
    ///   - journalMode: the mode of the file, and of attached files that are written.
    ///   - files: creates the directory of the file.
    ///   - history: the limits of the history of changes; nil for no history.
    ///   - now: the present time.
    ///   - scope: the container with a scope that the store lies in; nil for a plain container.
    ///   - copying: called with the progress of copying the plain database.
    /// - Returns: the open file.
    /// - Throws: `UbiquitousStoreError`, or an error of the app's own migrations.
    package static func open(
        _ path: FilePath, schema: SyncedSchema, newState: StoreState, plain: FilePath? = nil, attached: [AttachedDatabase] = [],
        journalMode: JournalMode = .wal, files: any FileLayer = LinuxFileLayer(), history: HistoryRetention? = HistoryRetention(), now: Date = Date(),
        scope: ScopeIdentifier? = nil, copying: ((StoreMigration) -> Void)? = nil
    ) throws -> StoreFile {
        do {
            try makeDirectories(path.removingLastComponent(), files)
        } catch {
            throw UbiquitousStoreError(
                .fileSystem,
                "The store's directory \(path.removingLastComponent()) cannot be created; check its parent's owner, mode and free space.",
                path: path.removingLastComponent(), cause: error)
        }
        // Two processes may open a new store at the same time; the second one finds it created.
        let lock = try StoreLock.opening(path)
        defer { withExtendedLifetime(lock) {} }
        do {
            // Checked first: a pool writes when it opens, and a refused file must stay untouched.
            let (standing, connection) = try FileStanding.of(path, schema, expected: newState)
            // While a connection is open, SQLite recovers the write-ahead log only once. A migration, and a change of
            // the journal, need the file alone.
            var keepsConnection = false
            if case .current = standing, journalMode == .wal { keepsConnection = true }
            if !keepsConnection { try? connection?.close() }
            defer { if keepsConnection { try? connection?.close() } }
            // A killed process may have left a draft, finished or not.
            removeDrafts(of: path)
            switch standing {
            case .absent: if let plain { try begin(with: plain, at: path, files: files, copying) }
            case .outdated: try SchemaMigration(path: path, schema: schema, attached: attached).run()
            case .uninstalled, .current: break
            }
            let durability = DurabilityGuard(journalMode, attached: attached)
            var configuration = traced(configuration, path, durability)
            durability.install(in: &configuration, isTraced: StatementLog.isOn)
            if journalMode == .delete { configuration.prepareDatabase { db in try StoreUse.note(path, db) } }
            let pool = try journalMode.open(path, configuration, attaching: attached)
            let file = try prepare(path, pool, durability, schema: schema, newState: newState, scope, standing)
            try ChangeJournal.keep(history, in: pool, file.shapes, now: now)
            Waypoint.openPrepared.pass()
            return file
        } catch let error as DatabaseError {
            throw explained(error, path)
        }
    }

    /// Removes the copies of a store file that a killed process has left.
    ///
    /// - Parameter path: the store file.
    package static func removeDrafts(of path: FilePath) {
        SchemaMigration.removeDraft(of: path)
        BaselineDraft.remove(of: path)
    }

    /// Opens an existing file, and writes nothing.
    ///
    /// - Parameters:
    ///   - path: the SQLite file.
    ///   - schema: the app's migrator and synced tables.
    ///   - expected: the account, container, content and kind that the file must have.
    ///   - attached: the files that every connection attaches.
    /// - Returns: the open file.
    /// - Throws: `UbiquitousStoreError`.
    package static func openReadOnly(_ path: FilePath, schema: SyncedSchema, expected: StoreState, attached: [AttachedDatabase]) throws -> StoreFile {
        do {
            var readOnly = traced(configuration, path)
            readOnly.readonly = true
            func open(at location: String) throws -> StoreFile? {
                guard FileManager.default.fileExists(atPath: path.string) else { return nil }
                let (standing, connection) = try FileStanding.of(path, schema, expected: expected, readOnly, at: location)
                try? connection?.close()
                guard standing.isOfThisVersion else { return nil }
                let pool = try AttachedDatabase.pool(at: location, readOnly, attaching: attached)
                return try pool.read { db in
                    try StoreInstaller.installed(try SchemaInspector.shapes(of: schema, in: db), local: schema.local, isReadOnly: true, db).map {
                        try StoreFile(path, pool, InstalledTables($0, schema, db))
                    }
                }
            }
            do {
                if let file = try open(at: path.string) { return file }
            } catch let error as DatabaseError where error.fault.isAccess && isUnwritten(path) {
                if let file = try open(at: AttachedDatabase.readOnly(path, isImmutable: true)) { return file }
            }
        } catch let error as DatabaseError {
            throw explained(error, path)
        }
        throw UbiquitousStoreError(
            .unsupported, "\(path) has another version of the app's schema; open it once while its account is signed in, to migrate it.",
            path: path)
    }

    /// Returns whether a file that SQLite does not open can be read as one that nobody writes to.
    ///
    /// SQLite reads a file that was last written with a write-ahead log with that log and shared memory beside it. If
    /// it cannot create them, it reads the file only if it is told that nobody writes to it
    /// (sqlite.org/wal.html#read_only_databases). A log beside the file shows that another program does write.
    private static func isUnwritten(_ path: FilePath) -> Bool {
        // A writer leaves a journal when it ends during a write: the file itself is then not whole.
        let isLogged = ["-wal", "-journal"].contains { ((try? LinuxFileLayer().size(of: FilePath(path.string + $0))) ?? 0) > 0 }
        return !isLogged && !PathFacts(at: PathFacts.resolved(path.removingLastComponent())).isWritable
    }

    /// Creates a directory and its missing parents, each durable before the next.
    ///
    /// A synced store file is still lost if the name of a directory above it is not on the disk (fsync(2)).
    private static func makeDirectories(_ directory: FilePath, _ files: any FileLayer) throws(Errno) {
        // An existing path may be a symbolic link: only what is missing is created.
        guard !FileManager.default.fileExists(atPath: directory.string) else { return }
        let parent = directory.removingLastComponent()
        try makeDirectories(parent, files)
        try files.makeDirectory(directory)
        try files.syncDirectory(parent)
    }

    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "Ubiquity"
        // Other processes of this device share the file; an import's transaction holds it for the longest time.
        configuration.busyMode = .timeout(30)
        return configuration
    }

    private static func traced(_ given: Configuration, _ path: FilePath, _ durability: DurabilityGuard? = nil) -> Configuration {
        var configuration = given
        SQLTrace.install(in: &configuration, of: path) { db in if !db.configuration.readonly { durability?.statementBegins() } }
        return configuration
    }

    private static func prepare(
        _ path: FilePath, _ pool: any DatabaseWriter, _ durability: DurabilityGuard, schema: SyncedSchema, newState: StoreState,
        _ scope: ScopeIdentifier?, _ standing: FileStanding
    ) throws -> StoreFile {
        if case .absent = standing {
            do {
                try schema.migrator.migrate(pool)
            } catch let error as DatabaseError where DuplicateRows.isCause(of: error) {
                throw try pool.read { db in try DuplicateRows(db).explanation(error, path) }
            }
            Waypoint.openMigrated.pass()
        } else {
            // A writer waits for another process's import, so a store that has not changed is only read.
            let found = try pool.read { db -> InstalledTables? in
                if case .current(let tables) = standing, try tables.isValid(in: db) { return tables }
                return try StoreInstaller.installed(try SchemaInspector.shapes(of: schema, in: db), local: schema.local, db).map {
                    try InstalledTables($0, schema, db)
                }
            }
            if let found { return StoreFile(path, pool, found, durability) }
        }
        return try pool.write { db in
            let shapes = try SchemaInspector.shapes(of: schema, in: db)
            if case .absent = standing {
                for statement in StoreTables.statements { try db.execute(sql: statement) }
                try newState.insert(db)
                if let scope { try ScopeState.create(scope, db) }
            }
            try db.execute(sql: StoreMetadata.statement)
            if schema.hasScope { try db.execute(sql: Moderation.statement) }
            let installed = try StoreInstaller.install(shapes, local: schema.local, db)
            return try StoreFile(path, pool, InstalledTables(installed, schema, db), durability)
        }
    }

    private init(_ path: FilePath, _ pool: any DatabaseWriter, _ tables: InstalledTables, _ durability: DurabilityGuard? = nil) {
        self.path = path
        self.pool = StorePool(pool)
        self.durability = durability
        shapes = tables.shapes
        migrations = tables.migrations
        hasChecks = tables.hasChecks
    }

    /// Opens a copy of the file, which no other program knows.
    ///
    /// - Parameter copy: the path of a copy of the same version.
    /// - Returns: the open copy, which is not durable.
    /// - Throws: GRDB's errors.
    package func opening(copy: FilePath) throws -> StoreFile {
        var configuration = Self.configuration
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = OFF") }
        return StoreFile(self, at: copy, try DatabaseQueue(path: copy.string, configuration: configuration))
    }

    private init(_ original: StoreFile, at path: FilePath, _ pool: any DatabaseWriter) {
        self.path = path
        self.pool = StorePool(pool)
        durability = nil
        shapes = original.shapes
        migrations = original.migrations
        hasChecks = original.hasChecks
    }

    private static func explained(_ error: DatabaseError, _ path: FilePath) -> UbiquitousStoreError {
        switch error.fault {
        case .file:
            UbiquitousStoreError(
                .notADatabase,
                "\(path) is not a whole SQLite database. Move it aside and open again: the store is filled again from the container, with everything that had been published.",
                path: path)
        case .access:
            UbiquitousStoreError(
                .fileSystem, "\(path) cannot be opened for writing; check its owner and mode, and those of its directory.", path: path)
        case .disk:
            UbiquitousStoreError(.fileSystem, "\(path) cannot be read or written; check the disk and its free space.", path: path)
        default: UbiquitousStoreError(.database, "\(path) could not be prepared.", path: path, cause: error)
        }
    }
}

extension StoreFile {
    /// Runs an import's transaction, without CHECKs and foreign keys.
    ///
    /// Rows enter one by one, and no order of them need satisfy the constraints before the last one.
    ///
    /// - Parameters:
    ///   - baselines: verified baseline files, which are attached during the call.
    ///   - goesOn: whether another import follows at once, which finds the same pages in memory.
    ///   - body: imports.
    /// - Returns: the result of the body.
    /// - Throws: the error of the body, or GRDB's errors; nothing has changed then.
    package func importing<Result>(
        attaching baselines: [FilePath] = [], goesOn: Bool = false, _ body: (Database) throws -> Result
    ) throws -> Result {
        try pool.writeWithoutTransaction { db in
            var attached = 0
            // Outside of the transaction, in which a database that has been read cannot be detached
            // (sqlite.org/lang_detach.html).
            defer { for place in 0..<attached { try? db.execute(sql: "DETACH DATABASE \(BaselineJoiner.schema(place))") } }
            for baseline in baselines {
                try db.execute(
                    sql: "ATTACH DATABASE ? AS \(BaselineJoiner.schema(attached))",
                    arguments: [AttachedDatabase.readOnly(baseline, isImmutable: true)])
                attached += 1
            }
            // Each pragma makes SQLite prepare all statements again, so it is set only if it is needed.
            if hasChecks { try db.execute(sql: "PRAGMA ignore_check_constraints = 1") }
            defer { if hasChecks { try? db.execute(sql: "PRAGMA ignore_check_constraints = 0") } }
            if hasForeignKeys { try db.execute(sql: "PRAGMA foreign_keys = 0") }
            defer { if hasForeignKeys { try? db.execute(sql: "PRAGMA foreign_keys = 1") } }
            // Random keys touch pages everywhere: with SQLite's default of 2 MB, the same pages would be written again
            // and again. With 32 MB, importing a million rows took as long as with 64 MB, in runs beside other work.
            try db.execute(sql: "PRAGMA cache_size = -32768")
            defer { if !goesOn { try? db.execute(sql: "PRAGMA cache_size = -2000") } }
            var result: Result?
            try db.inTransaction(.immediate) {
                result = try body(db)
                // Whatever the body did, later writes are captured again.
                try db.execute(sql: "\(Capture.statement(.noting)) WHERE active <> \(Capture.Mode.noting.rawValue)")
                return .commit
            }
            return result!
        }
    }
}
