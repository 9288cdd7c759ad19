internal import StoreFormat

/// Finds the entities of one round: those of the marked records, and those on which their rows depend.
final class EntitySearch {
    let tables: RelatedTables
    private let peers: PeerTable
    private let elections: Elections
    /// The marked records of the round.
    private let marked: Set<RecordName>

    private(set) var entities: [Entity] = []
    /// The index of the entity of each key.
    private(set) var byKey: [RecordName: Int] = [:]
    /// The indexes of entities whose row is not computed yet.
    var unevaluated: [Int] = []

    init(_ tables: RelatedTables, peers: PeerTable, elections: Elections, marked: Set<RecordName>) {
        self.tables = tables
        self.peers = peers
        self.elections = elections
        self.marked = marked
    }

    private var shapes: [TableShape] { tables.shapes }

    /// Finds the entities of the marked records, and of those that refer to them and may now show something else.
    ///
    /// - Parameter order: the tables, each after those to which its keys refer.
    /// - Throws: GRDB's errors, and errors of an election.
    func composeMarked(in order: [Int]) throws {
        var open = marked
        while !open.isEmpty {
            for table in order {
                let names = open.filter { $0.table == table }
                open.subtract(names)
                for name in names { open.formUnion(try compose(name)) }
            }
        }
    }

    /// Finds an entity during evaluation; the records that depend on it are resolved in a later round.
    func composeLate(_ name: RecordName) throws {
        for referring in try compose(name) { try tables[referring.table].markUnresolved(referring.key) }
    }

    /// Returns whether any record of an entity is marked.
    func isMarked(_ entity: Entity) -> Bool { entity.keys.contains { marked.contains(RecordName(table: entity.table, key: $0)) } }

    /// Finds the entity of a key.
    ///
    /// - Parameter name: a record, alive or dead.
    /// - Returns: the records that refer to the entity and may now show something else.
    /// - Throws: GRDB's errors.
    private func compose(_ name: RecordName) throws -> [RecordName] {
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
        try elections.elect(entity, shapes[name.table])
        let index = entities.count
        entities.append(entity)
        unevaluated.append(index)
        for key in keys + [shown] { byKey[RecordName(table: name.table, key: key)] = index }
        return try isNewlyComposed && (keys.count > 1 || tables.mayMeanAnother(name.table)) ? tables.referring(to: entity) : []
    }

    /// Returns the key under which a record would be shown alone, with its references as they are shown.
    private func shownKey(of key: [RecordValue], in table: Int) throws -> [RecordValue] {
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
            guard try tables.mayMeanAnother(name.table) else { return (name.key, [name.key]) }
            try composeLate(name)
        }
        let entity = entities[byKey[name]!]
        return (entity.members.isEmpty ? name.key : entity.shownKey, entity.keys.isEmpty ? [name.key] : entity.keys)
    }
}
