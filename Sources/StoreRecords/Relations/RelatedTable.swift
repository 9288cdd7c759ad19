package import GRDB
package import StoreFormat

/// A synced table and its records kept aside, in one transaction; it reads and writes by key, and decides nothing.
package final class RelatedTable {
    let shape: TableShape
    package let clocks: ClockTable
    let db: Database
    private let names: RelationTables
    /// Whether any records are kept aside; it can stay true after the last one is gone.
    private(set) var hasAsides: Bool
    /// Whether same-as facts exist.
    private(set) var hasFacts: Bool
    /// Whether rows show another value than was written; it can stay true after the last such row is gone.
    var hasMoved: Bool
    /// The columns that the exclusive rules read.
    private(set) lazy var exclusiveColumns = shape.exclusiveColumns
    /// The exclusive rules.
    private(set) lazy var exclusives = shape.exclusives.compactMap { ExclusiveRule($0, shape, db) }

    package init(_ shape: TableShape, _ db: Database) throws {
        self.shape = shape
        self.db = db
        names = RelationTables(shape: shape)
        clocks = try ClockTable(shape: shape, db)
        let filled = try RawStatement("SELECT EXISTS (SELECT 1 FROM \(shape.asideTable)), EXISTS (SELECT 1 FROM \(shape.sameTable))", db)
        defer { filled.reset() }
        _ = try filled.step()
        (hasAsides, hasFacts) = (filled.integer(0) != 0, filled.integer(1) != 0)
        hasMoved = try !shape.exclusives.isEmpty && Self.isFilled(shape.movedTable, db)
    }

    /// The prepared statements, so that each is built once.
    private enum Query: Hashable {
        case mark, aside, asidesUnder, put, drop, row, hasRow, remove, insert, update(ColumnSet), neighbours, enter
    }

    private var statements: [Query: RawStatement] = [:]

    private func statement(_ query: Query, _ sql: @autoclosure () -> String) throws -> RawStatement {
        if let statement = statements[query] { return statement }
        let statement = try RawStatement(sql(), db)
        statements[query] = statement
        return statement
    }

    private static func isFilled(_ table: String, _ db: Database) throws -> Bool {
        let statement = try RawStatement("SELECT 1 FROM \(table) LIMIT 1", db)
        defer { statement.reset() }
        return try statement.step()
    }

    private static func condition(_ letter: String, _ shape: TableShape) -> String {
        shape.keyColumns.indices.map { "\(letter)\($0) = ?" }.joined(separator: " AND ")
    }

    private static func places(_ count: Int) -> String { Array(repeating: "?", count: count).joined(separator: ",") }

    private func bind(_ key: [RecordValue], to statement: RawStatement, from index: Int = 1) {
        for (offset, value) in key.enumerated() { statement.bind(index + offset, value) }
    }

    /// Marks a record, so that it is resolved once everything is written.
    func markUnresolved(_ key: [RecordValue]) throws {
        let mark = try statement(
            .mark, "INSERT OR IGNORE INTO \(shape.unresolvedTable) VALUES (\(Self.places(shape.keyColumns.count)))")
        bind(key, to: mark)
        try mark.run()
    }

    /// Returns some marked records, and removes their marks.
    func takeUnresolved(_ limit: Int) throws -> [[RecordValue]] {
        let statement = try RawStatement("SELECT * FROM \(shape.unresolvedTable) LIMIT \(limit)", db)
        let keys = try self.keys(statement)
        let drop = try RawStatement("DELETE FROM \(shape.unresolvedTable) WHERE \(Self.condition("k", shape))", db)
        for key in keys {
            bind(key, to: drop)
            try drop.run()
        }
        return keys
    }

    private func keys(_ statement: RawStatement) throws -> [[RecordValue]] {
        defer { statement.reset() }
        var keys: [[RecordValue]] = []
        while try statement.step() { keys.append(shape.keyColumns.indices.map { statement.value($0) }) }
        return keys
    }
}

// MARK: Records kept aside

extension RelatedTable {
    func aside(_ key: [RecordValue]) throws -> AsideRecord? {
        guard hasAsides else { return nil }
        let statement = try statement(.aside, "SELECT * FROM \(shape.asideTable) WHERE \(Self.condition("k", shape))")
        bind(key, to: statement)
        defer { statement.reset() }
        return try statement.step() ? record(statement) : nil
    }

