internal import GRDB
internal import StoreFormat

/// Computes the rows of records that relate to others, and writes them, in the caller's transaction.
///
/// The rows are a function of the registers and the same-as facts:
///
/// - Records that are one by a fact, or because their keys refer to records that are one, make one entity. It is shown
///   under its smallest living key, with its columns joined by stamp.
/// - A reference to a record that is shown under another key is shown with that key.
/// - An entity whose parent is not shown shows NULL or the default instead, or is held.
/// - If two entities hold a value that only one can hold, one of them shows another value.
///
/// Entities that refer to each other in a circle are all shown: of all choices of held entities that leave no reference
/// dangling, the smallest applies.
///
/// The resolver computes only what may have changed: the marked records, those that are one with them, and those that
/// refer to these. Foreign keys must be off in the connection, because single rows need not have a valid order.
final class Resolver {
    let tables: RelatedTables
    let shapes: [TableShape]
    let peers: PeerTable
    let elections: [String: SyncedTable.Election]
    let choices: [String: [String: SyncedTable.Exclusive.Choice]]
    let now: Double
    private let order: [Int]
    /// The references to each table.
    let references: [[(child: Int, key: ForeignKey)]]

    var entities: [Entity] = []
    /// The index of the entity of each key.
    var byKey: [RecordName: Int] = [:]
    /// The entities that have looked up each record as their parent.
    var dependents: [RecordName: Set<Int>] = [:]
    /// The indexes of entities whose row is not computed yet.
    var unevaluated: [Int] = []
    /// The marked records of this round.
    private(set) var marked: Set<RecordName> = []
    /// The notice about the rows that the transaction has changed.
    var notice: ImportNotice
    /// The facts that were found, for a log; below, the columns that elections set.
    private(set) var facts: [(table: Int, fact: SameAs)] = []
    var elected: [(table: Int, registers: Registers, columns: ColumnSet)] = []
    /// The rows that the schema has refused, with the reason.
    ///
    /// An entity that refers to itself, directly or not, is evaluated again after it is held.
    var refused: [RecordName: [[RecordValue]: String]] = [:]
    /// By table, the rows that showed another value than was written before the round.
    var formerlyMoved: [Int: Set<MovedRow>] = [:]
    /// The records for which an election runs.
    var contested: Set<RecordName> = []
    /// The stamp of elections.
    private let stamp: Stamp
    /// Whether records that are found to be equal become one; if not, the next resolver examines them again.
    let unites: Bool
    /// The records that are equal to others but do not become one yet.
    var postponed: Set<RecordName> = []

    init(
        _ tables: RelatedTables, peers: PeerTable, elections: [String: SyncedTable.Election], now: Double, stamp: Stamp,
        notice: ImportNotice, choices: [String: [String: SyncedTable.Exclusive.Choice]] = [:], unites: Bool = true
    ) {
        self.choices = choices
        self.unites = unites
        self.tables = tables
        shapes = tables.shapes
        self.peers = peers
        self.elections = elections
        self.now = now
        self.stamp = stamp
        self.notice = notice
        order = RelationOrder(shapes).tables
        references = tables.references
    }

    /// The number of records in a batch.
    private static let batch = 5000

    /// Resolves the marked records, and marks the postponed ones afterwards.
    ///
    /// - Parameter batches: the maximum number of full batches; the facts found stay in memory until the transaction
    ///   ends.
    /// - Returns: whether no record is marked any more.
    /// - Throws: GRDB's errors, and errors of an election.
    func resolve(batches: Int = .max) throws -> Bool {
        let isDone = try resolveMarked(batches)
        for name in postponed { try tables[name.table].markUnresolved(name.key) }
        return isDone && postponed.isEmpty
    }

    private func resolveMarked(_ limit: Int) throws -> Bool {
        var batches = limit
        while batches > 0 {
            var marked: [RecordName] = []
            for table in shapes.indices where marked.count < Self.batch {
                marked += try tables[table].takeUnresolved(Self.batch - marked.count).map { RecordName(table: table, key: $0) }
            }
            guard !marked.isEmpty else { return true }
            if marked.count >= Self.batch { batches -= 1 }
            // Each round leaves fewer entities.
            while !marked.isEmpty { marked = try resolve(marked) }
        }
        return false
    }

