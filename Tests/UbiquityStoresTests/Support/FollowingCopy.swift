import GRDB
import UbiquityStores

@testable import StoreFormat
@testable import StoreRecords

/// A copy of the rows of some tables that follows a store by its changes alone.
struct FollowingCopy {
    let tables: [String]
    private(set) var rows: [String: [[RecordValue]: [DatabaseValue]]] = [:]
    private(set) var token: ChangeToken?
    /// How often all rows were read.
    private(set) var restarts = 0

    init(of tables: [String]) { self.tables = tables }

    /// Reads the rows of a table, or one of them.
    private static func read(_ table: String, key: [RecordValue]? = nil, _ db: Database) throws -> [[RecordValue]: [DatabaseValue]] {
        let keys = try db.primaryKey(table).columns
        let condition = key == nil ? "" : " WHERE " + keys.map { "\($0.quotedIdentifier) IS ?" }.joined(separator: " AND ")
        let arguments = StatementArguments(key?.map(\.databaseValue) ?? [])
        let found = try Row.fetchAll(db, sql: "SELECT * FROM \(table.quotedIdentifier)\(condition)", arguments: arguments)
        return Dictionary(uniqueKeysWithValues: found.map { row in (keys.map { RecordValue(row[$0] as DatabaseValue) }, Array(row.databaseValues)) })
    }

    /// Reads the store's rows.
    static func content(_ tables: [String], _ db: Database) throws -> [String: [[RecordValue]: [DatabaseValue]]] {
        try tables.reduce(into: [:]) { $0[$1] = try read($1, db) }
    }

    /// Reads the next changes, and then the records that they name; returns whether there are more.
    mutating func advance(_ store: UbiquitousStore, limit: Int?) async throws -> Bool {
        do {
            let changes = try await store.changes(since: token, limit: limit)
            for change in changes.changes where tables.contains(change.table) {
                let (table, record) = (change.table, change.record)
                // Each record is read in a moment of its own, as late as an app may do it.
                let found = try await store.read { db in try Self.read(table, key: record?.key, db) }
                if let record {
                    rows[table, default: [:]][record.key] = found[record.key]
                } else {
                    rows[table] = found
                }
            }
            token = changes.token
            return changes.hasMore
        } catch let error as UbiquitousStoreError where error.code == .tokenExpired {
            restarts += 1
            token = try await store.currentChangeToken
            rows = try await store.read { [tables] db in try Self.content(tables, db) }
            return true
        }
    }

    mutating func catchUp(_ store: UbiquitousStore, limit: Int? = nil) async throws { while try await advance(store, limit: limit) {} }

    /// Returns the tables whose rows differ from the store's.
    func differences(from store: UbiquitousStore) async throws -> [String] {
        let content = try await store.read { [tables] db in try Self.content(tables, db) }
        return tables.filter { rows[$0, default: [:]] != content[$0] }
    }
}