    /// Returns the records aside that are shown or held under a key, without pending ones.
    func asides(under key: [RecordValue]) throws -> [AsideRecord] {
        guard hasAsides else { return [] }
        let statement = try statement(.asidesUnder, "SELECT * FROM \(shape.asideTable) WHERE \(Self.condition("s", shape))")
        bind(key, to: statement)
        defer { statement.reset() }
        var records: [AsideRecord] = []
        while try statement.step() { records.append(try record(statement)) }
        return records.filter { $0.state != .pending }
    }

    /// Returns whether the row with a key shows anything else than the registers of the record with that key.
    func isDerived(_ key: [RecordValue]) throws -> Bool { try asides(under: key).contains { $0.state == .shown } }

    private func record(_ row: RawStatement) throws -> AsideRecord {
        let keys = shape.keyColumns.count
        let values = keys + 5
        let local = values + shape.columns.count
        let shown = local + shape.localColumns.count
        func list(_ start: Int, _ count: Int) -> [RecordValue] { (start..<start + count).map { row.value($0) } }
        let key = list(0, keys)
        let clock = try ClockTable.clock(row, from: keys)
        var held: String?
        if case .text(let bytes) = row.value(shown + keys) { held = String(decoding: bytes, as: UTF8.self) }
        return AsideRecord(
            registers: Registers(
                key: key, clock: clock, values: list(values, shape.columns.count), local: list(local, shape.localColumns.count)),
            shown: list(shown, keys), state: .init(held))
    }

    func put(_ record: AsideRecord) throws {
        hasAsides = true
        let registers = record.registers
        let count = 2 * shape.keyColumns.count + 6 + shape.columns.count + shape.localColumns.count
        let putAside = try statement(.put, "INSERT OR REPLACE INTO \(shape.asideTable) VALUES (\(Self.places(count)))")
        bind(registers.key, to: putAside)
        var index = registers.key.count + 1
        ClockTable.bind(registers.clock, to: putAside, from: index)
        index += 5
        for value in registers.values + registers.local + record.shown {
            putAside.bind(index, value)
            index += 1
        }
        putAside.bind(index, record.state.text.map { .text($0) } ?? .null)
        try putAside.run()
    }

    func removeAside(_ key: [RecordValue]) throws {
        guard hasAsides else { return }
        let drop = try statement(.drop, "DELETE FROM \(shape.asideTable) WHERE \(Self.condition("k", shape))")
        bind(key, to: drop)
        try drop.run()
    }
}

// MARK: Rows

extension RelatedTable {
    /// A row in the app's table.
    package struct Row {
        package var place: Place
        package var values: [RecordValue]
        var local: [RecordValue]
    }

    package func row(_ key: [RecordValue]) throws -> Row? {
        let find = try statement(.row, rowQuery)
        bind(key, to: find)
        defer { find.reset() }
        guard try find.step() else { return nil }
        let count = shape.columns.count
        return Row(
            place: shape.hasRowid ? .rowid(find.integer(0)) : .key(key),
            values: (0..<count).map { find.value($0 + 1) }, local: shape.localColumns.indices.map { find.value($0 + count + 1) })
    }

    private var rowQuery: String {
        let place = shape.hasRowid ? "rowid" : shape.keyColumns[0].quotedIdentifier
        let all = ([place] + (shape.columns + shape.localColumns).map(\.quotedIdentifier)).joined(separator: ", ")
        return "SELECT \(all) FROM \(shape.name.quotedIdentifier) WHERE \(shape.keyCondition { _, _ in "?" })"
    }

    func hasRow(_ key: [RecordValue]) throws -> Bool {
        let find = try statement(.hasRow, "SELECT 1 FROM \(shape.name.quotedIdentifier) WHERE \(shape.keyCondition { _, _ in "?" })")
        bind(key, to: find)
        defer { find.reset() }
        return try find.step()
    }

    /// Whether the transaction is still open: a trigger can roll it back (sqlite.org/lang_createtrigger.html#raise).
    var isInsideTransaction: Bool { db.isInsideTransaction }

