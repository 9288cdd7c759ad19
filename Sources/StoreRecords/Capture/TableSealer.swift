internal import GRDB
internal import StoreFormat

/// Gives the changes of one table their stamps, and writes them as rows of a log.
struct TableSealer {
    /// A record that lost its row.
    private struct Former {
        var clock: RecordClock
        var replaced: Bool
        var past: [CaptureFold.Past]
    }

    private let shape: TableShape
    private let stamp: Stamp
    private let db: Database
    private let clocks: ClockTable
    private let row: RawStatement
    /// The tables of the store, and the index of this one.
    ///
    /// Nil if no table relates to another.
    private let related: (tables: RelatedTables, index: Int)?
    /// The sealer of the records aside; nil if no table relates to another.
    private var asides: AsideSealer?
    private var changes: ChangeRows
    /// The changes of rows, for the history.
    private(set) var listed = ChangeRun()

    init(shape: TableShape, stamp: Stamp, values: LargeValues, related tables: RelatedTables?, _ db: Database) throws {
        self.shape = shape
        related = tables.map { tables in (tables, tables.shapes.firstIndex { $0.name == shape.name }!) }
        self.stamp = stamp
        self.db = db
        changes = ChangeRows(values)
        clocks = try related.map { tables, index in try tables[index].clocks } ?? ClockTable(shape: shape, db)
        let columns = (shape.keyColumns + shape.columns).map(\.quotedIdentifier).joined(separator: ", ")
        row = try RawStatement("SELECT \(columns) FROM \(shape.name.quotedIdentifier) WHERE \(shape.placeCondition)", db)
        asides = try related.map { tables, index in
            AsideSealer(try tables[index], shape: shape, stamp: stamp, clocks: clocks, db)
        }
    }

    /// The table with its aside records.
    ///
    /// Nil if no table relates to another.
    var table: RelatedTable? { asides?.table }

    /// The changes that have not been passed on.
    var rows: WireWriter { changes.rows }

    /// The number of changes that have not been passed on.
    var count: Int { changes.count }

    mutating func seal(_ captured: CaptureFold) throws {
        var fold = captured
        for key in fold.vanished { listed.add(.deleted, of: key) }
        for (place, taken) in captured.challenged {
            place.bind(to: row)
            let isThere = try row.step() && shape.keyColumns.indices.allSatisfy { row.value($0) == taken.key[$0] }
            row.reset()
            fold.resolveChallenge(of: place, tookPlace: !isThere)
        }
        var ended: [[RecordValue]: Former] = [:]
        for end in fold.ended {
            let clock = try clocks.take(end.place) ?? RecordClock(life: 1, stamp: .least, columns: [])
            ended[end.key] = Former(clock: clock, replaced: end.replaced, past: end.past)
        }
        // An insertion may take a record away from the row that showed it, so changes of existing rows come first.
        var births: [Place] = []
        for place in fold.order {
            switch fold.take(place) {
            case .born: births.append(place)
            case .changed(let first, let later): try visit(place) { sealer in try sealer.changed(place, first, later) }
            case nil: continue
            }
        }
        for place in births { try visit(place) { sealer in try sealer.born(place, &ended) } }
        for (key, former) in ended {
            listed.add(.deleted, of: key)
            try lost(key, after: former.clock.life)
        }
    }

    /// Lists the current row as changed.
    ///
    /// The key is written as SQLite holds it, which is faster than a Swift value in between.
    private mutating func list(_ kind: ChangeRun.Kind, _ columns: ColumnSet = []) {
        listed.add(kind, columns) { [row, count = shape.keyColumns.count] writer in
            for place in 0..<count { row.write(place, to: &writer) }
        }
    }

    /// Returns the records that a row shows, or none if the row shows exactly its own record's registers.
    private func derivation(of key: [RecordValue]) throws -> [AsideRecord] { try asides?.derivation(of: key) ?? [] }

    /// Calls a closure with a row as the current one, if the row exists.
    private mutating func visit(_ place: Place, _ body: (inout Self) throws -> Void) throws {
        place.bind(to: row)
        defer { row.reset() }
        if try row.step() { try body(&self) }
    }

    /// Ends every record that a lost row showed.
    private mutating func lost(_ key: [RecordValue], after life: Int64) throws {
        let members = try derivation(of: key)
        guard members.isEmpty else {
            for member in members { related?.tables.limit?.end(member.registers.key, in: related!.index) }
            return try asides!.endAll(members, &changes)
        }
        try died(key, life: life + 1)
        try related?.tables.noteEnded(related!.index, RecordNode(key: key, life: life))
    }

