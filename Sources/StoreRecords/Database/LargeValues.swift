internal import Foundation
package import GRDB
package import StoreFormat

/// The large values of sealed logs, beside the outbox: `ubiquity_value`.
///
/// They are published before the logs, and deleted with the logs that had been sealed by then.
package struct LargeValues {
    static let statement = "CREATE TABLE ubiquity_value (number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL)"

    /// The size above which a value is large, in bytes.
    let limit: Int
    private let db: Database

    init(limit: Int, _ db: Database) {
        self.limit = limit
        self.db = db
    }

    /// Writes a column of a row to a log: the value, or the hash of a large value.
    func write(_ column: Int, of row: RawStatement, to writer: inout WireWriter) throws {
        guard row.size(column) > limit else { return row.write(column, to: &writer) }
        try write(row.value(column), to: &writer)
    }

    /// Writes a value to a log: the value itself, or the hash of a large value.
    package func write(_ value: RecordValue, to writer: inout WireWriter) throws {
        let (bytes, isText) =
            switch value {
            case .text(let bytes): (Array(bytes), true)
            case .blob(let bytes): (Array(bytes), false)
            default: ([UInt8](), false)
            }
        guard bytes.count > limit else { return writer.recordValue(value) }
        let large = LargeValue(isText: isText, length: bytes.count, hash: ContentHash(of: bytes))
        try insert(bytes, large.hash)
        writer.large(large)
    }

    /// Adds the bytes of a large value to those that wait for publishing.
    package func insert(_ bytes: [UInt8], _ hash: ContentHash) throws {
        let insert = try RawStatement("INSERT OR IGNORE INTO ubiquity_value (hash, bytes) VALUES (?,?)", db)
        insert.bind(1, hash.bytes)
        insert.bind(2, bytes)
        try insert.run()
    }

    /// Returns the waiting value that a log names.
    package func value(_ value: LargeValue) throws -> RecordValue {
        guard let bytes = try Self.bytes(value.hash, db) else { throw LogFault.damaged("it names a large value that is not in the store file") }
        return value.value(bytes)
    }

    /// Returns the number of the last waiting value, or 0 if none waits.
    package static func last(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(number) FROM ubiquity_value")) ?? 0
    }

    /// Returns the first waiting value after a number.
    package static func next(after number: Int64, _ db: Database) throws -> (number: Int64, hash: ContentHash, bytes: [UInt8])? {
        let statement = try RawStatement("SELECT number, hash, bytes FROM ubiquity_value WHERE number > ? ORDER BY number LIMIT 1", db)
        statement.bind(1, number)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        guard let hash = ContentHash(bytes: Array(statement.bytes(1))) else {
            throw UbiquitousStoreError(.malformed, "A large value in the store file is damaged.")
        }
        return (statement.integer(0), hash, Array(statement.bytes(2)))
    }

    /// Returns the bytes of the waiting value with a hash, or nil if there is none.
    package static func bytes(_ hash: ContentHash, _ db: Database) throws -> [UInt8]? {
        let statement = try RawStatement("SELECT bytes FROM ubiquity_value WHERE hash = ?", db)
        statement.bind(1, hash.bytes)
        defer { statement.reset() }
        return try statement.step() ? Array(statement.bytes(0)) : nil
    }

    /// Deletes waiting values, which no sealed log names any more.
    package static func remove(_ values: Set<ContentHash>, _ db: Database) throws {
        for hash in values { try db.cachedStatement(sql: "DELETE FROM ubiquity_value WHERE hash = ?").execute(arguments: [Data(hash.bytes)]) }
    }

    /// Deletes the values up to a number, which are in the container.
    package static func clear(through number: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM ubiquity_value WHERE number <= ?").execute(arguments: [number])
    }
}