    /// The stored state of a key.
    package struct Found {
        /// The record's registers, if it is alive.
        package var registers: Registers?
        /// The record, if it is kept aside.
        package var aside: AsideRecord?
        /// The record's current or last life; 0 if it never lived.
        var life: Int64
    }

    package func find(_ key: [RecordValue]) throws -> Found {
        if let aside = try aside(key) { return Found(registers: aside.registers, aside: aside, life: aside.registers.clock.life) }
        if let row = try row(key), try !isDerived(key) {
            let clock = try clocks.clock(at: row.place) ?? RecordClock(life: 1, stamp: .least, columns: [])
            return Found(registers: Registers(key: key, clock: clock, values: row.values, local: row.local), aside: nil, life: clock.life)
        }
        return Found(registers: nil, aside: nil, life: max(0, try clocks.death(key) - 1))
    }

    /// Removes a row and its clock.
    func removeRow(_ row: Row) throws {
        let statement = try statement(.remove, "DELETE FROM \(shape.name.quotedIdentifier) WHERE \(shape.placeCondition)")
        row.place.bind(to: statement)
        try statement.run()
        _ = try clocks.take(row.place)
    }

    /// Inserts a row, or returns the key of the row that collides with it by a uniqueness rule.
    ///
    /// SQLite tells which row that is for any rule: the upsert changes nothing in it (sqlite.org/lang_upsert.html).
    func insertRow(_ registers: Registers, clock: RecordClock) throws -> [RecordValue]? {
        let statement = try statement(.insert, insertion)
        bind(registers.key + registers.values + registers.local, to: statement)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let found = shape.keyColumns.indices.map { statement.value($0) }
        while try statement.step() {}
        statement.reset()
        guard found == registers.key, let row = try row(registers.key) else { return found }
        try clocks.set(clock, at: row.place)
        return nil
    }

    private var insertion: String {
        let names = (shape.keyColumns + shape.columns + shape.localColumns).map(\.quotedIdentifier)
        let key = shape.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
        return """
            INSERT INTO \(shape.name.quotedIdentifier) (\(names.joined(separator: ", "))) VALUES (\(Self.places(names.count)))
            ON CONFLICT DO UPDATE SET \(names[0]) = \(names[0]) RETURNING \(key)
            """
    }

    /// Writes columns of a row, and returns false if a rule of the schema forbids it.
    ///
    /// The caller then tests whether the schema accepts a new row with these values.
    func update(_ row: Row, to values: [RecordValue], _ columns: ColumnSet) throws -> Bool {
        guard !columns.isEmpty else { return true }
        func sets() -> String { columns.numbers.map { "\(shape.columns[$0].quotedIdentifier) = ?" }.joined(separator: ", ") }
        let statement = try statement(.update(columns), "UPDATE \(shape.name.quotedIdentifier) SET \(sets()) WHERE \(shape.placeCondition)")
        var index = 1
        for column in columns.numbers {
            statement.bind(index, values[column])
            index += 1
        }
        row.place.bind(to: statement, from: index)
        do {
            try statement.run()
            return true
        } catch let error as DatabaseError where error.fault.isContent && db.isInsideTransaction {
            return false
        }
    }

    /// Returns the CHECK that a row would break, or nil if it breaks none.
    func fault(_ key: [RecordValue], _ values: [RecordValue]) throws -> String? {
        guard let inspector = try CheckInspector(shape, db) else { return nil }
        // Imports turn the checks off.
        try db.execute(sql: "PRAGMA ignore_check_constraints = 0")
        defer { try? db.execute(sql: "PRAGMA ignore_check_constraints = 1") }
        return try inspector.reason(key + values)
    }

    /// Returns another row that is equal by a rule without an index in SQLite, or nil if none is.
    func partner(of key: [RecordValue]) throws -> [RecordValue]? { try twin(of: key, exclusively: false) }

    /// Returns whether another row holds an equal value by an exclusive rule without an index in SQLite.
    func hasRival(_ key: [RecordValue]) throws -> Bool { try twin(of: key, exclusively: true) != nil }

