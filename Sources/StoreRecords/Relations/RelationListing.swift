public import Foundation
public import GRDB
public import StoreFormat

/// A held record: it is alive but not shown, because a record that it refers to is not shown.
///
/// Nothing of it is lost: it is shown again as soon as that record is.
public struct HeldRecord: Sendable, Hashable {
    /// The record that the values belong to.
    public var record: ObjectID
    /// The reason why it is held.
    public var reason: String
    /// Its values, without NULLs.
    public var values: [Conflict.Field]
}

/// Records that are one, by a uniqueness rule or because their keys refer to records that are one.
public struct DuplicateRecords: Sendable, Hashable {
    /// One of the records, as its author wrote it.
    public struct Member: Sendable, Hashable {
        /// Its name.
        public var record: ObjectID
        /// Its values, without NULLs.
        public var values: [Conflict.Field]
    }

    /// The record that is shown for all of them.
    public var record: ObjectID
    /// All of them, sorted by key.
    public var members: [Member]
    /// The time at which this device learned it; nil if it follows from references and not from a rule.
    public var since: Date?
}

/// A record that shows another value in a column than was written.
///
/// Another record holds the written value, and an exclusive rule lets only one record hold it.
public struct MovedRecord: Sendable, Hashable {
    /// The record that the values belong to.
    public var record: ObjectID
    /// The column.
    public var column: String
    /// The value that was written; it is shown again as soon as no other record holds it.
    public var written: RecordValue
    /// The value that is shown instead.
    public var shown: RecordValue
    /// The record that holds the written value.
    public var holder: ObjectID
}

/// Lists the records that a store file keeps aside: held records, records that became one, and moved values.
///
/// It works on any connection to the file, such as that of a tool beside the running app.
public struct RelationListing {
    private let db: Database

    /// Creates the listing of a store file.
    ///
    /// - Parameter db: a connection to the file.
    public init(_ db: Database) { self.db = db }

    /// Returns the held records, sorted by table and key.
    ///
    /// - Returns: the records.
    /// - Throws: GRDB's errors.
    public func held() throws -> [HeldRecord] {
        try tables().flatMap { table in
            try table.asides("held > ''", db).map { HeldRecord(record: $0.record, reason: $0.held ?? "", values: $0.values) }
        }
    }

    /// Returns the records that are one with others, sorted by table and shown key.
    ///
    /// - Returns: each class of two or more records.
    /// - Throws: GRDB's errors.
    public func duplicates() throws -> [DuplicateRecords] {
        try tables().flatMap { table in
            let shown = table.keys("s")
            let several =
                "held IS NULL AND (\(shown)) IN (SELECT \(shown) FROM \(table.aside) WHERE held IS NULL GROUP BY \(shown) HAVING count(*) > 1)"
            var classes: [DuplicateRecords] = []
            for entry in try table.asides(several, db, order: "s") {
                let member = DuplicateRecords.Member(record: entry.record, values: entry.values)
                if classes.last?.record == entry.shown {
                    classes[classes.count - 1].members.append(member)
                } else {
                    classes.append(DuplicateRecords(record: entry.shown, members: [member], since: nil))
                }
            }
            for index in classes.indices {
                classes[index].since = try classes[index].members.compactMap { try table.since($0.record.key, db) }.min()
            }
            return classes
        }
    }

    /// Returns the rows that show another value than was written, sorted by table and key.
    ///
    /// - Returns: one element for each column that shows another value.
    /// - Throws: GRDB's errors.
    public func moved() throws -> [MovedRecord] { try tables().flatMap { try $0.moved(db) } }

    private func tables() throws -> [Listed] {
        try Row.fetchAll(db, sql: "SELECT number, name, key, columns FROM ubiquity_table ORDER BY name").map { row in
            func names(_ column: String) -> [String] { (row[column] as String).split(separator: "\n").map(String.init) }
            return Listed(number: row["number"], name: row["name"], keyColumns: names("key"), columns: names("columns"))
        }
    }
}

/// A synced table, as the store file describes it.
private struct Listed {
    var number: Int64
    var name: String
    var keyColumns: [String]
    var columns: [String]

    var aside: String { "ubiquity_aside_\(number)" }

    func keys(_ letter: String) -> String { keyColumns.indices.map { "\(letter)\($0)" }.joined(separator: ", ") }

    func asides(
        _ condition: String, _ db: Database, order: String = "k"
    ) throws -> [(record: ObjectID, shown: ObjectID, held: String?, values: [Conflict.Field])] {
        guard try db.tableExists(aside) else { return [] }
        let values = columns.indices.map { ", v\($0)" }.joined()
        let statement = try RawStatement(
            "SELECT \(keys("k")), \(keys("s")), held\(values) FROM \(aside) WHERE \(condition) ORDER BY \(keys(order)), \(keys("k"))", db)
        defer { statement.reset() }
        let count = keyColumns.count
        var found: [(record: ObjectID, shown: ObjectID, held: String?, values: [Conflict.Field])] = []
        while try statement.step() {
            func id(_ start: Int) -> ObjectID { ObjectID(table: name, key: (start..<start + count).map { statement.value($0) }) }
            let fields = columns.enumerated().map { Conflict.Field(column: $1, value: statement.value(2 * count + 1 + $0)) }
            var held: String?
            if case .text(let bytes) = statement.value(2 * count) { held = String(decoding: bytes, as: UTF8.self) }
            found.append((id(0), id(count), held, fields.filter { $0.value != .null }))
        }
        return found
    }

    /// Returns the rows that show another value than was written.
    func moved(_ db: Database) throws -> [MovedRecord] {
        let table = "ubiquity_moved_\(number)"
        guard try db.tableExists(table), try db.tableExists(name) else { return [] }
        let count = keyColumns.count
        let own = keys("k")
        let rows = try RawStatement("SELECT \(own), \(keys("h")), \"column\", written FROM \(table) ORDER BY \(own), \"column\"", db)
        defer { rows.reset() }
        let condition = keyColumns.map { "\($0.quotedIdentifier) = ?" }.joined(separator: " AND ")
        var found: [MovedRecord] = []
        while try rows.step() {
            func id(_ start: Int) -> ObjectID { ObjectID(table: name, key: (start..<start + count).map { rows.value($0).detached }) }
            guard columns.indices.contains(Int(rows.integer(2 * count))) else { continue }
            let column = columns[Int(rows.integer(2 * count))]
            let row = try RawStatement("SELECT \(column.quotedIdentifier) FROM \(name.quotedIdentifier) WHERE \(condition)", db)
            defer { row.reset() }
            for (index, value) in id(0).key.enumerated() { row.bind(index + 1, value) }
            // A save that was just made may have deleted it.
            guard try row.step() else { continue }
            found.append(
                MovedRecord(
                    record: id(0), column: column, written: rows.value(2 * count + 1).detached, shown: row.value(0).detached, holder: id(count)))
        }
        return found
    }

    /// Returns the time at which a record was first found to be one with another.
    func since(_ key: [RecordValue], _ db: Database) throws -> Date? {
        let condition = keyColumns.indices.map { "a\($0) = ?" }.joined(separator: " AND ")
        let statement = try RawStatement("SELECT min(since) FROM ubiquity_same_\(number) WHERE \(condition)", db)
        defer { statement.reset() }
        for (index, value) in key.enumerated() { statement.bind(index + 1, value) }
        guard try statement.step(), case .real(let bits) = statement.value(0) else { return nil }
        return Date(timeIntervalSince1970: Double(bitPattern: bits))
    }
}