    /// Adopts a row without a clock, or the unwritten values of some columns of a row with a clock.
    mutating func adopt(_ place: Place, isWhole: Bool, columns: ColumnSet) throws {
        place.bind(to: row)
        defer { row.reset() }
        guard try row.step() else { return }
        guard let clock = try clocks.clock(at: place) else {
            if isWhole { try begin(place, life: 1) }
            return
        }
        func told(_ clock: RecordClock, _ value: (Int) -> RecordValue) -> ColumnSet {
            let unstamped = columns.numbers.filter { clock.stamp(of: $0) == .least }
            let told = unstamped.reduce(into: ColumnSet()) { told, column in
                if value(column) != shape.unwritten(column) { told.insert(ColumnSet(column: column)) }
            }
            // A group is adopted as a whole, except columns that somebody has written.
            return shape.rules.completed(told).numbers.reduce(into: told) { told, column in
                if clock.stamp(of: column) == .least { told.insert(ColumnSet(column: column)) }
            }
        }
        let members = try derivation(of: key)
        for member in members {
            let columns = told(member.registers.clock) { member.registers.values[$0] }
            if !columns.isEmpty { try emit(member.registers, columns) }
        }
        guard members.isEmpty else { return }
        let columns = told(clock, value)
        if !columns.isEmpty { try emit(life: clock.life, columns: columns) }
    }

    private mutating func born(_ place: Place, _ ended: inout [[RecordValue]: Former]) throws {
        let key = key
        if ended[key] == nil { list(.inserted) }
        if let former = ended.isEmpty ? nil : ended.removeValue(forKey: key) { return try returned(key, place, former) }
        // If the row that showed the record was removed and inserted again in this save, that is a separate insertion.
        let hidden = try asides?.takeHidden(key, &changes) { ended.removeValue(forKey: $0) != nil } ?? 0
        try begin(place, life: max(try clocks.revive(key), hidden) + 1)
    }

    /// Handles a record whose row was removed and exists again.
    private mutating func returned(_ key: [RecordValue], _ place: Place, _ former: Former) throws {
        var changed = try differences(shape.allColumns, former.past)
        // A row without a difference may have had one for a moment, in which somebody has read it.
        list(.updated, changed.isEmpty ? shape.allColumns : changed)
        if former.replaced { changed = try obey(changed, place, former) }
        guard former.replaced || changed.isEmpty else {
            let members = try derivation(of: key)
            guard !members.isEmpty else { return try begin(place, life: former.clock.life + 2) }
            try asides!.endAll(members, &changes)
            return try begin(place, life: try clocks.revive(key) + 1)
        }
        try write(changed, place, former.clock)
    }

    /// Gives the changed columns of an existing row, and their groups, the stamp of this save.
    private mutating func write(_ changed: ColumnSet, _ place: Place, _ former: RecordClock) throws {
        let columns = shape.rules.completed(changed)
        var clock = former
        clock.set(columns, to: stamp)
        try clocks.set(clock, at: place)
        guard !columns.isEmpty else { return }
        let key = key
        let members = try derivation(of: key)
        if let first = members.first(where: { $0.registers.key == key }) ?? members.first {
            return try asides!.write(
                columns, changed: changed, to: first, of: members, value: { [row, shape] in row.value(shape.keyColumns.count + $0) }, &changes)
        }
        try emit(life: clock.life, columns: columns)
        try related?.tables.noteWritten(related!.index, key, columns, value: value)
    }

    private mutating func begin(_ place: Place, life: Int64) throws {
        var columns: ColumnSet = []
        // A NULL in an insertion is an unwritten value, unless it replaces a default or the table writes NULLs.
        for column in shape.columns.indices
        where shape.writesNulls || !row.isNull(shape.keyColumns.count + column) || shape.isSaid(.null, of: column) {
            columns.insert(ColumnSet(column: column))
        }
        columns = shape.rules.completed(columns)
        let life = life % 2 == 0 ? life + 1 : life
        try clocks.set(RecordClock(life: life, stamp: stamp, columns: columns), at: place)
        try emit(life: life, columns: columns)
        guard let related else { return }
        if let owner = shape.ownerPlace, try related.tables.isPlain(related.index) {
            related.tables.limit?.begin(ownedBy: row.value(owner), in: related.index)
        } else {
            try related.tables.noteBegun(related.index, RecordNode(key: key, life: life), value: value)
        }
    }

    /// The key of the current row.
    private var key: [RecordValue] { shape.keyColumns.indices.map { row.value($0) } }

    /// Returns the value of a column of the current row.
    private func value(_ column: Int) -> RecordValue { row.value(shape.keyColumns.count + column) }

