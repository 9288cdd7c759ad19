package import GRDB
internal import StoreFormat

/// The result of an import.
public struct RecordImport: Sendable, Hashable, Codable {
    /// The numbers of imported records of a table.
    public struct Count: Sendable, Hashable, Codable {
        /// The number of records that did not exist.
        public var inserted = 0
        /// The number of records that changed.
        public var updated = 0
        /// The number of records that already had the supplied values.
        public var unchanged = 0
    }

    /// The counts by table.
    public var tables: [String: Count] = [:]
}

extension RecordInput {
    /// The default limit for the size of a line or row, in bytes.
    package static let longestRecord = 256 << 20
}

extension InspectedStore {
    /// Writes all records as one save that is made now, or none; the app publishes the save with its next exchange.
    ///
    /// A record whose key exists gets the supplied columns that differ; other records are inserted. The import is one
    /// transaction: a process that is killed has written either everything or nothing.
    ///
    /// - Parameters:
    ///   - inputs: the inputs, read in this order; a later record with an equal key overwrites an earlier one.
    ///   - isRehearsal: whether everything is rolled back at the end.
    ///   - limit: the maximum size of a line or row in bytes; a longer one throws.
    ///   - progress: called with the number of records, once every thousand records.
    /// - Returns: the numbers of records that were written, or would be.
    /// - Throws: `UbiquitousStoreError` with the file and the line; nothing is written then.
    package func importRecords(
        from inputs: [RecordInput], isRehearsal: Bool = false, limit: Int = RecordInput.longestRecord, progress: ((Int) -> Void)? = nil
    ) throws -> RecordImport {
        try write { db in try RecordImport(of: inputs, isRehearsal: isRehearsal, limit: limit, progress: progress, db) }
    }
}

extension RecordImport {
    /// Writes all records in a transaction, or none.
    ///
    /// - Parameters:
    ///   - inputs: the inputs.
    ///   - isRehearsal: whether everything is rolled back at the end.
    ///   - limit: the maximum size of a line or row in bytes.
    ///   - progress: called with the number of records, once every thousand records; an error that it throws ends the
    ///     import.
    ///   - db: the store, in a transaction whose changes are captured.
    /// - Throws: `UbiquitousStoreError` with the file and the line, and the error of `progress`; nothing is written then.
    package init(
        of inputs: [RecordInput], isRehearsal: Bool, limit: Int = RecordInput.longestRecord, progress: ((Int) throws -> Void)?, _ db: Database
    ) throws {
        let tables = Dictionary(uniqueKeysWithValues: try RecordTable.all(db).map { ($0.name, $0) })
        var importer = RecordImporter(db, tables)
        // A child may come before its parent.
        try db.execute(sql: "PRAGMA defer_foreign_keys = 1")
        var count = 0
        try db.inSavepoint {
            let readers = inputs.map { RecordReader(input: $0, tables: tables, limit: limit) }
            for reader in readers {
                try reader.forEach { record in
                    try importer.write(record)
                    count += 1
                    if count.isMultiple(of: 1000) { try progress?(count) }
                }
            }
            Waypoint.recordsWritten.pass()
            if let orphan = try OrphanedRecord.first(db, keys: tables.mapValues(\.keyColumns)) { throw try orphan.refusal(among: readers) }
            return isRehearsal ? .rollback : .commit
        }
        self = importer.result
    }
}

/// Writes records with ordinary SQL, which the triggers capture.
private struct RecordImporter {
    /// The statements for records with equal columns of one table.
    private final class Plan {
        let table: RecordTable
        /// The indexes of the key's values in a record, in the key's order.
        let key: [Int]
        /// The indexes of the other values.
        let others: [Int]
        let find: RawStatement
        let insert: RawStatement
        var updates: [[Int]: RawStatement] = [:]

        init(_ table: RecordTable, _ columns: [String], _ db: Database) throws {
            try table.check(columns)
            self.table = table
            key = table.keyColumns.map { columns.firstIndex(of: $0)! }
            others = columns.indices.filter { !table.keyColumns.contains(columns[$0]) }
            let found = others.isEmpty ? "1" : others.map { columns[$0].quotedIdentifier }.joined(separator: ", ")
            find = try RawStatement("SELECT \(found) FROM \(table.quotedName) WHERE \(table.keyCondition)", db, isCached: false)
            let names = columns.map(\.quotedIdentifier).joined(separator: ", ")
            let places = columns.map { _ in "?" }.joined(separator: ", ")
            insert = try RawStatement("INSERT INTO \(table.quotedName) (\(names)) VALUES (\(places))", db, isCached: false)
        }
    }

    private struct Columns: Hashable {
        var table: String
        var columns: [String]
    }

    /// Limits the prepared statements: each line of a hostile file can have different columns and change different
    /// ones.
    private static let statementLimit = 400

