package import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// Restores kept changes as ordinary SQL, which the triggers capture.
///
/// They go out as a new save of the present epoch.
struct KeptRestorer {
    let db: Database
    private let tables: [String: KnownTable]
    private var count = (written: 0, deleted: 0)

    init(_ db: Database) throws {
        self.db = db
        tables = Dictionary(uniqueKeysWithValues: try KnownTable.all(db).map { ($0.name, $0) })
    }

    /// Writes the logs of an entry, in their order.
    mutating func restore(_ logs: [LogFile], values: LargeValue.Lookup) throws -> (written: Int, deleted: Int) {
        // A child may come before its parent. SQLite checks foreign keys at the end
        // (sqlite.org/foreignkeys.html#fk_deferred).
        try db.execute(sql: "PRAGMA defer_foreign_keys = 1")
        for log in logs {
            let contents = try LogBody.decode(log)
            for group in contents.groups {
                for rows in group.rows {
                    let table = contents.tables[rows.table]
                    try rows.forEach(in: table, values: values) { change in try restore(change, table) }
                }
            }
        }
        if let orphan = try OrphanedRecord.first(db, keys: tables.mapValues(\.keyColumns)) {
            throw UbiquitousStoreError(
                .unsupported,
                "The entry cannot be restored, because \(orphan.text). The missing record had been published, and was removed with the content. Insert that record again in the app and then restore, or enter by hand what `ubcontrol kept show` lists. Nothing has been restored."
            )
        }
        return count
    }

    private mutating func restore(_ change: LogBody.Change, _ table: LogBody.Table) throws {
        guard let known = tables[table.name] else { throw refusal(table, "the store has no such synced table") }
        guard known.keyColumns == table.keyColumns else { throw refusal(table, "it has another primary key in the store") }
        let names = change.columns.numbers.map { table.columns[$0] }
        if let missing = names.first(where: { !known.columns.contains($0) }) {
            throw refusal(table, "its column “\(missing)” is unknown in the store")
        }
        let keys = table.keyColumns.map(\.quotedIdentifier)
        let condition = keys.map { "\($0) = ?" }.joined(separator: " AND ")
        let name = table.name.quotedIdentifier
        do {
            if change.life.isMultiple(of: 2) {
                try run("DELETE FROM \(name) WHERE \(condition)", change.key)
                count.deleted += db.changesCount
            } else if try isThere("SELECT 1 FROM \(name) WHERE \(condition)", change.key) {
                let sets = names.map { "\($0.quotedIdentifier) = ?" }.joined(separator: ", ")
                if !names.isEmpty { try run("UPDATE \(name) SET \(sets) WHERE \(condition)", change.values + change.key) }
                count.written += 1
            } else {
                let places = Array(repeating: "?", count: keys.count + names.count).joined(separator: ", ")
                let columns = (keys + names.map(\.quotedIdentifier)).joined(separator: ", ")
                try run("INSERT INTO \(name) (\(columns)) VALUES (\(places))", change.key + change.values)
                count.written += 1
            }
        } catch let error as DatabaseError where error.fault.isContent {
            throw refusal(table, error.message ?? "SQLite refuses it", ObjectID(table: table.name, key: change.key))
        }
    }

    private func run(_ sql: String, _ values: [RecordValue]) throws {
        let statement = try RawStatement(sql, db)
        for (index, value) in values.enumerated() { statement.bind(index + 1, value) }
        try statement.run()
    }

    private func isThere(_ sql: String, _ key: [RecordValue]) throws -> Bool {
        let statement = try RawStatement(sql, db)
        for (index, value) in key.enumerated() { statement.bind(index + 1, value) }
        defer { statement.reset() }
        return try statement.step()
    }

    private func refusal(_ table: LogBody.Table, _ reason: String, _ record: ObjectID? = nil) -> UbiquitousStoreError {
        let subject = record.map { "The record \($0.text)" } ?? "The table “\(table.name)”"
        return UbiquitousStoreError(.unsupported, "\(subject) cannot be restored: \(reason). Nothing has been restored.")
    }
}

extension KeptLogs {
    /// Restores the changes of an entry into its store, all or none.
    ///
    /// They go out with the app's next exchange.
    ///
    /// A living record is inserted, or its changed columns are written again. A deleted record is deleted.
    ///
    /// - Parameters:
    ///   - id: the name of the entry.
    ///   - path: the store. Nil means the path that the entry names.
    ///   - time: the time to note in the entry.
    ///   - isRehearsal: whether everything is rolled back, to see the result only.
    /// - Returns: the numbers of written and deleted records.
    /// - Throws: `UbiquitousStoreError`. Nothing has been written then.
    package func restore(_ id: String, into path: FilePath?, time: Date = Date(), isRehearsal: Bool = false) throws -> (written: Int, deleted: Int) {
        guard let entry = try entry(id).entry else {
            throw UbiquitousStoreError(.malformed, "The description of “\(id)” is damaged or of a newer version; see `ubcontrol kept show`.")
        }
        let logs = try logs(of: entry.id).map { log in
            do {
                return try log.content.get()
            } catch {
                throw UbiquitousStoreError(
                    .malformed,
                    "The kept log \(log.name) cannot be used: \(error) To restore the others without it, move it out of the directory.")
            }
        }
        let store = try InspectedStore(path ?? FilePath(entry.store), readOnly: false)
        let count = try store.write(isRehearsal: isRehearsal) { db in
            let state = try StoreState.read(db)
            guard (state.account, state.container, state.content) == (entry.account, entry.container, entry.content) else {
                throw UbiquitousStoreError(
                    .foreignStore,
                    "\(store.file) is a store of \(state.account), \(state.container), “\(state.content)”, and the entry belongs to \(entry.account), \(entry.container), “\(entry.content)”.",
                    path: store.file)
            }
            var restorer = try KeptRestorer(db)
            return try restorer.restore(logs) { try value($0, of: entry.id) }
        }
        if !isRehearsal { try noteRestored(entry, at: time) }
        return count
    }
}
