public import GRDB
internal import StoreFormat

/// A small table of keys and values that every store has and syncs, for what an app notes about its store as a whole.
///
/// ```swift
/// try await store.write { db in try StoreMetadata(db).set("2026-02", for: "words.edition") }
/// let edition = try await store.read { db in try StoreMetadata(db).value(String.self, for: "words.edition") }
/// ```
///
/// It is merged as any synced table: of two values written for one key, the later stays, and so it is where one of them is nil. What is written with
/// records in one save arrives with them. A ``PlainCopy`` does not hold it. A store may have nothing else: `SyncedSchema()` declares no table.
public struct StoreMetadata {
    /// The table's name, which observations and import notices give.
    public static let table = "ubiquity_metadata"

    static let statement = "CREATE TABLE IF NOT EXISTS \(table) (key TEXT NOT NULL PRIMARY KEY, value) WITHOUT ROWID"
    static let shape: TableShape = {
        var shape = TableShape(number: 0, name: table, keyColumns: ["key"], columns: ["value"], hasRowid: false)
        shape.untyped = ColumnSet(column: 0)
        shape.writesNulls = true
        return shape
    }()
    /// What our own keys begin with.
    static let ownPrefix = "ubiquity."

    private let db: Database

    /// The metadata in a store file.
    ///
    /// - Parameter db: a connection to the file; setting needs a transaction.
    public init(_ db: Database) { self.db = db }

    /// What stands under a key.
    ///
    /// - Parameters:
    ///   - type: what it is read as.
    ///   - key: the key.
    /// - Returns: the value; nil where there is none.
    /// - Throws: GRDB's errors, also where the value is no such type.
    public func value<Value: DatabaseValueConvertible>(_ type: Value.Type = Value.self, for key: String) throws -> Value? {
        try Value.fetchOne(db, sql: "SELECT value FROM \(Self.table) WHERE key = ? AND value IS NOT NULL", arguments: [key])
    }

    /// Puts a value under a key.
    ///
    /// - Parameters:
    ///   - value: the value; nil takes the key out, unless another device writes it later. The row stays, with NULL: a deleted row would beat every write
    ///     made meanwhile, a later one too.
    ///   - key: any text that does not begin with `ubiquity.`, which is kept for this package.
    /// - Throws: `UbiquitousStoreError` with `unsupported` for such a key; GRDB's errors.
    public func set(_ value: (any DatabaseValueConvertible)?, for key: String) throws {
        guard !key.hasPrefix(Self.ownPrefix) else {
            throw UbiquitousStoreError(.unsupported, "The metadata key “\(key)” begins with “\(Self.ownPrefix)”, which is kept: take another.")
        }
        try db.execute(
            sql: "INSERT INTO \(Self.table) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            arguments: [key, value?.databaseValue ?? .null])
    }

    /// The app's keys, in the order of their bytes.
    public var keys: [String] {
        get throws {
            try String.fetchAll(
                db, sql: "SELECT key FROM \(Self.table) WHERE substr(key, 1, ?) <> ? AND value IS NOT NULL ORDER BY key",
                arguments: [Self.ownPrefix.count, Self.ownPrefix])
        }
    }
}
