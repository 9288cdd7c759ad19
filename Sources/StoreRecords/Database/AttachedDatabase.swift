internal import Foundation
public import GRDB
internal import StoreFormat
internal import Synchronization
public import SystemPackage

/// A database file beside the store's, which never syncs and which every connection of the store attaches.
///
/// Statements can join its tables with the synced ones:
///
/// ```swift
/// options.attachedDatabases = [
///     .local(at: "/home/alice/.local/share/notes/Local.sqlite", migrator: localMigrator),
///     .bundled("words", at: "/usr/share/notes/Words.sqlite"),
/// ]
/// try await store.write { db in
///     try note.insert(db)
///     try db.execute(sql: "INSERT INTO local.draft VALUES (?, ?)", arguments: [note.id, text])
/// }
/// ```
///
/// A write is one transaction over all files. If the process is killed, the files have all of the write or none of it.
/// If the power fails between the commits of the files, each file is whole, but one of them may lack the write
/// (sqlite.org/lang_attach.html).
public struct AttachedDatabase: Sendable {
    /// The schema name: the prefix of its tables' names in SQL.
    public let name: String
    /// The file.
    public let path: FilePath
    /// Creates the tables; nil for a file that is only read.
    let migrator: DatabaseMigrator?
    /// Finds the SQLite file of another store of the app, at the path that the app gave it; nil for a plain database.
    private let locate: (@Sendable (FilePath) throws -> FilePath)?

    init(
        _ name: String, at path: FilePath, migrator: DatabaseMigrator? = nil, locate: (@Sendable (FilePath) throws -> FilePath)? = nil
    ) {
        (self.name, self.path, self.migrator, self.locate) = (name, path, migrator, locate)
    }

    /// Whether the store writes to the file.
    package var isWritten: Bool { migrator != nil }

    /// Returns a database for tables of this device only, to read and write.
    ///
    /// - Parameters:
    ///   - name: the schema name, the prefix of the tables' names in SQL.
    ///   - path: the file, which is created if it is missing; its directory must exist.
    ///   - migrator: creates the tables. The store runs it before it opens.
    /// - Returns: the database.
    public static func local(_ name: String = "local", at path: FilePath, migrator: DatabaseMigrator) -> AttachedDatabase {
        AttachedDatabase(name, at: path, migrator: migrator)
    }

    /// Returns a database with tables that come with the app and are only read.
    ///
    /// - Parameters:
    ///   - name: the schema name, the prefix of the tables' names in SQL.
    ///   - path: the file, which must exist. If its directory is not writable, the file must be in a rollback journal
    ///     mode.
    /// - Returns: the database.
    public static func bundled(_ name: String, at path: FilePath) -> AttachedDatabase {
        AttachedDatabase(name, at: path)
    }

    /// The SQLite file.
    ///
    /// - Throws: `UbiquitousStoreError` with `notFound` if the path denotes no store, or more than one.
    private var file: FilePath { get throws { try locate?(path) ?? path } }
}

extension AttachedDatabase {
    /// Checks that the file exists, and migrates its tables.
    ///
    /// - Throws: `UbiquitousStoreError`, or an error of the app's own migrations.
    func prepare(_ mode: JournalMode) throws {
        do {
            if let migrator {
                let database = try mode.open(path, Configuration())
                try migrator.migrate(database)
                try checkPlain(database)
                try database.close()
            } else {
                var readOnly = Configuration()
                readOnly.readonly = true
                let queue = try DatabaseQueue(path: try file.string, configuration: readOnly)
                if locate == nil { try checkPlain(queue) }
                try queue.close()
            }
        } catch let error as DatabaseError where error.fault.isAccess || error.fault.isDamage {
            throw UbiquitousStoreError(
                .database, "The database “\(name)” at \(path) cannot be attached; see whether it is there, whole, and can be opened.", path: path,
                cause: error)
        }
    }

    private func checkPlain(_ reader: any DatabaseReader) throws {
        guard try reader.read({ db in try !db.tableExists("ubiquity_state") }) else {
            throw UbiquitousStoreError(
                .unsupported, "\(path) is a synced store itself; attach it with AttachedDatabase.store(_:at:), which only reads it.", path: path)
        }
    }

    /// Attaches the file to a connection; see sqlite.org/lang_attach.html and sqlite.org/uri.html.
    func attach(to db: Database, _ journal: JournalMode) throws {
        // A connection that only reads opens every attached file read-only too.
        let mode = migrator == nil ? "?mode=ro" : ""
        try db.execute(sql: "ATTACH DATABASE ? AS \(name.quotedIdentifier)", arguments: ["file:\(Self.escaped(try file.string))\(mode)"])
        guard migrator != nil else { return }
        // The level is that of the store's own file.
        try db.execute(sql: "PRAGMA \(name.quotedIdentifier).synchronous = \(journal.synchronous)")
    }

    /// Returns the URI by which SQLite attaches a file read-only.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - isImmutable: whether nobody writes to the file: SQLite then takes no lock.
    /// - Returns: a URI.
    package static func readOnly(_ path: FilePath, isImmutable: Bool = false) -> String {
        "file:\(escaped(path.string))?mode=ro\(isImmutable ? "&immutable=1" : "")"
    }

    private static func escaped(_ path: String) -> String {
        path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
    }

    /// Opens a pool whose connections all attach the databases.
    static func pool(at location: String, _ given: Configuration, attaching databases: [AttachedDatabase]) throws -> DatabasePool {
        guard !databases.isEmpty else { return try DatabasePool(path: location, configuration: given) }
        for database in databases { try database.prepare(.wal) }
        // The pool opens its writer first, and sets the journal mode of everything that is attached by then.
        let isOpen = Mutex(false)
        var configuration = given
        configuration.prepareDatabase { db in if isOpen.withLock({ $0 }) { for database in databases { try database.attach(to: db, .wal) } } }
        let pool = try DatabasePool(path: location, configuration: configuration)
        try pool.writeWithoutTransaction { db in for database in databases { try database.attach(to: db, .wal) } }
        isOpen.withLock { $0 = true }
        return pool
    }

    /// Returns the fault in the names of databases, or nil if there is none.
    package static func fault(in databases: [AttachedDatabase]) -> String? {
        var names: Set<String> = ["main", "temp"]
        for database in databases {
            let name = database.name.lowercased()
            if name.isEmpty || name.contains("\0") { return "A database to attach has no name: use one like local." }
            guard names.insert(name).inserted else {
                return "The database name “\(database.name)” is used twice: SQLite uses main and temp itself; give each database its own name."
            }
        }
        return nil
    }
}