    private func twin(of key: [RecordValue], exclusively: Bool) throws -> [RecordValue]? {
        for unique in shape.uniques where !unique.isEnforced && (unique.exclusion != nil) == exclusively {
            let table = shape.name.quotedIdentifier
            let same = unique.terms.map { "o.\($0.sql) = r.\($0.sql)" }.joined(separator: " AND ")
            let keys = shape.keyColumns.map { "o.\($0.quotedIdentifier)" }.joined(separator: ", ")
            let own = shape.keyColumns.map { "r.\($0.quotedIdentifier) = ?" }.joined(separator: " AND ")
            let other = shape.keyColumns.map { "o.\($0.quotedIdentifier) = r.\($0.quotedIdentifier)" }.joined(separator: " AND ")
            let statement = try RawStatement(
                "SELECT \(keys) FROM \(table) r JOIN \(table) o ON \(same) WHERE \(own) AND NOT (\(other)) LIMIT 1", db)
            bind(key, to: statement)
            if let found = try self.keys(statement).first { return found }
        }
        return nil
    }
}

// MARK: References and facts

extension RelatedTable {
    private static let keysPerQuery = 100

    /// Returns the keys of the rows that refer to any of the keys.
    func rows(referringTo keys: [[RecordValue]], by foreignKey: ForeignKey) throws -> [[RecordValue]] {
        try select(
            shape.keyColumns.map(\.quotedIdentifier).joined(separator: ", "), from: shape.name.quotedIdentifier, names.columns(of: foreignKey), keys)
    }

    /// Returns the keys of the records aside whose own reference is one of the keys.
    func asides(referringTo keys: [[RecordValue]], by foreignKey: ForeignKey) throws -> [[RecordValue]] {
        guard hasAsides else { return [] }
        return try select(shape.ownKeyColumns, from: shape.asideTable, names.ownColumns(of: foreignKey), keys)
    }

    /// Returns the keys of the records that are kept aside.
    func asides() throws -> [[RecordValue]] {
        try hasAsides ? keys(RawStatement("SELECT \(shape.ownKeyColumns) FROM \(shape.asideTable)", db)) : []
    }

    /// Returns the keys of the held records.
    func held() throws -> [[RecordValue]] {
        try hasAsides ? keys(RawStatement("SELECT \(shape.ownKeyColumns) FROM \(shape.asideTable) WHERE held > ''", db)) : []
    }

    private func select(_ columns: String, from table: String, _ reference: [String], _ keys: [[RecordValue]]) throws -> [[RecordValue]] {
        var found: [[RecordValue]] = []
        for start in stride(from: 0, to: keys.count, by: Self.keysPerQuery) {
            let part = keys[start..<min(start + Self.keysPerQuery, keys.count)]
            let list = Array(repeating: "(\(Self.places(reference.count)))", count: part.count).joined(separator: ",")
            let statement = try RawStatement(
                "SELECT \(columns) FROM \(table) WHERE (\(reference.joined(separator: ", "))) IN (VALUES \(list))", db)
            for (offset, key) in part.enumerated() { bind(key, to: statement, from: offset * reference.count + 1) }
            found += try self.keys(statement)
        }
        return found
    }

    /// Returns the records that are one with a record by a fact.
    func neighbours(of node: RecordNode) throws -> [RecordNode] {
        guard hasFacts else { return [] }
        let statement = try statement(
            .neighbours, "SELECT \(names.list("b")), lb FROM \(shape.sameTable) WHERE \(Self.condition("a", shape)) AND la = ?")
        bind(node.key, to: statement)
        statement.bind(node.key.count + 1, node.life)
        defer { statement.reset() }
        var nodes: [RecordNode] = []
        while try statement.step() {
            nodes.append(RecordNode(key: node.key.indices.map { statement.value($0) }, life: statement.integer(node.key.count)))
        }
        return nodes
    }

    /// Stores a same-as fact, and returns false if it was known.
    func enter(_ fact: SameAs, since: Double) throws -> Bool {
        hasFacts = true
        let count = 2 * shape.keyColumns.count + 3
        let statement = try statement(.enter, "INSERT OR IGNORE INTO \(shape.sameTable) VALUES (\(Self.places(count)))")
        for (one, other) in [(fact.first, fact.second), (fact.second, fact.first)] {
            bind(one.key, to: statement)
            statement.bind(one.key.count + 1, one.life)
            bind(other.key, to: statement, from: one.key.count + 2)
            statement.bind(count - 1, other.life)
            statement.bind(count, .real(since.bitPattern))
            try statement.run()
        }
        return db.changesCount > 0
    }
}
