internal import Foundation
public import GRDB
internal import Synchronization
public import SystemPackage
internal import UbiquityContainers

/// A database file beside the store's, whose tables the store's connections join with the synced ones, and which never syncs.
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
/// A write is one transaction over all of them. A process that is killed leaves all of it or nothing; where the power fails between the
/// commits of the files, each file is whole and one may lack the write (sqlite.org/lang_attach.html).
public struct AttachedDatabase: Sendable {
    /// What stands before the names of its tables.
    public let name: String
    /// The file.
    public let path: FilePath
    /// Makes the tables; nil for a file that is only read.
    let migrator: DatabaseMigrator?
    /// Whether the store writes it.
    var isWritten: Bool { migrator != nil }

    /// Tables of this device only, for reading and writing.
    ///
    /// - Parameters:
    ///   - name: what stands before the names of its tables.
    ///   - path: the file, which is made where it is missing; its directory must be there.
    ///   - migrator: makes its tables. The store runs it before it opens.
    /// - Returns: the database.
    public static func local(_ name: String = "local", at path: FilePath, migrator: DatabaseMigrator) -> AttachedDatabase {
        AttachedDatabase(name: name, path: path, migrator: migrator)
    }

    /// Tables that come with the app and are only read.
    ///
    /// - Parameters:
    ///   - name: what stands before the names of its tables.
    ///   - path: the file, which must be there, in a rollback journal mode where its directory cannot be written.
    /// - Returns: the database.
    public static func bundled(_ name: String, at path: FilePath) -> AttachedDatabase {
        AttachedDatabase(name: name, path: path, migrator: nil)
    }
}

extension AttachedDatabase {
    /// Sees that the file is there and has its tables.
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
                let queue = try DatabaseQueue(path: path.string, configuration: readOnly)
                try checkPlain(queue)
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
            throw UbiquitousStoreError(.unsupported, "\(path) is a synced store itself; open it as one, and attach plain databases only.", path: path)
        }
    }

    /// Attaches the file to a connection; see sqlite.org/lang_attach.html and sqlite.org/uri.html.
    func attach(to db: Database, _ journal: JournalMode) throws {
        // A connection that only reads opens every file so.
        let mode = migrator == nil ? "?mode=ro" : ""
        try db.execute(sql: "ATTACH DATABASE ? AS \(name.quotedIdentifier)", arguments: ["file:\(Self.escaped(path.string))\(mode)"])
        guard migrator != nil else { return }
        // As the store's own.
        try db.execute(sql: "PRAGMA \(name.quotedIdentifier).synchronous = \(journal.synchronous)")
    }

    /// The name under which SQLite attaches a file that is only read.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - isImmutable: whether nobody writes to it: then no lock is taken.
    /// - Returns: a URI.
    static func readOnly(_ path: FilePath, isImmutable: Bool = false) -> String {
        "file:\(escaped(path.string))?mode=ro\(isImmutable ? "&immutable=1" : "")"
    }

    private static func escaped(_ path: String) -> String {
        path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
    }

    /// Opens a pool whose connections all have databases attached.
    static func pool(at location: String, _ given: Configuration, attaching databases: [AttachedDatabase]) throws -> DatabasePool {
        guard !databases.isEmpty else { return try DatabasePool(path: location, configuration: given) }
        for database in databases { try database.prepare(.wal) }
        // The pool makes its writer first, and sets the journal mode of all that is attached to it by then.
        let isOpen = Mutex(false)
        var configuration = given
        configuration.prepareDatabase { db in if isOpen.withLock({ $0 }) { for database in databases { try database.attach(to: db, .wal) } } }
        let pool = try DatabasePool(path: location, configuration: configuration)
        try pool.writeWithoutTransaction { db in for database in databases { try database.attach(to: db, .wal) } }
        isOpen.withLock { $0 = true }
        return pool
    }

    /// What is wrong with the names of databases; nil where nothing is.
    static func fault(in databases: [AttachedDatabase]) -> String? {
        var names: Set<String> = ["main", "temp"]
        for database in databases {
            let name = database.name.lowercased()
            if name.isEmpty || name.contains("\0") { return "A database to attach has no name: give it one like local." }
            guard names.insert(name).inserted else {
                return "Two databases are called “\(database.name)”: main and temp are SQLite's, give each another name."
            }
        }
        return nil
    }
}

extension UbiquitousStore.Options {
    /// The files that a store with these options writes to.
    func writtenFiles(at path: FilePath) -> [FilePath] { [path] + attachedDatabases.filter(\.isWritten).map { PathFacts.absolute($0.path) } }
}
