internal import Foundation
public import GRDB
internal import GRDBSQLite
internal import StoreFormat

/// The list of conflicts in a store file: reads them, and restores lost values.
///
/// It works on any connection to the file, for example a tool's connection beside the running app. A restored value is
/// captured like any other write.
public struct ConflictHistory {
    static let statement = """
        CREATE TABLE ubiquity_conflict (number INTEGER PRIMARY KEY AUTOINCREMENT, noticed REAL NOT NULL, name TEXT NOT NULL, key BLOB NOT NULL, \
        reason INTEGER NOT NULL, author INTEGER NOT NULL, written INTEGER NOT NULL, winner INTEGER, lost BLOB NOT NULL, others BLOB NOT NULL)
        """

    private let db: Database

    /// Creates the history of a store file.
    ///
    /// - Parameter db: a connection to the file. Restoring needs a transaction.
    public init(_ db: Database) { self.db = db }

    /// Returns the conflicts that are kept, oldest first.
    ///
    /// - Parameter limit: the maximum number of conflicts, or nil for all. The newest are returned.
    /// - Returns: the conflicts.
    /// - Throws: GRDB's errors, or `UbiquitousStoreError` with `malformed`.
    public func list(limit: Int? = nil) throws -> [Conflict] {
        let sql = "\(Self.query) ORDER BY number DESC LIMIT ?"
        return try Row.fetchAll(db, sql: sql, arguments: [limit ?? -1]).reversed().map(Self.conflict)
    }

    /// The conflict with a number, or nil if it is not kept.
    public subscript(id: Int64) -> Conflict? {
        get throws { try Row.fetchOne(db, sql: "\(Self.query) WHERE c.number = ?", arguments: [id]).map(Self.conflict) }
    }

    /// Writes the lost values back as an ordinary change, and removes the conflict from the list.
    ///
    /// A record that no longer exists is inserted again with all values that are known.
    ///
    /// - Parameter conflict: the conflict to restore.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the schema or a column's policy does not accept a value;
    ///   GRDB's errors if the disk or another connection is at fault.
    public func restore(_ conflict: Conflict) throws {
        let table = conflict.record.table.quotedIdentifier
        let keys = try keyColumns(of: conflict.record.table)
        guard keys.count == conflict.record.key.count else { throw Self.refusal(conflict, "its table has another primary key now, or is gone") }
        let condition = keys.map { "\($0.quotedIdentifier) = ?" }.joined(separator: " AND ")
        do {
            if try !isThere(table, condition, conflict.record.key) { try insert(conflict, table, keys) }
            for field in conflict.lost { try set(field, table, condition, conflict) }
        } catch let error as DatabaseError where error.fault.isContent {
            throw Self.refusal(conflict, error.message ?? "the schema does not accept it")
        }
        try db.execute(sql: "DELETE FROM ubiquity_conflict WHERE number = ?", arguments: [conflict.id])
    }

    /// Removes a conflict from the list.
    public func forget(_ id: Int64) throws { try db.execute(sql: "DELETE FROM ubiquity_conflict WHERE number = ?", arguments: [id]) }

    /// Removes the conflicts beyond the retention.
    func prune(_ retention: ConflictRetention, now: Date) throws {
        try db.cachedStatement(
            sql: "DELETE FROM ubiquity_conflict WHERE number <= (SELECT max(number) FROM ubiquity_conflict) - ? OR noticed < ?"
        ).execute(arguments: [retention.count, now.timeIntervalSince1970 - Double(retention.days) * 86_400])
    }
}

extension ConflictHistory {
    private static let query = """
        SELECT c.*, a.name AS authorName, w.name AS winnerName FROM ubiquity_conflict c
        JOIN ubiquity_peer a ON a.number = c.author LEFT JOIN ubiquity_peer w ON w.number = c.winner
        """

    private static func conflict(_ row: Row) throws -> Conflict {
        do {
            return Conflict(
                id: row["number"], record: ObjectID(table: row["name"], key: try fields(row["key"]).map(\.value)),
                reason: Conflict.Reason(rawValue: row["reason"]) ?? .laterWrite, lost: try fields(row["lost"]), others: try fields(row["others"]),
                author: row["authorName"], written: HybridTime(rawValue: row["written"]).date, winner: row["winnerName"],
                noticed: Date(timeIntervalSince1970: row["noticed"]))
        } catch is WireReader.Fault {
            throw UbiquitousStoreError(.malformed, "Conflict \(row["number"] as Int64) is damaged in the store file.")
        }
    }

    /// Encodes columns with their values, as they are stored.
    static func packed(_ fields: [Conflict.Field]) -> [UInt8] {
        var writer = WireWriter()
        for field in fields {
            writer.varint(UInt64(field.column.utf8.count))
            writer.raw(Array(field.column.utf8))
            writer.recordValue(field.value)
        }
        return writer.bytes
    }

    static func fields(_ data: Data) throws -> [Conflict.Field] {
        var reader = WireReader([UInt8](data)[...])
        var fields: [Conflict.Field] = []
        while !reader.isAtEnd {
            let name = String(decoding: try reader.take(try reader.length()), as: UTF8.self)
            fields.append(Conflict.Field(column: name, value: try reader.recordValue()))
        }
        return fields
    }

    private func keyColumns(of table: String) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", arguments: [table])
    }

    private func isThere(_ table: String, _ condition: String, _ key: [RecordValue]) throws -> Bool {
        let statement = try RawStatement("SELECT 1 FROM \(table) WHERE \(condition)", db)
        defer { statement.reset() }
        for (index, value) in key.enumerated() { statement.bind(index + 1, value) }
        return try statement.step()
    }

    private func insert(_ conflict: Conflict, _ table: String, _ keys: [String]) throws {
        let known = conflict.reason == .deletion ? conflict.lost + conflict.others : conflict.lost
        let names = (keys + known.map(\.column)).map(\.quotedIdentifier).joined(separator: ", ")
        let places = Array(repeating: "?", count: keys.count + known.count).joined(separator: ",")
        let statement = try RawStatement("INSERT INTO \(table) (\(names)) VALUES (\(places))", db)
        for (index, value) in (conflict.record.key + known.map(\.value)).enumerated() { statement.bind(index + 1, value) }
        try statement.run()
        try db.notifyChanges(in: Table(conflict.record.table))
    }

    private func set(_ field: Conflict.Field, _ table: String, _ condition: String, _ conflict: Conflict) throws {
        let column = field.column.quotedIdentifier
        let update = try RawStatement("UPDATE \(table) SET \(column) = ? WHERE \(condition)", db)
        let check = try RawStatement("SELECT \(column) FROM \(table) WHERE \(condition)", db)
        update.bind(1, field.value)
        for (index, value) in conflict.record.key.enumerated() {
            update.bind(index + 2, value)
            check.bind(index + 1, value)
        }
        try update.run()
        defer { check.reset() }
        guard try check.step(), check.value(0) == field.value else {
            throw Self.refusal(conflict, "the column “\(field.column)” does not accept the value: its policy keeps another")
        }
        try db.notifyChanges(in: Table(conflict.record.table))
    }

    private static func refusal(_ conflict: Conflict, _ reason: String) -> UbiquitousStoreError {
        UbiquitousStoreError(.unsupported, "Conflict \(conflict.id) of \(conflict.record) cannot be restored: \(reason). It stays on the list.")
    }
}
