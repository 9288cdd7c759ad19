internal import GRDB
internal import StoreFormat

/// Inserts seeded records into one table, in the transaction of an import.
///
/// It skips records that are alive in this store or have died in it.
final class SeedTable {
    private let shape: TableShape
    private let db: Database
    private let clocks: ClockTable
    private let find: RawStatement
    private let delete: RawStatement
    /// The log that receives each row; nil if the store is not attached yet and adopts its rows once it is.
    private(set) var log: TableSealer?
    /// The keys of deleted rows, if the deletions are captured but not sealed.
    private let gone: Set<[RecordValue]>
    /// The next rowid that is unused in the capture table too; nil if SQLite may choose.
    private var nextRowid: Int64?
    private var columns: [String] = []
    private var insert: RawStatement?
    /// Computes the stored types of a row that cannot be inserted.
    private var storedValues: StoredValues?
    private(set) var count = 0

    init(_ shape: TableShape, log: TableSealer?, _ db: Database) throws {
        self.shape = shape
        self.db = db
        self.log = log
        clocks = try ClockTable(shape: shape, db)
        let name = shape.name.quotedIdentifier
        let keys = shape.keyColumns.map(\.quotedIdentifier)
        let condition = shape.keyCondition { _, _ in "?" }
        find = try RawStatement("SELECT \(((shape.hasRowid ? ["rowid"] : []) + keys).joined(separator: ", ")) FROM \(name) WHERE \(condition)", db)
        delete = try RawStatement("DELETE FROM \(name) WHERE \(shape.placeCondition)", db)
        gone = try log == nil ? Self.gone(shape, db) : []
        if log == nil, shape.hasRowid, !shape.isRowidKey {
            let last = "max(coalesce((SELECT max(rowid) FROM \(name)), 0), coalesce((SELECT max(rid) FROM \(shape.captureTable)), 0))"
            nextRowid = try Int64.fetchOne(db, sql: "SELECT \(last)")! + 1
        }
    }

    /// Returns captured keys of rows that were deleted, or that REPLACE may have deleted.
    ///
    /// If such a row still exists, it is found by its key.
    private static func gone(_ shape: TableShape, _ db: Database) throws -> Set<[RecordValue]> {
        let operations = [CaptureTriggers.Operation.challenged, .deleted].map { "\($0.rawValue)" }.joined(separator: ", ")
        let notes = try RawStatement("SELECT \(shape.ownKeyColumns) FROM \(shape.captureTable) WHERE operation IN (\(operations))", db)
        defer { notes.reset() }
        var keys: Set<[RecordValue]> = []
        while try notes.step() { keys.insert(shape.keyColumns.indices.map { notes.value($0) }) }
        return keys
    }

    /// Inserts a record, and returns whether it was neither present nor dead.
    ///
    /// - Parameters:
    ///   - row: the record.
    ///   - changes: receives the insertion of the row.
    /// - Returns: whether the record is new.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    func take(_ row: SeedBatch.Row, _ changes: inout RecordChanges) throws -> Bool {
        if insert == nil || columns != row.columns { try prepare(row.columns) }
        let given = try key(of: row)
        let isInserted = try insert(row)
        guard let (key, place) = try find(given) else { return try park(stored(row)) }
        guard isInserted else { return false }
        guard try isNew(key) else {
            place.bind(to: delete)
            try delete.run()
            return false
        }
        count += 1
        changes.add(.insert, ObjectID(table: shape.name, key: key.map(\.detached)))
        try log?.adopt(place, isWhole: true, columns: [])
        return true
    }

    /// Returns the stored key of a row, whose type can change with a column's affinity, and the row's place.
    private func find(_ given: [RecordValue]) throws -> (key: [RecordValue], place: Place)? {
        for (index, value) in given.enumerated() { find.bind(index + 1, value) }
        defer { find.reset() }
        guard try find.step() else { return nil }
        let key = shape.keyColumns.indices.map { find.value((shape.hasRowid ? 1 : 0) + $0) }
        return (key, shape.hasRowid ? .rowid(find.integer(0)) : .key(key))
    }

    /// Returns whether a key is new: neither dead, nor that of a living record that is not shown under it.
    private func isNew(_ key: [RecordValue]) throws -> Bool {
        try clocks.death(key) == 0 && !gone.contains(key) && log?.table?.aside(key) == nil
    }

    /// Keeps a record aside whose row collides with another by a uniqueness rule, until the two are resolved as one.
    ///
    /// References to it then mean the other row. A store that is not attached yet skips the record.
    private func park(_ row: SeedBatch.Row) throws -> Bool {
        let key = try key(of: row)
        guard let table = log?.table, try isNew(key) else { return false }
        let values = shape.columns.enumerated().map { number, name in
            row.columns.firstIndex(of: name).map { row.values[$0] } ?? shape.defaults[number]
        }
        var written: ColumnSet = []
        for (number, value) in values.enumerated() where shape.isSaid(value, of: number) { written.insert(ColumnSet(column: number)) }
        written = shape.rules.completed(written)
        let registers = Registers(
            key: key, clock: RecordClock(life: 1, stamp: .least, columns: written), values: values, local: shape.localDefaults)
        try table.put(AsideRecord(registers: registers, shown: key, state: .pending))
        try table.markUnresolved(key)
        try log?.emit(registers, written)
        count += 1
        return true
    }

    /// Returns a row as the table would store it.
    private func stored(_ row: SeedBatch.Row) throws -> SeedBatch.Row {
        if storedValues == nil { storedValues = try StoredValues(shape, columns, db) }
        var stored = row
        stored.values = try storedValues!.stored(row.values)
        return stored
    }

    private func prepare(_ names: [String]) throws {
        for name in names where !shape.keyColumns.contains(name) && !shape.columns.contains(name) {
            throw refusal("it has a column “\(name)”, which “\(shape.name)” does not sync: leave it out")
        }
        columns = names
        storedValues = nil
        let written = (nextRowid == nil ? [] : ["rowid"]) + names.map(\.quotedIdentifier)
        let places = Array(repeating: "?", count: written.count).joined(separator: ", ")
        // A conflicting row is found by its key, or else shares UNIQUE values. NOT NULL and CHECK still throw.
        insert = try RawStatement(
            "INSERT INTO \(shape.name.quotedIdentifier) (\(written.joined(separator: ", "))) VALUES (\(places)) ON CONFLICT DO NOTHING", db)
    }

    private func insert(_ row: SeedBatch.Row) throws -> Bool {
        var index = 1
        if let nextRowid {
            insert!.bind(index, nextRowid)
            index += 1
        }
        for value in row.values {
            insert!.bind(index, value)
            index += 1
        }
        do {
            try insert!.run()
        } catch let error as DatabaseError where error.fault.isContent {
            throw refusal(error.message ?? "a constraint fails")
        }
        guard db.changesCount > 0 else { return false }
        nextRowid? += 1
        return true
    }

    private func key(of row: SeedBatch.Row) throws -> [RecordValue] {
        try shape.keyColumns.map { column in
            // SQLite would choose a value for an INTEGER PRIMARY KEY that is NULL.
            guard let place = row.columns.firstIndex(of: column), row.values[place] != .null else {
                throw refusal("it has no “\(column)”, which is in the key: give it one that is the same on all devices")
            }
            return row.values[place]
        }
    }

    private func refusal(_ reason: String) -> UbiquitousStoreError {
        UbiquitousStoreError(.unsupported, "A record cannot be seeded into “\(shape.name)”: \(reason).")
    }
}
