package import GRDB
internal import StoreFormat

/// A record whose row breaks a CHECK of the app's schema, because merging takes each column from its last writer.
public struct BrokenRecord: Sendable, Hashable {
    /// The record that the values belong to.
    public var record: ObjectID
    /// The constraint, as SQLite describes it.
    public var reason: String

    package init(record: ObjectID, reason: String) {
        self.record = record
        self.reason = reason
    }
}

/// Finds rows that break a table's CHECKs, which imports do not enforce.
///
/// It inserts the row into a temporary table with the table's constraints and without the app's triggers, so that
/// SQLite itself reports what fails. Foreign keys must be off in the connection, because they refer to tables of the
/// same database only (sqlite.org/foreignkeys.html).
package struct CheckInspector {
    static let statement =
        "CREATE TABLE ubiquity_broken (name TEXT NOT NULL, key BLOB NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (name, key)) WITHOUT ROWID"

    private let shape: TableShape
    private let db: Database
    private let copy: RawStatement
    private let clear: RawStatement

    /// Creates an inspector of a table.
    ///
    /// Returns nil if the table has no CHECKs, or has one that names the table itself and so does not fit a copy.
    package init?(_ shape: TableShape, _ db: Database) throws {
        guard let sql = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", arguments: [shape.name]),
            sql.uppercased().contains("CHECK"), let definition = Self.definition(sql)
        else { return nil }
        self.shape = shape
        self.db = db
        let mirror = "ubiquity_checked_\(shape.number)"
        if try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_temp_master WHERE name = ?)", arguments: [mirror])! {
            do {
                try db.execute(sql: "CREATE TEMP TABLE \(mirror) \(definition)")
            } catch let error as DatabaseError where error.fault.isContent {
                return nil
            }
        }
        let columns = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", arguments: [shape.name])
            .map(\.quotedIdentifier).joined(separator: ", ")
        copy = try RawStatement(
            "INSERT INTO temp.\(mirror) (\(columns)) SELECT \(columns) FROM main.\(shape.name.quotedIdentifier) WHERE \(shape.keyCondition { _, _ in "?" })",
            db)
        clear = try RawStatement("DELETE FROM temp.\(mirror)", db)
    }

    /// Examines a record again, and lists it as broken or removes it from the list.
    ///
    /// - Parameter record: a record of the table. It may be gone.
    /// - Returns: the record, if it is broken and was not listed with this reason.
    /// - Throws: GRDB's errors.
    package func inspect(_ record: ObjectID) throws -> BrokenRecord? {
        let key = ConflictHistory.packed(record.key.map { Conflict.Field(column: "", value: $0) })
        let reason = try reason(record)
        guard let reason else {
            let statement = try RawStatement("DELETE FROM ubiquity_broken WHERE name = ? AND key = ?", db)
            statement.bind(1, .text(shape.name))
            statement.bind(2, key)
            try statement.run()
            return nil
        }
        let statement = try RawStatement("INSERT INTO ubiquity_broken VALUES (?,?,?) ON CONFLICT DO NOTHING", db)
        statement.bind(1, .text(shape.name))
        statement.bind(2, key)
        statement.bind(3, .text(reason))
        try statement.run()
        return db.changesCount > 0 ? BrokenRecord(record: record, reason: reason) : nil
    }

    /// Examines all records, unless SQLite finds no row that breaks a CHECK.
    ///
    /// CHECKs must be on in the connection (sqlite.org/pragma.html#pragma_quick_check).
    ///
    /// - Returns: the records that are broken and were not listed with this reason.
    /// - Throws: GRDB's errors.
    func inspectAll() throws -> [BrokenRecord] {
        var broken: [BrokenRecord] = []
        try forEachKey { key in if let found = try inspect(ObjectID(table: shape.name, key: key)) { broken.append(found) } }
        return broken
    }

    /// Returns the keys of the rows that break a CHECK.
    ///
    /// CHECKs must be on in the connection.
    func brokenKeys() throws -> [[RecordValue]] {
        var broken: [[RecordValue]] = []
        try forEachKey { key in if try reason(copy, key) != nil { broken.append(key) } }
        return broken
    }

    /// Returns those of some keys whose rows break a CHECK.
    ///
    /// CHECKs must be on in the connection.
    func broken(among keys: Set<[RecordValue]>) throws -> [[RecordValue]] { try keys.filter { try reason(copy, $0) != nil } }

    /// Calls a body with the key of each row, unless SQLite finds no row that breaks a CHECK.
    private func forEachKey(_ body: ([RecordValue]) throws -> Void) throws {
        let findings = try String.fetchAll(db, sql: "PRAGMA main.quick_check(\(shape.name.quotedIdentifier))")
        guard findings.contains(where: { $0.contains("CHECK") }) else { return }
        let keys = shape.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
        let statement = try RawStatement("SELECT \(keys) FROM main.\(shape.name.quotedIdentifier)", db)
        defer { statement.reset() }
        while try statement.step() { try body(shape.keyColumns.indices.map { statement.value($0).detached }) }
    }

    private func reason(_ record: ObjectID) throws -> String? { try reason(copy, record.key) }

    /// Returns the constraint that a row with these values would break, or nil.
    ///
    /// The key comes first. Excluded columns have their defaults.
    func reason(_ values: [RecordValue]) throws -> String? {
        let names = (shape.keyColumns + shape.columns).map(\.quotedIdentifier)
        let places = Array(repeating: "?", count: names.count).joined(separator: ",")
        return try reason(
            RawStatement("INSERT INTO temp.ubiquity_checked_\(shape.number) (\(names.joined(separator: ", "))) VALUES (\(places))", db), values)
    }

    private func reason(_ copy: RawStatement, _ values: [RecordValue]) throws -> String? {
        for (index, value) in values.enumerated() { copy.bind(index + 1, value) }
        do {
            try copy.run()
        } catch let error as DatabaseError where error.fault.isContent {
            // Some constraints cannot be evaluated, such as `json_extract()` of text that is not JSON. The app's own
            // write would fail too.
            return error.message ?? "a CHECK fails"
        }
        try clear.run()
        return nil
    }

    /// Returns the listed records, by table and key.
    package static func list(_ db: Database) throws -> [BrokenRecord] {
        try Row.fetchAll(db, sql: "SELECT * FROM ubiquity_broken").map {
            BrokenRecord(record: ObjectID(table: $0["name"], key: try ConflictHistory.fields($0["key"]).map(\.value)), reason: $0["reason"])
        }
    }

    /// Returns the text after the name in CREATE TABLE, or nil if it cannot be found.
    private static func definition(_ sql: String) -> Substring? {
        var closing: Character?
        for index in sql.indices {
            let character = sql[index]
            if let end = closing {
                if character == end { closing = nil }
            } else if character == "(" {
                return sql[index...]
            } else {
                closing = ["\"": "\"", "`": "`", "[": "]", "'": "'"][character]
            }
        }
        return nil
    }
}
