internal import Foundation
internal import GRDB
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Copies a database table by table into a draft, with which another process can continue after a kill.
///
/// Rows are copied in their stored order, in batches, so that the draft of a table is always its beginning. If a hash
/// shows that it still equals the beginning of the table, the remaining rows are appended; otherwise the table is
/// copied again. Indexes and triggers are created last, and then every table is compared.
struct DatabaseCopy {
    let draft: FilePath
    /// Whether the tables and triggers of this package are left out.
    var isStripped = false

    private static let bytesPerBatch = 4 << 20

    private struct SchemaObject {
        var type: String
        var name: String
        var table: String
        var sql: String
        var isVirtual: Bool { type == "table" && sql.uppercased().hasPrefix("CREATE VIRTUAL") }
    }

    /// Creates the draft, or continues one; a failure removes it.
    ///
    /// - Parameters:
    ///   - source: the database, in a transaction, so that the copy is of one moment.
    ///   - progress: called after each batch.
    /// - Returns: the numbers of copied rows; the draft is complete and closed.
    /// - Throws: `UbiquitousStoreError` if the copy differs from the source; `CancellationError`; GRDB's errors.
    func make(from source: Database, _ progress: ((StoreMigration) -> Void)?) throws -> StoreMigration {
        do {
            if FileManager.default.fileExists(atPath: draft.string), let begun = try? open(for: source) {
                return try fill(begun, from: source, progress)
            }
            removeDraft()
            return try fill(open(for: source), from: source, progress)
        } catch {
            removeDraft()
            throw error
        }
    }