    private mutating func changed(_ place: Place, _ first: CaptureFold.Past, _ later: [CaptureFold.Past]) throws {
        let told = later.reduce(first.columns) { $0.union($1.columns) }
        // For a zero, the note does not show whether the sign has changed.
        let zeros = zeros(among: told.intersection(shape.untyped))
        // A column that was changed and changed back counts as unchanged.
        let doubtful = later.isEmpty ? zeros : told
        var columns = doubtful.isEmpty ? told : told.subtracting(doubtful).union(try differences(doubtful, [first] + later))
        list(.updated, columns.isEmpty ? told : columns)
        let clock = try clocks.clock(at: place) ?? RecordClock(life: 1, stamp: .least, columns: [])
        let signed = columns.intersection(zeros)
        if !signed.isEmpty {
            columns = columns.subtracting(signed).union(try obey(signed, place, Former(clock: clock, replaced: false, past: [first] + later)))
        }
        guard !columns.isEmpty else { return }
        try write(columns, place, clock)
    }

    private func zeros(among columns: ColumnSet) -> ColumnSet {
        columns.numbers.reduce(into: []) { zeros, column in
            if case .real(let bits) = value(column), Double(bitPattern: bits).isZero { zeros.insert(ColumnSet(column: column)) }
        }
    }

    /// Passes changes on, with their number, whenever they reach a size in bytes.
    mutating func passOn(from size: Int, to take: @escaping (Int, WireWriter) throws -> Void) { changes.passOn(from: size, to: take) }

    private mutating func died(_ key: [RecordValue], life: Int64) throws {
        try clocks.bury(key, life: life)
        try changes.died(key, life: life)
    }

    /// Writes columns of a record as a change.
    mutating func emit(_ registers: Registers, _ columns: ColumnSet) throws { try changes.emit(registers, columns) }

    /// Writes columns of the current row as a change.
    private mutating func emit(life: Int64, columns: ColumnSet) throws { try changes.emit(row, shape, life: life, columns: columns) }
}

extension TableSealer {
    /// Returns the columns whose values differ from those before the first of the notes.
    private func differences(_ columns: ColumnSet, _ past: [CaptureFold.Past]) throws -> ColumnSet {
        var differing = columns
        var open = columns
        for note in past {
            let told = open.intersection(note.columns)
            guard !told.isEmpty else { continue }
            let before = try values(of: told, in: note)
            for (column, value) in zip(told.numbers, before) where row.value(shape.keyColumns.count + column) == value {
                differing.remove(ColumnSet(column: column))
            }
            open.subtract(told)
        }
        return differing
    }

    private func values(of columns: ColumnSet, in note: CaptureFold.Past) throws -> [RecordValue] {
        let statement = try RawStatement("SELECT \(shape.ownValueColumns) FROM \(shape.captureTable) WHERE id = ?", db)
        defer { statement.reset() }
        statement.bind(1, note.note)
        guard try statement.step() else { throw UbiquitousStoreError(.malformed, "\(shape.captureTable) lost a note while it was being sealed.") }
        return columns.numbers.map { statement.value($0) }
    }

    /// Restores values that a policy does not let a REPLACE change, or the sign of a zero.
    ///
    /// A trigger corrects an UPDATE. REPLACE has no old row for a trigger, and SQL does not see the sign of a zero.
    private mutating func obey(_ changed: ColumnSet, _ place: Place, _ former: Former) throws -> ColumnSet {
        var kept = changed
        for column in changed.numbers {
            let policy = shape.rules.policy(of: column)
            guard policy != .lastWriter else { continue }
            let alone = ColumnSet(column: column)
            let old = try former.past.first { $0.columns.contains(alone) }.map { try values(of: alone, in: $0)[0] }
            let new = row.value(shape.keyColumns.count + column)
            let order = policy.order(stamp, against: former.clock.stamp(of: column), peers: PeerTable(), values: { (new, old ?? .null) })
            guard order == .less, let old else { continue }
            kept.remove(ColumnSet(column: column))
            try putBack(old, column, place, former.clock)
        }
        return kept
    }

    /// Puts a value back into the current row, or only into the registers of its record if a rule of the schema now
    /// forbids it in the row.
    private mutating func putBack(_ value: RecordValue, _ column: Int, _ place: Place, _ clock: RecordClock) throws {
        let key = key
        row.reset()
        try Capture.set(.puttingBack, db)
        let update = try RawStatement(
            "UPDATE \(shape.name.quotedIdentifier) SET \(shape.columns[column].quotedIdentifier) = ? WHERE \(shape.placeCondition)",
            db)
        update.bind(1, value)
        place.bind(to: update, from: 2)
        do {
            try update.run()
        } catch let error as DatabaseError where error.fault.isContent && related != nil && db.isInsideTransaction {
            // For example, another row of this save has the value.
            try asides!.hide(value, column, of: key, clock)
        }
        try Capture.set(.noting, db)
        place.bind(to: row)
        guard try row.step() else { throw UbiquitousStoreError(.malformed, "\(shape.name) lost a row while it was being sealed.") }
    }
}
