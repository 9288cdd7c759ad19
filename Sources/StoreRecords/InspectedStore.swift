internal import Foundation
package import GRDB
internal import StoreFormat
package import SystemPackage

/// A connection to a store file that another program may have open, for tools.
///
/// It runs no migration, creates nothing, and exchanges nothing. Its writes are captured, and the app's next exchange
/// publishes them.
package struct InspectedStore: Sendable {
    /// The SQLite file.
    package let file: FilePath
    private let queue: DatabaseQueue

    /// Opens a store file, or the store that an app keeps at a path.
    ///
    /// - Parameters:
    ///   - path: the SQLite file below `CoreDataUbiquitySupport`, or the path that the app gave its store.
    ///   - readOnly: whether the connection only reads.
    /// - Throws: `UbiquitousStoreError` if there is no store or more than one, or if a newer version wrote it.
    package init(_ path: FilePath, readOnly: Bool) throws { try self.init(Self.resolve(path), readOnly: readOnly, isImmutable: false) }

    /// Opens a store file.
    ///
    /// - Parameters:
    ///   - file: the SQLite file, as the user named it.
    ///   - place: the file that is read; nil for `file` itself.
    ///   - readOnly: whether the connection only reads.
    ///   - isImmutable: whether nobody has the file open: SQLite then takes no lock and creates nothing beside it.
    /// - Throws: `UbiquitousStoreError` if it is no store, or if a newer version wrote it.
    init(_ file: FilePath, at place: FilePath? = nil, readOnly: Bool, isImmutable: Bool) throws {
        self.file = file
        let place = place ?? file
        var configuration = Configuration()
        configuration.readonly = readOnly
        configuration.busyMode = .timeout(30)
        SQLTrace.install(in: &configuration, of: file)
        do {
            queue = try DatabaseQueue(
                path: isImmutable ? AttachedDatabase.readOnly(place, isImmutable: true) : place.string, configuration: configuration)
            try queue.read { [file] db in
                guard try db.tableExists("ubiquity_state") else {
                    throw UbiquitousStoreError(.notADatabase, "\(file) is an SQLite database, but not a store of this package.", path: file)
                }
                let format = try Int.fetchOne(db, sql: "SELECT format FROM ubiquity_state") ?? 0
                guard format <= StoreTables.format else {
                    throw UbiquitousStoreError(
                        .newerFormat, "\(file) was written by a newer version (format \(format)); update this program. The file is untouched.",
                        path: file)
                }
            }
        } catch let error as DatabaseError {
            throw UbiquitousStoreError(
                .notADatabase, "\(file) cannot be read as a store: \(error.message ?? "SQLite refuses it").", path: file, cause: error)
        }
    }

    /// Returns the values that lost a conflict, oldest first.
    ///
    /// - Parameter limit: the largest number of conflicts, of which the newest are returned; nil for all.
    /// - Returns: the conflicts.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    package func conflicts(limit: Int? = nil) throws -> [Conflict] { try queue.read { db in try ConflictHistory(db).list(limit: limit) } }

    /// Returns the held records.
    ///
    /// - Returns: the records, by table and key.
    /// - Throws: GRDB's errors.
    package func held() throws -> [HeldRecord] { try queue.read { db in try RelationListing(db).held() } }

    /// Returns the records that have become one.
    ///
    /// - Returns: each class of two or more records.
    /// - Throws: GRDB's errors.
    package func duplicates() throws -> [DuplicateRecords] { try queue.read { db in try RelationListing(db).duplicates() } }

    /// Returns the records that show another value than the one written.
    ///
    /// - Returns: the records, by table and key.
    /// - Throws: GRDB's errors.
    package func moved() throws -> [MovedRecord] { try queue.read { db in try RelationListing(db).moved() } }

    /// Restores the value that lost a conflict, and removes the conflict from the list.
    ///
    /// - Parameter id: the conflict's number.
    /// - Returns: the conflict that was restored.
    /// - Throws: `UbiquitousStoreError` if there is no such conflict, or it cannot be restored.
    package func restore(_ id: Int64) throws -> Conflict {
        try write { db in
            let history = ConflictHistory(db)
            guard let conflict = try history[id] else {
                throw UbiquitousStoreError(.notFound, "\(file) lists no conflict \(id); see: ubcontrol store conflicts \(file)", path: file)
            }
            try history.restore(conflict)
            return conflict
        }
    }

    /// Runs a body with the database.
    package func read<Result>(_ body: (Database) throws -> Result) throws -> Result { try queue.read(body) }

    /// Runs a body in a transaction, completely or not at all; a rehearsal is rolled back at its end.
    package func write<Result>(isRehearsal: Bool = false, _ body: (Database) throws -> Result) throws -> Result {
        do {
            guard isRehearsal else { return try queue.write(body) }
            return try queue.writeWithoutTransaction { db in
                var result: Result?
                try db.inTransaction(.immediate) {
                    result = try body(db)
                    return .rollback
                }
                return result!
            }
        } catch let error as DatabaseError {
            throw UbiquitousStoreError(
                .database, "\(file) rejects the change: \(error.message ?? "SQLite refuses it"). Nothing has been written.", path: file, cause: error)
        }
    }

    /// Returns the store file that a path denotes.
    ///
    /// A path denotes itself if it is a store file. Otherwise it denotes the only account's file at the path that an
    /// app gave its store, or in a directory of stores.
    static func resolve(_ path: FilePath) throws -> FilePath {
        guard path.lastComponent != nil else { throw UbiquitousStoreError(.notFound, "“\(path)” names no store file.", path: path) }
        let files = files(at: path)
        if files == [path] { return path }
        var isDirectory: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: path.string, isDirectory: &isDirectory)
        let support = supportDirectory(of: path, isDirectory: isDirectory.boolValue)
        let found = files.filter { $0.components.suffix(2).first?.string == "store" }
        guard let only = found.first, found.count == 1 else {
            let list = (found.isEmpty ? files : found).map { "\n  \($0)" }.joined()
            let reason =
                if !found.isEmpty {
                    "\(path) has \(found.count) stores\(isDirectory.boolValue ? "" : ", one for each account"); name one of them:\(list)"
                } else if !files.isEmpty {
                    "\(path) has no account's store, but other store files; name one of them:\(list)"
                } else {
                    (isDirectory.boolValue
                        ? "\(path) is a directory, and there is no store in \(support)"
                        : "There is no store at \(path), nor any below \(support)")
                        + ": name the path that the app gave its store, or its SQLite file; `ubcontrol store list` lists those that are known."
                }
            throw UbiquitousStoreError(.notFound, reason, path: path)
        }
        return only
    }
}