    func removeDraft() {
        for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: draft.string + suffix) }
    }

    /// Returns the objects to copy, in the order of their creation.
    private func objects(_ db: Database) throws -> [SchemaObject] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT type, name, tbl_name, sql FROM main.sqlite_master
                WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid
                """
        ).map { SchemaObject(type: $0[0], name: $0[1], table: $0[2], sql: $0[3]) }
            .filter { !isStripped || !$0.name.hasPrefix("ubiquity_") && !$0.table.hasPrefix("ubiquity_") }
            .map { object in
                guard isStripped, object.type == "trigger" else { return object }
                var guardless = object
                guardless.sql = object.sql.replacing(/["`\[]?ubiquity_import["`\]]?/.ignoresCase(), with: "(SELECT 0 AS active)")
                return guardless
            }
    }

    /// Opens the draft, and creates all tables except virtual ones.
    ///
    /// - Throws: GRDB's errors, also if the draft belongs to another source.
    private func open(for source: Database) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: draft.string, configuration: configuration)
        let wanted = try objects(source)
        try queue.writeWithoutTransaction { db in
            // Merged rows can break a CHECK.
            try db.execute(sql: "PRAGMA ignore_check_constraints = 1")
            // A store is in UTF-8, like baselines: a connection cannot have databases of two encodings
            // (sqlite.org/pragma.html#pragma_encoding).
            for pragma in (isStripped ? ["encoding"] : []) + ["page_size", "auto_vacuum"] {
                let value = try DatabaseValue.fetchOne(source, sql: "PRAGMA main.\(pragma)")
                try db.execute(sql: "PRAGMA \(pragma) = \(value.flatMap(String.fromDatabaseValue)?.quotedIdentifier ?? value?.description ?? "0")")
            }
            let there = try objects(db)
            guard there.allSatisfy({ found in wanted.contains { $0.name == found.name && $0.sql == found.sql } }) else {
                throw UbiquitousStoreError(.malformed, "\(draft) is the beginning of another copy.", path: draft)
            }
            let names = Set(there.map(\.name))
            try db.inTransaction {
                // In a draft that was already complete, the triggers would run for each appended row.
                for object in there where object.type == "trigger" { try db.execute(sql: "DROP TRIGGER \(object.name.quotedIdentifier)") }
                for object in wanted where object.type == "table" && !object.isVirtual && !names.contains(object.name) {
                    try db.execute(sql: object.sql)
                }
                return .commit
            }
        }
        return queue
    }

    private func fill(
        _ queue: DatabaseQueue, from source: Database, _ progress: ((StoreMigration) -> Void)?
    ) throws -> StoreMigration {
        var result = StoreMigration()
        try queue.writeWithoutTransaction { db in
            let tables = try String.fetchAll(
                db,
                sql:
                    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            ).map { try CopiedTable($0, in: source) }
            result.total = try tables.reduce(0) { try $0 + $1.count(source) }
            for table in tables {
                let expected = try copy(table, from: source, to: db, &result, progress)
                guard try table.digest(db) == expected else {
                    throw UbiquitousStoreError(
                        .malformed, "The copy of “\(table.name)” differs from it in the number of rows or their content, and is removed.",
                        path: draft)
                }
                result.tables[table.name] = expected.rows
            }
            try finish(db, from: source)
            progress?(result)
        }
        try queue.close()
        return result
    }

    /// Copies the remaining rows of a table, and returns the digest of all its rows.
    private func copy(
        _ table: CopiedTable, from source: Database, to db: Database, _ result: inout StoreMigration,
        _ progress: ((StoreMigration) -> Void)?
    ) throws -> CopiedTable.Digest {
        var there = try table.digest(db)
        var rows = try table.cursor(source)
        defer { rows.close() }
        while rows.count < there.rows, try rows.next() {}
        if rows.digest != there {
            try db.execute(sql: "DELETE FROM main.\(table.name.quotedIdentifier)")
            rows.close()
            rows = try table.cursor(source)
            there = CopiedTable.Digest()
        }
        result.kept += there.rows
        result.rows += there.rows
        let insert = try table.insertion(db)
        var isAtEnd = false
        while !isAtEnd {
            try Task.checkCancellation()
            try db.inTransaction {
                var (count, bytes) = (0, 0)
                while count < BatchSize.rows, bytes < Self.bytesPerBatch {
                    guard try rows.next() else {
                        isAtEnd = true
                        break
                    }
                    bytes += try rows.insert(by: insert)
                    count += 1
                }
                result.rows += count
                return .commit
            }
            Waypoint.copyBatch.pass()
            progress?(result)
        }
        return rows.digest
    }

    private static func has(_ table: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?)", arguments: [table])!
    }

    /// Creates the objects that depend on rows: virtual tables, indexes, views, triggers and counters.
    private func finish(_ db: Database, from source: Database) throws {
        try db.inTransaction {
            let there = try Set(objects(db).map(\.name))
            let rest = try objects(source).filter { !there.contains($0.name) }
            // The tables in which virtual tables store their data are already copied, so virtual tables are entered
            // into the schema and not created, like in a dump by SQLite's shell.
            try db.execute(sql: "PRAGMA writable_schema = ON")
            for object in rest where object.isVirtual {
                try db.execute(
                    sql: "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES ('table', ?, ?, 0, ?)",
                    arguments: [object.name, object.table, object.sql])
            }
            try db.execute(sql: "PRAGMA writable_schema = OFF")
            for type in ["index", "view", "trigger"] {
                for object in rest where object.type == type { try db.execute(sql: object.sql) }
            }
            if try Self.has("sqlite_stat1", source) { try db.execute(sql: "ANALYZE main.sqlite_schema") }
            for (own, table) in [("sqlite_sequence", "name"), ("sqlite_stat1", "tbl")] where try Self.has(own, db) && Self.has(own, source) {
                try db.execute(sql: "DELETE FROM \(own)")
                for row in try Row.fetchAll(source, sql: "SELECT * FROM main.\(own)") {
                    guard try Self.has(row[table], db) else { continue }
                    let places = row.columnNames.map { _ in "?" }.joined(separator: ", ")
                    try db.execute(sql: "INSERT INTO \(own) VALUES (\(places))", arguments: StatementArguments(row.databaseValues))
                }
            }
            for pragma in ["user_version", "application_id"] {
                try db.execute(sql: "PRAGMA \(pragma) = \(Int.fetchOne(source, sql: "PRAGMA main.\(pragma)") ?? 0)")
            }
            return .commit
        }
        let faults = try String.fetchAll(db, sql: "PRAGMA quick_check(3)")
        guard faults == ["ok"] else {
            throw UbiquitousStoreError(
                .malformed, "The copy is damaged, because the source is damaged: \(faults.joined(separator: "; ")).", path: draft)
        }
        Waypoint.copyCompared.pass()
    }
}
