internal import Foundation
internal import GRDB
internal import StoreFormat
internal import SystemPackage

/// The state of a store file compared with the app's schema; determining it writes nothing.
enum FileStanding {
    /// There is no file, or no store in it yet.
    case absent
    /// It has content of another schema version.
    case outdated
    /// It has this schema version, but own tables, triggers or declarations have to be written first.
    case uninstalled
    /// It is ready as it is.
    case current(InstalledTables)

    /// Whether no migration is needed.
    var isOfThisVersion: Bool {
        switch self {
        case .absent, .outdated: false
        case .uninstalled, .current: true
        }
    }

    /// Reads the standing of a file, which need not exist.
    ///
    /// - Parameters:
    ///   - path: the store file.
    ///   - schema: the app's migrator and synced tables.
    ///   - expected: the account, container, content and kind that the file must have.
    /// - Returns: the standing, and the connection that has read it; none if there is no file.
    /// - Throws: `UbiquitousStoreError` if the file or the schema is refused; GRDB's errors.
    static func of(_ path: FilePath, _ schema: SyncedSchema, expected: StoreState) throws -> (FileStanding, DatabaseQueue?) {
        guard FileManager.default.fileExists(atPath: path.string) else { return (.absent, nil) }
        do {
            var readOnly = StoreFile.configuration
            readOnly.readonly = true
            return try of(path, schema, expected: expected, readOnly)
        } catch let error as DatabaseError where error.fault.isAccess {
            // A transaction was cut off when the file was created: only a connection that can write can undo it.
            return try of(path, schema, expected: expected, StoreFile.configuration)
        }
    }

    /// Reads the standing of an existing file by a connection with the given configuration.
    static func of(
        _ path: FilePath, _ schema: SyncedSchema, expected: StoreState, _ configuration: Configuration, at location: String? = nil
    ) throws -> (FileStanding, DatabaseQueue?) {
        let queue = try DatabaseQueue(path: location ?? path.string, configuration: configuration)
        do {
            return (try queue.read { db in try FileStanding(path, schema, expected: expected, db) }, queue)
        } catch {
            try? queue.close()
            throw error
        }
    }

    /// Reads the standing of a file by a connection to it.
    init(_ path: FilePath, _ schema: SyncedSchema, expected: StoreState, _ db: Database) throws {
        guard try Self.isStore(path, schema, expected: expected, db) else {
            self = .absent
            return
        }
        guard let shapes = try SchemaMigration.currentShapes(of: schema, db) else {
            self = .outdated
            return
        }
        self = try StoreInstaller.installed(shapes, local: schema.local, db).map { .current(try InstalledTables($0, schema, db)) } ?? .uninstalled
    }

    /// Returns whether there is a store in a file.
    ///
    /// - Throws: `UbiquitousStoreError` if the store is refused; GRDB's errors.
    static func isStore(_ path: FilePath, _ schema: SyncedSchema, expected: StoreState, _ db: Database) throws -> Bool {
        guard try db.tableExists("ubiquity_state") else { return false }
        let format = try Int.fetchOne(db, sql: "SELECT format FROM ubiquity_state") ?? 0
        guard format <= StoreTables.format else {
            throw UbiquitousStoreError(
                .newerFormat, "\(path) was written by a newer version (format \(format)); update this program. The file is untouched.", path: path
            )
        }
        let state = try StoreState.read(db)
        for (found, wanted, what) in [
            (state.account, expected.account, "account"), (state.container, expected.container, "container"),
            (state.content, expected.content, "content"), (state.place.rawValue, expected.place.rawValue, "place"),
        ] where found != wanted {
            throw UbiquitousStoreError(
                .foreignStore, "\(path) belongs to the \(what) “\(found)”, not “\(wanted)”; put it back where it came from.", path: path)
        }
        guard try !schema.migrator.hasBeenSuperseded(db) else {
            let known = Set(schema.migrator.migrations)
            let newer = try schema.migrator.appliedIdentifiers(db).filter { !known.contains($0) }.sorted()
            throw UbiquitousStoreError(
                .newerSchema,
                "\(path) has been through migrations that this version of the app does not have (\(newer.joined(separator: ", "))); update the app. The file is untouched.",
                path: path)
        }
        return true
    }
}
