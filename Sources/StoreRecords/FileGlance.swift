internal import GRDB
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// What one connection that only reads shows of a store file that is not in use.
///
/// Opening the file would take three connections, and could write.
package struct FileGlance: Sendable {
    /// Whether the account's content has been read once.
    package let isGathered: Bool
    /// Whether the file holds nothing that another file lacks: no save that waits, no row to adopt, no mark, and no
    /// unfinished join.
    package let isSettled: Bool

    /// Looks at a file.
    ///
    /// - Parameters:
    ///   - path: the store file.
    ///   - schema: the app's migrator and synced tables.
    ///   - expected: the account, container, content and kind that the file must have.
    /// - Returns: what it shows; nil if opening the file would change or refuse it, or if there is none.
    package static func of(_ path: FilePath, schema: SyncedSchema, expected: StoreState) -> FileGlance? {
        // Locking would create a directory entry for a file that does not exist.
        guard (try? LinuxFileLayer().kind(of: path)) == .file, (try? LinuxFileLayer().kind(of: SchemaMigration.draft(of: path))) == .some(nil),
            let lock = try? StoreLock.opening(path)
        else { return nil }
        return withExtendedLifetime(lock) { try? read(path, schema, expected) }
    }

    private static func read(_ path: FilePath, _ schema: SyncedSchema, _ expected: StoreState) throws -> FileGlance? {
        var configuration = StoreFile.configuration
        configuration.readonly = true
        let queue = try DatabaseQueue(path: path.string, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read { db in
            guard try FileStanding.isStore(path, schema, expected: expected, db) else { return nil }
            if try isEmpty(schema, db) { return FileGlance(isGathered: try state(db).isGathered, isSettled: true) }
            guard case .current(let tables) = try FileStanding(path, schema, expected: expected, db) else { return nil }
            return try FileGlance(tables.shapes, db)
        }
    }

    private init(isGathered: Bool, isSettled: Bool) { (self.isGathered, self.isSettled) = (isGathered, isSettled) }

    private init(_ shapes: [TableShape], _ db: Database) throws {
        let state = try Self.state(db)
        isGathered = state.isGathered
        isSettled =
            try !state.isGiven && Outbox.isEmpty(db) && !Adopter.isPending(db) && !RelatedTables.hasUnresolved(shapes, db)
            && Self.areEmpty(shapes.map(\.captureTable), db)
    }

    private static func state(_ db: Database) throws -> (isGathered: Bool, isGiven: Bool) {
        let row = try Row.fetchOne(db, sql: "SELECT gathered, given IS NOT NULL FROM ubiquity_state")!
        return (row[0], row[1])
    }

    /// Returns whether a file of this schema version holds no record at all.
    ///
    /// A file that has been joined holds none. Without records, it does not matter how its tables are installed.
    private static func isEmpty(_ schema: SyncedSchema, _ db: Database) throws -> Bool {
        guard try !state(db).isGiven, try schema.migrator.hasCompletedMigrations(db) else { return false }
        let known = try KnownTable.all(db, withLocalColumns: false)
        guard Set(known.map(\.name)) == Set(schema.tables.map(\.name) + schema.ownTables.map(\.name)) else { return false }
        var tables = ["ubiquity_outbox", "ubiquity_adoption"]
        for table in known { tables += [table.name.quotedIdentifier, "ubiquity_capture_\(table.number)", "ubiquity_unresolved_\(table.number)"] }
        return try areEmpty(tables, db)
    }

    private static func areEmpty(_ tables: [String], _ db: Database) throws -> Bool {
        try tables.allSatisfy { try Bool.fetchOne(db, sql: "SELECT NOT EXISTS (SELECT 1 FROM main.\($0))")! }
    }
}
