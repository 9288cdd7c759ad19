internal import GRDB
internal import GRDBSQLite
internal import StoreFormat

/// Joins changes of one table of one log into the store.
///
/// `RecordJoin` decides the outcome of each change. This type applies it to the row and its clock.
package final class TableImporter {
    let shape: TableShape
    let losing: LosingValues
    /// The number here of each column in the log's list.
    ///
    /// Nil for a dropped column.
    private let columns: [Int?]
    /// Whether the log's columns are the columns here, in this order.
    let isIdentity: Bool
    /// The order of peers, for stamps.
    ///
    /// It grows with the logs of a batch.
    var peers: PeerTable
    private let db: Database
    let clocks: ClockTable
    private let find: RawStatement
    private let insert: RawStatement
    private let delete: RawStatement
    private var updates: [ColumnSet: RawStatement] = [:]
    /// The values of a new row in the columns that a change does not name.
    private let initial: [RecordValue]
    private let onConflict: String
    /// The table with its aside records, and its index.
    ///
    /// Nil if no table relates to another.
    let related: (tables: RelatedTables, table: RelatedTable, index: Int)?
    /// Whether the last change began a record with a new row, as the next one probably does.
    private var expectsNewRows = false
    /// The clock of a record that is joined as a whole.
    var whole: RecordClock?
    /// The keys of rows that were removed with the last record that they showed.
    var removedRows: [[RecordValue]] = []

    /// The largest possible lives of the joined records.
    ///
    /// Nil for saves of this device itself.
    var lives: LifeLimit?

    init(
        _ mapping: LogTableMapping, peers: PeerTable, conflicts: ConflictRecorder, related tables: RelatedTables?, deadRecords: DeadRecords? = nil,
        _ db: Database
    ) throws {
        let shape = mapping.shape
        self.shape = shape
        related = try tables.map { tables in
            let index = tables.shapes.firstIndex { $0.name == shape.name }!
            return (tables, try tables[index], index)
        }
        losing = LosingValues(shape: shape, recorder: conflicts)
        self.peers = peers
        self.db = db
        columns = mapping.columns
        // An author that has a column and does not name it has left it NULL. An author without the column has no say.
        let known = columns.reduce(into: ColumnSet()) { known, column in
            if let column { known.insert(ColumnSet(column: column)) }
        }.subtracting(shape.notNull)
        initial = shape.columns.indices.map { known.contains(ColumnSet(column: $0)) ? .null : shape.unwritten($0) }
        isIdentity = columns == Array(shape.columns.indices)
        clocks = try ClockTable(shape: shape, deadRecords: deadRecords, db)
        let name = shape.name.quotedIdentifier
        let found =
            shape.hasRowid ? ["rowid"] + shape.untypedKeys.map { shape.keyColumns[$0].quotedIdentifier } : shape.keyColumns.map(\.quotedIdentifier)
        let place = found.joined(separator: ", ")
        find = try RawStatement("SELECT \(place) FROM \(name) WHERE \(shape.keyCondition { _, _ in "?" })", db)
        let written = shape.keyColumns + shape.columns
        let places = Array(repeating: "?", count: written.count).joined(separator: ",")
        let names = written.map(\.quotedIdentifier).joined(separator: ", ")
        onConflict = try Self.onConflict(shape.name, db)
        insert = try RawStatement("INSERT\(onConflict) INTO \(name) (\(names)) VALUES (\(places))", db)
        delete = try RawStatement("DELETE FROM \(name) WHERE \(shape.placeCondition)", db)
    }

    private static let failing = " OR FAIL"

    /// Returns ` OR FAIL`, or nothing if the app has triggers on the table.
    ///
    /// With ABORT, a statement with triggers keeps a journal of every page it touches. Changes that FAIL leaves behind
    /// are undone with their log. A conflict policy of a statement overrides those in its triggers
    /// (sqlite.org/lang_createtrigger.html), and the app's triggers must keep theirs.
    static func onConflict(_ table: String, _ db: Database) throws -> String {
        let hasTriggers = try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM (SELECT * FROM main.sqlite_master UNION ALL SELECT * FROM temp.sqlite_master)
                    WHERE type = 'trigger' AND lower(tbl_name) = lower(?) AND name NOT LIKE 'ubiquity\\_%' ESCAPE '\\')
                    """), arguments: [table])!
        return hasTriggers ? "" : failing
    }

    /// Joins a record that begins a life here, with all its stamps.
    ///
    /// - Parameters:
    ///   - change: the life, and a value for every column in the log's list.
    ///   - clock: the stamps.
    /// - Returns: the change to the row.
    /// - Throws: GRDB's errors, and `LogFault`.
    func begin(_ change: inout LogBody.Change, _ clock: RecordClock) throws -> RecordChanges.Kind? {
        whole = isIdentity ? clock : ColumnRenumbering(numbers: columns).renumbered(clock)
        defer { whole = nil }
        return try join(&change, stamp: clock.stamp)
    }

    /// Returns the present or last life of a record here.
    func life(of key: [RecordValue]) throws -> Int64 {
        if let aside = try related?.table.aside(key) { return aside.registers.clock.life }
        if let place = try place(of: key), try related?.table.isDerived(key) != true { return try clocks.clock(at: place)?.life ?? 1 }
        return try clocks.death(key)
    }

    /// Joins one change, after converting it to this store's column numbers.
    ///
    /// - Returns: the change to the record, or nil if nothing changed.
    func join(_ change: inout LogBody.Change, stamp: Stamp) throws -> RecordChanges.Kind? {
        if !isIdentity { renumber(&change, stamp) }
        if let related, let aside = try related.table.aside(change.key) { return try join(change, stamp: stamp, into: aside, related.table) }
        if expectsNewRows, let kind = try beginNew(change, stamp: stamp) { return kind }
        let place = try place(of: change.key)
        expectsNewRows = place == nil
        // A row may show other records than the one with its key.
        if place != nil, let related, try related.table.isDerived(change.key) { return try join(change, stamp: stamp, into: nil, related.table) }
        let local: RecordClock?
        if let place {
            local = try clocks.clock(at: place) ?? RecordClock(life: 1, stamp: .least, columns: [])
        } else {
            local = try dead(change.key)
        }
        let outcome = try outcome(of: change, stamp: stamp, local) { try self.value(of: $0, at: place!) }
        try losing.note(outcome, change, stamp, local) { try self.value(of: $0, at: place!) }
        switch outcome {
        case .superseded: return nil
        case .begins(let first):
            let clock = whole ?? first
            if let place {
                // A new life is a new row.
                try remove(place)
            } else if local != nil {
                _ = try clocks.revive(change.key)
            }
            guard let new = try unlessTaken({ try insert(change) }) else {
                try park(registers(beginning: change, clock))
                return place == nil ? nil : .delete
            }
            try clocks.set(clock, at: new)
            try related?.tables.noteBegun(related!.index, RecordNode(key: change.key, life: clock.life)) { beginning($0, of: change) }
            return place == nil ? .insert : .update(shape.allColumns)
        case .ends(let life):
            if let place {
                try remove(place)
                try related?.tables.noteEnded(related!.index, RecordNode(key: change.key, life: life - 1))
            }
            try clocks.bury(change.key, life: life)
            return place == nil ? nil : .delete
        case .merges(let winning, let clock):
            guard try unlessTaken({ try update(place!, winning, change) }) != nil else {
                try park(merged(change, winning, clock))
                return .delete
            }
            try clocks.set(clock, at: place!)
            // A reference may have been written in part.
            try related?.tables.noteWritten(related!.index, change.key, winning) { try self.value(of: $0, at: place!) }
            return winning.isEmpty ? nil : .update(winning)
        }
    }

    /// Joins a change that begins a record with a new row, without a look for a row first.
    ///
    /// The insert itself finds a row that is there. It writes nothing then, because the table has no triggers of the app,
    /// and SQLite checks all rules of a row before it writes it.
    ///
    /// - Returns: the change to the record, or nil if it is anything else; nothing has changed then.
    private func beginNew(_ change: LogBody.Change, stamp: Stamp) throws -> RecordChanges.Kind? {
        guard onConflict == Self.failing, !change.life.isMultiple(of: 2), try dead(change.key) == nil,
            case .begins(let first) = try outcome(of: change, stamp: stamp, nil, value: { _ in .null })
        else { return nil }
        let new: Place
        do {
            new = try insert(change)
        } catch let error as DatabaseError where error.fault.isContent {
            return nil
        }
        let clock = whole ?? first
        try clocks.set(clock, at: new)
        try related?.tables.noteBegun(related!.index, RecordNode(key: change.key, life: clock.life)) { beginning($0, of: change) }
        return .insert
    }

    /// Returns the clock of a dead record, or nil if it has never lived.
    func dead(_ key: [RecordValue]) throws -> RecordClock? {
        let death = try clocks.death(key)
        return death > 0 ? RecordClock(life: death, stamp: .least, columns: []) : nil
    }

    /// Decides what a change does to a record with a clock.
    func outcome(
        of change: LogBody.Change, stamp: Stamp, _ local: RecordClock?, value: (Int) throws -> RecordValue
    ) throws -> RecordJoin {
        if let lives, !lives.allows(change.life, after: local?.life ?? 0) { throw LifeLimit.fault }
        return try RecordJoin.join(
            life: change.life, columns: change.columns, stamp: stamp, into: local, rules: shape.rules, peers: peers
        ) { column in
            // Only a living record is asked for its values.
            shape.weighed(change.value(of: column), try value(column), of: column, stamp: stamp, against: local?.stamp(of: column))
        }
    }

    private static let changedKey = LogFault.damaged("it holds a key that this store's schema does not keep")

    func remove(_ place: Place) throws {
        place.bind(to: delete)
        try delete.run()
        _ = try clocks.take(place)
    }

    private func place(of key: [RecordValue]) throws -> Place? {
        for (index, value) in key.enumerated() { find.bind(index + 1, value) }
        defer { find.reset() }
        guard try find.step() else { return nil }
        if shape.hasRowid {
            let place = Place.rowid(find.integer(0))
            for (index, number) in shape.untypedKeys.enumerated() where find.value(index + 1) != key[number] { throw Self.changedKey }
            return place
        }
        // The column's affinity may have changed the type. Then clock and row would have different keys.
        guard shape.keyColumns.indices.allSatisfy({ find.value($0) == key[$0] }) else { throw Self.changedKey }
        return .key(key.map(\.detached))
    }

    private func renumber(_ change: inout LogBody.Change, _ stamp: Stamp) {
        var pairs: [(column: Int, value: RecordValue)] = []
        var index = 0
        change.columns.forEach {
            if let column = columns[$0] { pairs.append((column, change.values[index])) }
            index += 1
        }
        if stamp == .least, !shape.rules.groups.isEmpty {
            // When two groups have the least stamp, one stays whole, so each column needs a value.
            let present = pairs.reduce(into: ColumnSet()) { $0.insert(ColumnSet(column: $1.column)) }
            for column in shape.rules.completed(present).subtracting(present).numbers where !columns.contains(column) {
                pairs.append((column, shape.unwritten(column)))
            }
        }
        pairs.sort { $0.column < $1.column }
        change.columns = pairs.reduce(into: ColumnSet()) { $0.insert(ColumnSet(column: $1.column)) }
        change.values = pairs.map(\.value)
    }

    /// Returns the value of a column in a record that begins with a change.
    func beginning(_ column: Int, of change: LogBody.Change) -> RecordValue {
        change.columns.contains(ColumnSet(column: column)) ? change.value(of: column) : initial[column]
    }

    /// Returns whether an unstamped value of a column in the log's list counts for an existing record.
    func isSaid(_ value: RecordValue, ofListed column: Int) -> Bool { columns[column].map { shape.isSaid(value, of: $0) } ?? false }

    func value(of column: Int, at place: Place) throws -> RecordValue {
        let statement = try RawStatement(
            "SELECT \(shape.columns[column].quotedIdentifier) FROM \(shape.name.quotedIdentifier) WHERE \(shape.placeCondition)", db)
        place.bind(to: statement)
        defer { statement.reset() }
        return try statement.step() ? statement.value(0) : .null
    }

    private func insert(_ change: LogBody.Change) throws -> Place {
        var index = 1
        for value in change.key {
            insert.bind(index, value)
            index += 1
        }
        for column in shape.columns.indices {
            insert.bind(index, beginning(column, of: change))
            index += 1
        }
        try insert.run()
        guard shape.hasRowid else {
            guard let place = try place(of: change.key) else { throw Self.changedKey }
            return place
        }
        return .rowid(sqlite3_last_insert_rowid(db.sqliteConnection))
    }

    private func update(_ place: Place, _ written: ColumnSet, _ change: LogBody.Change) throws {
        guard !written.isEmpty else { return }
        let statement = try updates[written] ?? prepareUpdate(of: written)
        var index = 1
        written.forEach {
            statement.bind(index, change.value(of: $0))
            index += 1
        }
        place.bind(to: statement, from: index)
        try statement.run()
    }

    private func prepareUpdate(of written: ColumnSet) throws -> RawStatement {
        var names: [String] = []
        written.forEach { names.append("\(shape.columns[$0].quotedIdentifier) = ?") }
        let statement = try RawStatement(
            "UPDATE\(onConflict) \(shape.name.quotedIdentifier) SET \(names.joined(separator: ", ")) WHERE \(shape.placeCondition)", db)
        updates[written] = statement
        return statement
    }
}
