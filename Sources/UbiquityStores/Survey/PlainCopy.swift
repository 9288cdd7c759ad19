internal import Crypto
internal import Foundation
internal import GRDB
public import SystemPackage
internal import UbiquityContainers

/// A store's copy without anything of this package: an ordinary SQLite database of the app's tables.
public struct PlainCopy: Sendable, Hashable, Codable {
    /// How many rows each of the app's tables has; copy and store were compared row by row.
    public var rows: [String: Int] = [:]
}

extension UbiquitousStore {
    /// Writes the app's tables, as they are at one moment, to a plain database: no table, trigger or key of this package is in it.
    ///
    /// The store stays as it is, and goes on. The copy is made beside its place and put there once it has been compared with the store, by the
    /// number of rows and their content, so that a process that is killed leaves none. Journal mode DELETE; the app's migrator
    /// takes it as it would the store. An app's triggers that ask `ubiquity_import` are made to ask nothing.
    ///
    /// - Parameters:
    ///   - path: where to; nothing may be there.
    ///   - progress: called with the part that is done, from 0 to 1, on a thread of GRDB's.
    /// - Returns: what was copied.
    /// - Throws: `UbiquitousStoreError`; `CancellationError` where the task is cancelled, and there is no copy then.
    @discardableResult
    public func writePlainCopy(to path: FilePath, progress: (@Sendable (Double) -> Void)? = nil) async throws -> PlainCopy {
        let (file, reader) = (file, reader)
        return try await reader.read { db in try PlainCopyWriter(source: file, target: path).write(db, progress) }
    }
}

extension StoreInspection {
    /// Writes a plain copy of the store, beside the app that uses it; see ``UbiquitousStore/writePlainCopy(to:progress:)``.
    ///
    /// - Parameters:
    ///   - path: where to; nothing may be there.
    ///   - progress: called with the part that is done, from 0 to 1.
    /// - Returns: what was copied.
    /// - Throws: `UbiquitousStoreError`.
    package func writePlainCopy(to path: FilePath, progress: ((Double) -> Void)? = nil) throws -> PlainCopy {
        try read { db in try PlainCopyWriter(source: file, target: path).write(db, progress) }
    }
}

/// Copies page by page, takes out what is not the app's, compares, and puts the copy in its place.
struct PlainCopyWriter {
    let source: FilePath
    let target: FilePath
    var files: any FileLayer = LinuxFileLayer()

    private static let pagesPerStep: CInt = 2048
    /// What part of the work is copying; the rest is comparing.
    private static let copying = 0.5

    /// Writes the copy.
    ///
    /// - Parameters:
    ///   - db: the store, in a transaction, so that what is copied and what is compared is of one moment.
    ///   - progress: called with the part that is done.
    /// - Returns: what was copied.
    /// - Throws: `UbiquitousStoreError`, `CancellationError`.
    func write(_ db: Database, _ progress: ((Double) -> Void)?) throws -> PlainCopy {
        guard try files.kind(of: target) == nil else {
            throw UbiquitousStoreError(.fileSystem, "\(target) is there already: name a place where nothing is.", path: target)
        }
        let draft = FilePath(target.string + "-draft")
        let remains = ["", "-wal", "-shm", "-journal"].map { draft.string + $0 }
        for file in remains { try? FileManager.default.removeItem(atPath: file) }
        defer { for file in remains { try? FileManager.default.removeItem(atPath: file) } }
        do {
            let copy = try DatabaseQueue(path: draft.string)
            let result = try copy.writeWithoutTransaction { plain in
                try db.backup(to: plain, pagesPerStep: Self.pagesPerStep) { step in
                    try Task.checkCancellation()
                    progress?(Self.copying * Double(step.completedPageCount) / Double(max(1, step.totalPageCount)))
                }
                try Self.strip(plain)
                return try compare(db, plain, progress)
            }
            try copy.close()
            try files.syncFile(draft)
            try files.renameNew(draft, to: target)
            try files.syncDirectory(target.removingLastComponent())
            return result
        } catch let error as Errno {
            throw failure(error)
        } catch let error as DatabaseError {
            throw failure(error)
        }
    }

