public import GRDB
internal import StoreFormat

/// A small synced table of keys and values in every store, for an app's notes about its store as a whole.
///
/// ```swift
/// try await store.write { db in try StoreMetadata(db).set("2026-02", for: "words.edition") }
/// let edition = try await store.read { db in try StoreMetadata(db).value(String.self, for: "words.edition") }
/// ```
///
/// It is merged like any synced table: of two values for one key, the later one wins, even if it is nil. Values that
/// one save writes together with records arrive together with them. A ``PlainCopy`` does not contain the table. A store
/// need not have any other table: `SyncedSchema()` declares none. In a store with a scope, the accounts that hold the
/// role ``role`` set values, and all read them.
public struct StoreMetadata {
    /// The table's name, as observations and import notices use it.
    public static let table = "ubiquity_metadata"

    static let statement = "CREATE TABLE IF NOT EXISTS \(table) (key TEXT NOT NULL PRIMARY KEY, value) WITHOUT ROWID"
    /// Returns the shape of the table.
    ///
    /// In a store with a scope, only the holders of ``role`` change it.
    static func shape(hasScope: Bool) -> TableShape {
        var shape = shape
        if hasScope { shape.access = .role(role) }
        return shape
    }

    private static let shape: TableShape = {
        var shape = TableShape(number: 0, name: table, keyColumns: ["key"], columns: ["value"], hasRowid: false)
        shape.untyped = ColumnSet(column: 0)
        shape.writesNulls = true
        return shape
    }()
    /// The role whose holders set values in a store with a scope.
    public static let role = "ubiquity.metadata"
    /// The prefix of the store's own keys.
    static let ownPrefix = "ubiquity."

    private let db: Database

    /// Opens the metadata of a store file.
    ///
    /// - Parameter db: a connection to the file; ``set(_:for:)`` needs a transaction.
    public init(_ db: Database) { self.db = db }

    /// Returns the value of a key.
    ///
    /// - Parameters:
    ///   - type: the type of the value.
    ///   - key: the key.
    /// - Returns: the value; nil if there is none.
    /// - Throws: GRDB's errors, also if the value cannot be converted to the type.
    public func value<Value: DatabaseValueConvertible>(_ type: Value.Type = Value.self, for key: String) throws -> Value? {
        try Value.fetchOne(db, sql: "SELECT value FROM \(Self.table) WHERE key = ? AND value IS NOT NULL", arguments: [key])
    }

    /// Sets the value of a key.
    ///
    /// - Parameters:
    ///   - value: the value; nil removes the key, unless another device sets it later. The row stays, with NULL: a
    ///     deleted row would win over every concurrent write, even over a later one.
    ///   - key: any text that does not begin with `ubiquity.`, which is reserved for this package.
    /// - Throws: `UbiquitousStoreError` with `unsupported` for a reserved key; GRDB's errors.
    public func set(_ value: (any DatabaseValueConvertible)?, for key: String) throws {
        guard !key.hasPrefix(Self.ownPrefix) else {
            throw UbiquitousStoreError(.unsupported, "The metadata key “\(key)” begins with “\(Self.ownPrefix)”, which is reserved: take another.")
        }
        try db.execute(
            sql: "INSERT INTO \(Self.table) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            arguments: [key, value?.databaseValue ?? .null])
    }

    /// The app's keys, sorted by their bytes.
    public var keys: [String] {
        get throws {
            try String.fetchAll(
                db, sql: "SELECT key FROM \(Self.table) WHERE substr(key, 1, ?) <> ? AND value IS NOT NULL ORDER BY key",
                arguments: [Self.ownPrefix.count, Self.ownPrefix])
        }
    }
}
