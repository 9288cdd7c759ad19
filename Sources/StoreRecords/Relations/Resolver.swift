internal import GRDB
internal import StoreFormat

/// Finds out what is to be shown of records that relate to others, and shows it, in the transaction that it is called in.
///
/// The rows are a function of the registers and the same-as facts (DESIGN §5):
/// records that are one by a fact, or by keys that refer to records that are one, make one entity, which is shown under its smallest living
/// key with its columns joined by stamp; a reference to a record that is shown under another key is shown as that; and an entity whose parent
/// is not shown shows NULL or the default instead, or is held; and where two hold what only one can hold, one of them shows another value. Of entities that refer to each other in a circle all are shown: of all ways to
/// hold some that leave no reference dangling it is the one that holds the fewest.
///
/// It computes only what may have changed: the records that are marked, those that are one with them, and those that refer to these. Foreign
/// keys must be off in the connection, for no order of single rows need be valid.
final class Resolver {
    let tables: RelatedTables
    let shapes: [TableShape]
    let peers: PeerTable
    let elections: [String: SyncedTable.Election]
    let choices: [String: [String: SyncedTable.Exclusive.Choice]]
    let now: Double
    private let order: [Int]
    /// For each table, the references to it.
    let references: [[(child: Int, key: ForeignKey)]]

    var entities: [Entity] = []
    /// Which entity a key means.
    var byKey: [RecordName: Int] = [:]
    /// For each record that entities have looked for as their parent, those entities.
    var dependents: [RecordName: Set<Int>] = [:]
    /// Entities whose row is still to be found out.
    var unevaluated: [Int] = []
    /// The records of this round that something has happened to.
    private(set) var marked: Set<RecordName> = []
    /// What the transaction has shown and no longer shows.
    var notice: ImportNotice
    /// The facts that were found, and what elections set: for a log.
    private(set) var facts: [(table: Int, fact: SameAs)] = []
    var elected: [(table: Int, registers: Registers, columns: ColumnSet)] = []
    /// Rows that the schema has refused, with the reason: an entity that refers to itself, in whichever way, is looked at again once it is not shown.
    var refused: [RecordName: [[RecordValue]: String]] = [:]
    /// By table, the rows that showed another value than was written before the round.
    var formerlyMoved: [Int: Set<MovedRow>] = [:]
    /// Records for which an election is to be held.
    var contested: Set<RecordName> = []
    /// Gives elections their stamp.
    private let stamp: Stamp
    /// Whether records that are found to be equal become one; else they are looked at again by the next resolver.
    let unites: Bool
    /// Records that have been found to be equal, where they do not become one yet.
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

    /// How many records are looked at together.
    private static let batch = 5000

    /// Resolves the records that are marked; those that are postponed are marked afterwards.
    ///
    /// - Parameter batches: how many full batches are resolved at most: the facts that are found stay in memory until the transaction ends.
    /// - Returns: whether no record is marked any more.
    /// - Throws: GRDB's errors, and what an election throws.
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
            // Each round makes fewer entities of them.
            while !marked.isEmpty { marked = try resolve(marked) }
        }
        return false
    }

    /// One round; returns the records that have been found to be one, for the next.
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

    /// Enters that two records are one, and lets the app choose.
    func unite(_ table: Int, _ one: RecordNode, _ other: RecordNode) throws -> [RecordName] {
        let fact = SameAs(one, other)
        if try tables[table].enter(fact, since: now) { facts.append((table, fact)) }
        let names = [one, other].map { RecordName(table: table, key: $0.key) }
        if elections[shapes[table].name] != nil { contested.insert(names[0]) }
        return names
    }
}

// MARK: Which records are one

extension Resolver {
    /// Finds the entity that a key means.
    ///
    /// - Parameter name: a record, alive or not.
    /// - Returns: records that refer to it and may have to be shown otherwise for what it is made of.
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
            // A life that has passed still says who is one with whom.
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
        // One that died may have been alone until now, or with one that has gone on to another life since.
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

    /// The records that refer to an entity, by any of its keys, or to one whose key refers to it.
    func referring(to entity: Entity) throws -> [RecordName] {
        try tables.mentions[entity.table].flatMap { child, key in
            let table = try tables[child]
            return try (table.rows(referringTo: entity.keys, by: key) + asides(of: child, referringTo: entity.keys, by: key)).map {
                RecordName(table: child, key: $0)
            }
        }
    }

    /// The records aside that refer to one of some keys, by what they were written with or by what those that are one with them were.
    ///
    /// A reference of several columns that is joined of several records may be none of theirs.
    func asides(of child: Int, referringTo keys: [[RecordValue]], by reference: ForeignKey) throws -> [[RecordValue]] {
        guard reference.columns.count > 1, try mayMeanAnother(child) else { return try tables[child].asides(referringTo: keys, by: reference) }
        return try tables[child].asides()
    }

    /// The key under which a record would be shown if it were alone: references in it are those that are shown.
    func shownKey(of key: [RecordValue], in table: Int) throws -> [RecordValue] {
        var shown = key
        for reference in shapes[table].foreignKeys where reference.isInKey {
            let parent = reference.reference(key: key, values: [])!
            reference.set(try meaning(of: RecordName(table: reference.parent, key: parent)).shownKey, inKey: &shown)
        }
        return shown
    }

    /// Other keys that mean the same as one, since they refer to records that are one.
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

    /// What a key of a parent means: the key under which that is shown, and all its keys.
    private func meaning(of name: RecordName) throws -> (shownKey: [RecordValue], keys: [[RecordValue]]) {
        if byKey[name] == nil {
            guard try mayMeanAnother(name.table) else { return (name.key, [name.key]) }
            for referring in try compose(name) { try tables[referring.table].markUnresolved(referring.key) }
        }
        let entity = entities[byKey[name]!]
        return (entity.members.isEmpty ? name.key : entity.shownKey, entity.keys.isEmpty ? [name.key] : entity.keys)
    }

    /// Whether keys of a table may mean other records than those that they name.
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
                throw UbiquitousStoreError(.invalidSchema, "The election of “\(shape.name)” sets “\(name)”, which is no column of it that syncs.")
            }
            columns.insert(ColumnSet(column: column))
            values[column] = RecordValue(value.databaseValue)
        }
        guard !columns.isEmpty else { return }
        // What is written with them as one value.
        for column in shape.rules.completed(columns).subtracting(columns).numbers { values[column] = entity.joined.values[column] }
        columns = shape.rules.completed(columns)
        // All elections of a round have one stamp: what an earlier one set, of fewer records, must not stand beside this.
        let before = entity.members.indices.filter { index in columns.numbers.contains { entity.members[index].clock.stamp(of: $0) == stamp } }
        for index in before.isEmpty ? [0] : before {
            for column in columns.numbers { entity.members[index].values[column] = values[column]! }
            entity.members[index].clock.set(columns, to: stamp)
            var written = columns
            // Seldom, and then all that was elected is looked through.
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