    private func failure(_ error: any Error) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .fileSystem, "\(target) could not be written; check that its directory is there, its owner, mode and free space.", path: target,
            cause: error)
    }

    /// Takes out what is not the app's.
    private static func strip(_ plain: Database) throws {
        // What is dropped is overwritten with zeros; pages are not given back, for VACUUM may give rows other numbers.
        try plain.execute(sql: "PRAGMA secure_delete = ON")
        try plain.execute(sql: "PRAGMA foreign_keys = OFF")
        try plain.inTransaction {
            let own = "name LIKE 'ubiquity\\_%' ESCAPE '\\'"
            for type in ["trigger", "table"] {
                for name in try String.fetchAll(plain, sql: "SELECT name FROM sqlite_master WHERE type = ? AND \(own)", arguments: [type]) {
                    try plain.execute(sql: "DROP \(type) IF EXISTS \(name.quotedIdentifier)")
                }
            }
            let asking = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%ubiquity\\_import%' ESCAPE '\\'"
            for row in try Row.fetchAll(plain, sql: asking) {
                try plain.execute(sql: "DROP TRIGGER \((row["name"] as String).quotedIdentifier)")
                let guardless = (row["sql"] as String).replacing(/["`\[]?ubiquity_import["`\]]?/.ignoresCase(), with: "(SELECT 0 AS active)")
                try plain.execute(sql: guardless)
            }
            return .commit
        }
        try plain.execute(sql: "PRAGMA journal_mode = DELETE")
    }

    /// Compares the app's tables: as many rows, and the same in them.
    private func compare(_ store: Database, _ plain: Database, _ progress: ((Double) -> Void)?) throws -> PlainCopy {
        var result = PlainCopy()
        let tables = try String.fetchAll(
            plain,
            sql: """
                SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%'
                ORDER BY name
                """)
        for (index, table) in tables.enumerated() {
            let (expected, found) = (try Self.digest(of: table, store), try Self.digest(of: table, plain))
            guard expected == found else {
                throw UbiquitousStoreError(
                    .malformed,
                    "The copy of “\(table)” has \(found.rows) rows and the store \(expected.rows), or their content differs: there is no copy. See `ubcontrol store check \(source)`.",
                    path: source)
            }
            result.rows[table] = found.rows
            try Task.checkCancellation()
            progress?(Self.copying + (1 - Self.copying) * Double(index + 1) / Double(tables.count))
        }
        let faults = try String.fetchAll(plain, sql: "PRAGMA quick_check(3)")
        guard faults == ["ok"] else {
            throw UbiquitousStoreError(.malformed, "The copy is damaged, for the store is: \(faults.joined(separator: "; ")).", path: source)
        }
        return result
    }

    private struct Digest: Equatable {
        var rows = 0
        var content: [UInt8] = []
    }

    /// The rows of a table in the order of their places, by type and by bytes.
    private static func digest(of table: String, _ db: Database) throws -> Digest {
        let name = "main.\(table.quotedIdentifier)"
        let key = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?, 'main') WHERE pk > 0 ORDER BY pk", arguments: [table])
        // A WITHOUT ROWID table lies in the order of its key.
        let hasRowid = (try? db.makeStatement(sql: "SELECT rowid FROM \(name)")) != nil
        let columns = hasRowid ? "rowid, *" : "*"
        let order = hasRowid ? "rowid" : key.map(\.quotedIdentifier).joined(separator: ", ")
        let statement = try RawStatement("SELECT \(columns) FROM \(name) ORDER BY \(order)", db)
        defer { statement.reset() }
        var (digest, hash) = (Digest(), SHA256())
        while try statement.step() {
            var row = WireWriter(reserving: 256)
            for column in 0..<statement.columnCount { statement.write(column, to: &row) }
            hash.update(data: row.bytes)
            digest.rows += 1
        }
        digest.content = Array(hash.finalize())
        return digest
    }
}