    /// Runs one round, and returns the records that were found to be one, for the next round.
    private func resolve(_ marked: [RecordName]) throws -> [RecordName] {
        (entities, byKey, dependents, unevaluated) = ([], [:], [:], [])
        self.marked = Set(marked)
        var open = self.marked
        while !open.isEmpty {
            for table in order {
                let names = open.filter { $0.table == table }
                open.subtract(names)
                for name in names { open.formUnion(try compose(name)) }
            }
        }
        try recall()
        try evaluate()
        try exclude()
        return try show()
    }

    /// Stores a same-as fact about two records, and lists them for an election.
    func unite(_ table: Int, _ one: RecordNode, _ other: RecordNode) throws -> [RecordName] {
        let fact = SameAs(one, other)
        if try tables[table].enter(fact, since: now) { facts.append((table, fact)) }
        let names = [one, other].map { RecordName(table: table, key: $0.key) }
        if elections[shapes[table].name] != nil { contested.insert(names[0]) }
        return names
    }
}

// MARK: Finding entities

extension Resolver {
    /// Finds the entity of a key.
    ///
    /// - Parameter name: a record, alive or dead.
    /// - Returns: the records that refer to the entity and may now show something else.
    /// - Throws: GRDB's errors.
    func compose(_ name: RecordName) throws -> [RecordName] {
        guard byKey[name] == nil else { return [] }
        let table = try tables[name.table]
        var members: [Registers] = []
        var keys: [[RecordValue]] = []
        var former: Set<[RecordValue]> = []
        var isNewlyComposed = false
        var seen: Set<RecordNode> = []
        var found: [[RecordValue]: RelatedTable.Found] = [:]
        func find(_ key: [RecordValue]) throws -> RelatedTable.Found {
            if let known = found[key] { return known }
            found[key] = try table.find(key)
            return found[key]!
        }
        var open = [RecordNode(key: name.key, life: try find(name.key).life)]
        while let node = open.popLast() {
            guard seen.insert(node).inserted else { continue }
            open += try table.neighbours(of: node)
            // The facts of an ended life still connect other records.
            let record = try find(node.key)
            guard record.life == node.life else { continue }
            keys.append(node.key)
            for key in try alike(node.key, in: name.table) { open.append(RecordNode(key: key, life: try find(key).life)) }
            guard let registers = record.registers else { continue }
            members.append(registers)
            if let aside = record.aside {
                if aside.state == .shown { former.insert(aside.shown) }
            } else {
                former.insert(node.key)
            }
        }
        let named = try members.map { (key: try shownKey(of: $0.key, in: name.table), registers: $0) }.sorted { left, right in
            if left.key != right.key { return RecordValue.precedes(left.key, right.key) }
            if (left.registers.key == left.key) != (right.registers.key == right.key) { return left.registers.key == left.key }
            return RecordValue.precedes(left.registers.key, right.registers.key)
        }
        members = named.map(\.registers)
        let shown = named.first?.key ?? name.key
        for member in members {
            let before = found[member.key]?.aside
            if before?.shown ?? member.key != shown || before?.state == .pending { isNewlyComposed = true }
        }
        // A dead record may have been alone until now, or one with a record that has since begun another life.
        let living = Set(members.map(\.key))
        if keys.contains(where: { !living.contains($0) && marked.contains(RecordName(table: name.table, key: $0)) }) { isNewlyComposed = true }
        var joined = members.first ?? Registers(key: shown, clock: RecordClock(life: 0, stamp: .least, columns: []), values: [])
        for member in members.dropFirst() { joined.join(member, rules: shapes[name.table].rules, peers: peers) }
        joined.key = shown
        let entity = Entity(
            table: name.table, keys: keys, members: members, shownKey: shown, formerRows: Array(former), joined: joined)
        if keys.contains(where: { contested.remove(RecordName(table: name.table, key: $0)) != nil }) { try elect(entity) }
        let index = entities.count
        entities.append(entity)
        unevaluated.append(index)
        for key in keys + [shown] { byKey[RecordName(table: name.table, key: key)] = index }
        return try isNewlyComposed && (keys.count > 1 || mayMeanAnother(name.table)) ? referring(to: entity) : []
    }

    /// Returns the records that refer to an entity by any of its keys, or to a record whose key refers to it.
    func referring(to entity: Entity) throws -> [RecordName] {
        try tables.mentions[entity.table].flatMap { child, key in
            let table = try tables[child]
            return try (table.rows(referringTo: entity.keys, by: key) + asides(of: child, referringTo: entity.keys, by: key)).map {
                RecordName(table: child, key: $0)
            }
        }
    }