    private let db: Database
    private let tables: [String: RecordTable]
    private var plans: [Columns: Plan] = [:]
    private var statements = 0
    private(set) var result = RecordImport()

    init(_ db: Database, _ tables: [String: RecordTable]) {
        self.db = db
        self.tables = tables
    }

    mutating func write(_ record: SuppliedRecord) throws {
        guard let table = tables[record.table] else { throw RecordTable.unknown(record.table, among: tables, remedy: "name one of these") }
        let plan = try plan(table, record.columns)
        let key = plan.key.map { record.values[$0] }
        if let index = key.firstIndex(of: .null) { throw RecordFault("the column “\(table.keyColumns[index])” of the key is NULL: give it a value.") }
        var count = result.tables[table.name] ?? RecordImport.Count()
        do {
            if let before = try values(key, plan) {
                let changed = plan.others.indices.filter { before[$0] != record.values[plan.others[$0]] }
                if !changed.isEmpty { try update(record, changed.map { plan.others[$0] }, key, plan) }
                // The column's type, or its policy, can turn the supplied value back into the old one.
                if try changed.isEmpty || values(key, plan) == before { count.unchanged += 1 } else { count.updated += 1 }
            } else {
                for (index, value) in record.values.enumerated() { plan.insert.bind(index + 1, value) }
                try plan.insert.run()
                guard db.changesCount > 0 else { throw refusal(table, key, "a trigger of the app skips it. Leave it out") }
                count.inserted += 1
            }
        } catch let error as DatabaseError where error.fault.isContent {
            throw refusal(table, key, "\(error.message ?? "SQLite refuses it"). \(Self.remedy(error))")
        }
        result.tables[table.name] = count
    }

    private mutating func plan(_ table: RecordTable, _ columns: [String]) throws -> Plan {
        let key = Columns(table: table.name, columns: columns)
        if let plan = plans[key] { return plan }
        if statements > Self.statementLimit { (plans, statements) = ([:], 0) }
        let plan = try Plan(table, columns, db)
        plans[key] = plan
        statements += 2
        return plan
    }

    /// Returns the record's current values in the supplied columns, or nil if the record does not exist.
    private func values(_ key: [RecordValue], _ plan: Plan) throws -> [RecordValue]? {
        for (index, value) in key.enumerated() { plan.find.bind(index + 1, value) }
        defer { plan.find.reset() }
        return try plan.find.step() ? plan.others.indices.map { plan.find.value($0) } : nil
    }

    private mutating func update(_ record: SuppliedRecord, _ changed: [Int], _ key: [RecordValue], _ plan: Plan) throws {
        let update: RawStatement
        if let known = plan.updates[changed] {
            update = known
        } else {
            if plan.updates.count > Self.statementLimit { plan.updates = [:] }
            let sets = changed.map { "\(record.columns[$0].quotedIdentifier) = ?" }.joined(separator: ", ")
            update = try RawStatement("UPDATE \(plan.table.quotedName) SET \(sets) WHERE \(plan.table.keyCondition)", db, isCached: false)
            plan.updates[changed] = update
            statements += 1
        }
        for (index, value) in (changed.map { record.values[$0] } + key).enumerated() { update.bind(index + 1, value) }
        try update.run()
    }

    private func refusal(_ table: RecordTable, _ key: [RecordValue], _ reason: String) -> RecordFault {
        RecordFault("the record \(ObjectID(table: table.name, key: key).text) cannot be written: \(reason).")
    }

    private static func remedy(_ error: DatabaseError) -> String {
        switch error.fault {
        case .content(.unique), .content(.key):
            "Another record, of the store or of the import, has these values: change one of the two, or leave one out"
        case .content(.absence): "Give the column a value"
        default: "Change what the table does not allow, or leave the record out"
        }
    }
}

extension OrphanedRecord {
    /// Returns an error with the record's file and line; reads all inputs a second time to find them.
    fileprivate func refusal(among readers: [RecordReader]) throws -> UbiquitousStoreError {
        let reason = "\(text): import that too, or change what refers to it."
        for reader in readers.reversed() {
            var line: Int?
            try reader.forEach { supplied in
                guard let record, supplied.table == record.table else { return }
                if reader.tables[supplied.table]?.key(of: supplied) == record.key { line = supplied.line }
            }
            if line != nil { return reader.input.refusal(line, reason) }
        }
        return UbiquitousStoreError(.unsupported, "After the import, \(reason) Nothing has been imported.")
    }
}

extension RecordTable {
    /// Returns the key of a record that has all key columns.
    func key(of record: SuppliedRecord) -> [RecordValue] {
        keyColumns.compactMap { record.columns.firstIndex(of: $0).map { record.values[$0] } }
    }
}