    /// Returns the records aside that refer to any of the keys, by their own values or by those of records one with
    /// them.
    ///
    /// A reference of several columns that is joined from several records can differ from the reference of each of
    /// them.
    func asides(of child: Int, referringTo keys: [[RecordValue]], by reference: ForeignKey) throws -> [[RecordValue]] {
        guard reference.columns.count > 1, try mayMeanAnother(child) else { return try tables[child].asides(referringTo: keys, by: reference) }
        return try tables[child].asides()
    }

    /// Returns the key under which a record would be shown alone, with its references as they are shown.
    func shownKey(of key: [RecordValue], in table: Int) throws -> [RecordValue] {
        var shown = key
        for reference in shapes[table].foreignKeys where reference.isInKey {
            let parent = reference.reference(key: key, values: [])!
            reference.set(try meaning(of: RecordName(table: reference.parent, key: parent)).shownKey, inKey: &shown)
        }
        return shown
    }

    /// Returns other keys that are equivalent to a key, because they refer to records that are one.
    private func alike(_ key: [RecordValue], in table: Int) throws -> [[RecordValue]] {
        var keys = [key]
        for reference in shapes[table].foreignKeys where reference.isInKey {
            let parent = reference.reference(key: key, values: [])!
            let others = try meaning(of: RecordName(table: reference.parent, key: parent)).keys
            keys = keys.flatMap { key in
                others.map { other in
                    var alike = key
                    reference.set(other, inKey: &alike)
                    return alike
                }
            }
        }
        return keys.filter { $0 != key }
    }

    /// Returns the key under which the entity of a parent's key is shown, and all its keys.
    private func meaning(of name: RecordName) throws -> (shownKey: [RecordValue], keys: [[RecordValue]]) {
        if byKey[name] == nil {
            guard try mayMeanAnother(name.table) else { return (name.key, [name.key]) }
            for referring in try compose(name) { try tables[referring.table].markUnresolved(referring.key) }
        }
        let entity = entities[byKey[name]!]
        return (entity.members.isEmpty ? name.key : entity.shownKey, entity.keys.isEmpty ? [name.key] : entity.keys)
    }

    /// Returns whether keys of a table can mean other records than those that they name.
    func mayMeanAnother(_ table: Int) throws -> Bool {
        let own = try tables[table]
        return try own.hasAsides || own.hasFacts || shapes[table].foreignKeys.contains { try $0.isInKey && mayMeanAnother($0.parent) }
    }

    /// Lets the app set columns of records that have become one.
    private func elect(_ entity: Entity) throws {
        let shape = shapes[entity.table]
        guard entity.members.count > 1, let election = elections[shape.name] else { return }
        let rows = entity.members.map { member in
            Row(
                Dictionary(
                    uniqueKeysWithValues: zip(shape.keyColumns + shape.columns, member.key + member.values).map { ($0, $1.databaseValue) }))
        }
        var columns: ColumnSet = []
        var values: [Int: RecordValue] = [:]
        for (name, value) in try election(rows) {
            guard let column = shape.columns.firstIndex(of: name) else {
                throw UbiquitousStoreError(.invalidSchema, "The election of “\(shape.name)” sets “\(name)”, which is not a synced column of it.")
            }
            columns.insert(ColumnSet(column: column))
            values[column] = RecordValue(value.databaseValue)
        }
        guard !columns.isEmpty else { return }
        // The other columns of a group are written with them, as one value.
        for column in shape.rules.completed(columns).subtracting(columns).numbers { values[column] = entity.joined.values[column] }
        columns = shape.rules.completed(columns)
        // All elections of a round share one stamp. A column that an earlier election set, for fewer records, must be
        // replaced.
        let before = entity.members.indices.filter { index in columns.numbers.contains { entity.members[index].clock.stamp(of: $0) == stamp } }
        for index in before.isEmpty ? [0] : before {
            for column in columns.numbers { entity.members[index].values[column] = values[column]! }
            entity.members[index].clock.set(columns, to: stamp)
            var written = columns
            // This is rare, so a search through all elected columns is acceptable.
            if !before.isEmpty {
                let key = entity.members[index].key
                elected.removeAll { earlier in
                    guard earlier.table == entity.table, earlier.registers.key == key else { return false }
                    written.formUnion(earlier.columns)
                    return true
                }
            }
            elected.append((entity.table, entity.members[index], written))
        }
        var joined = entity.members[0]
        for member in entity.members.dropFirst() { joined.join(member, rules: shape.rules, peers: peers) }
        joined.key = entity.shownKey
        entity.joined = joined
        entity.outcome = .shown(joined.values)
    }
}
