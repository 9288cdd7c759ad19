import UbiquityStores

/// The rows according to the written rules, computed from all registers at once, slowly and without a database.
struct RelationModel {
    /// Records that are one.
    private struct Entity {
        var table: String
        var key: [RecordValue]
        var values: [String: RecordValue]
        /// The keys of the records.
        var living: [[RecordValue]]
    }

    private let model: LogModel
    /// The key that each key stands for, by table, including dead ones.
    private var meanings: [String: [[RecordValue]: [RecordValue]]] = [:]
    private var entities: [String: [[RecordValue]: Entity]] = [:]
    /// The visible values, by table and key.
    private var shown: [String: [[RecordValue]: [String: RecordValue]]] = [:]

    init(_ model: LogModel) {
        self.model = model
        // Tables that others refer to in their keys come after those.
        for table in model.tables.sorted(by: { !$0.isNamedByOthers && $1.isNamedByOthers }) { compose(table) }
        for (table, all) in entities { shown[table] = all.mapValues(\.values) }
        var isStable = false
        while !isStable {
            isStable = true
            for table in model.tables {
                for (key, entity) in entities[table.name] ?? [:] where shown[table.name]![key] != nil {
                    let values = row(entity, table)
                    shown[table.name]![key] = values
                    if values == nil { isStable = false }
                }
            }
        }
        for table in model.tables { for rule in table.exclusive { exclude(rule, table) } }
    }

    /// Gives another value to all but one of the records with an equal value under a rule.
    private mutating func exclude(_ rule: SimulatedTable.Exclusive, _ table: SimulatedTable) {
        let moved = rule.columns.last!
        let rows = shown[table.name] ?? [:]
        func held(_ values: [String: RecordValue]) -> [RecordValue]? {
            let held = rule.columns.map { values[$0]! }
            return held.contains(.null) ? nil : held
        }
        func stamp(_ key: [RecordValue]) -> (time: Int64, peer: String) {
            rule.columns.map { model.stamp(of: $0, of: entities[table.name]![key]!.living, in: table) }.max { $0 < $1 }!
        }
        let ranked = rows.keys.filter { held(rows[$0]!) != nil }.sorted { one, other in
            let (first, second) = (stamp(one), stamp(other))
            return first == second ? RecordValue.precedes(one, other) : first > second
        }
        var taken: Set<[RecordValue]> = []
        var losers: [[RecordValue]] = []
        for key in ranked where !taken.insert(held(rows[key]!)!).inserted { losers.append(key) }
        let inOrder = losers.enumerated().sorted { one, other in
            let (first, second) = (rows[one.element]![moved]!, rows[other.element]![moved]!)
            return first == second ? one.offset < other.offset : RecordValue.precedes([first], [second])
        }
        for (_, key) in inOrder {
            var values = rows[key]!
            if rule.showsNull {
                values[moved] = .null
            } else {
                while taken.contains(held(values)!) {
                    guard case .integer(let number) = values[moved]! else { break }
                    values[moved] = .integer(number + 1)
                }
                taken.insert(held(values)!)
            }
            shown[table.name]![key] = values
        }
    }

    /// Returns a key with its references as they are visible.
    private func resolved(_ key: [RecordValue], _ table: SimulatedTable) -> [RecordValue] {
        var resolved = key
        for reference in table.references {
            guard let place = table.keys.firstIndex(of: reference.columns[0]) else { continue }
            resolved[place] = meaning([key[place]], in: reference.parent)[0]
        }
        return resolved
    }

    private func meaning(_ key: [RecordValue], in table: String) -> [RecordValue] {
        if let known = meanings[table]?[key] { return known }
        let shape = model.tables.first { $0.name == table }!
        guard shape.isNamedByOthers else { return key }
        let resolved = resolved(key, shape)
        return meanings[table]?.first { self.resolved($0.key, shape) == resolved }?.value ?? key
    }

    private mutating func compose(_ table: SimulatedTable) {
        let lives = model.lives(table.name)
        var classes: [RecordNode: Int] = [:]
        func unite(_ one: RecordNode, _ other: RecordNode) {
            let (first, second) = (classes[one] ?? classes.count, classes[other])
            classes[one] = first
            guard let second, second != first else {
                classes[other] = first
                return
            }
            for (node, number) in classes where number == second { classes[node] = first }
        }
        var byName: [[RecordValue]: RecordNode] = [:]
        for (key, state) in lives {
            let node = RecordNode(key: key, life: state.life)
            if classes[node] == nil { classes[node] = (classes.values.max() ?? -1) + 1 }
            let name = resolved(key, table)
            if let other = byName[name] { unite(other, node) } else { byName[name] = node }
        }
        for fact in model.same[table.name] ?? [] {
            for node in [fact.first, fact.second] where classes[node] == nil { classes[node] = (classes.values.max() ?? -1) + 1 }
            unite(fact.first, fact.second)
        }
        var members: [Int: [[RecordValue]]] = [:]
        for (key, state) in lives { members[classes[RecordNode(key: key, life: state.life)]!, default: []].append(key) }
        for keys in members.values {
            let living = keys.filter { lives[$0]!.isAlive }
            guard let shown = living.map({ resolved($0, table) }).min(by: RecordValue.precedes) else { continue }
            for key in keys { meanings[table.name, default: [:]][key] = shown }
            let values = table.columns.map { ($0, model.value($0, of: living, in: table)) }
            entities[table.name, default: [:]][shown] = Entity(
                table: table.name, key: shown, values: Dictionary(uniqueKeysWithValues: values), living: living)
        }
    }

    /// Returns the visible values of an entity; nil if it is held.
    private func row(_ entity: Entity, _ table: SimulatedTable) -> [String: RecordValue]? {
        var values = entity.values
        func wanted(_ reference: SimulatedTable.Reference) -> [RecordValue]? {
            let key = reference.columns.map { column in table.keys.firstIndex(of: column).map { entity.key[$0] } ?? values[column]! }
            return key.contains(.null) ? nil : key
        }
        for reference in table.references {
            guard let key = wanted(reference) else { continue }
            let meaning = meaning(key, in: reference.parent)
            if shown[reference.parent]?[meaning] != nil {
                for (column, value) in zip(reference.columns, meaning) where values[column] != nil { values[column] = value }
                continue
            }
            switch reference.orphan {
            case .held: return nil
            case .null: for column in reference.columns { values[column] = .null }
            case .standard(let standard):
                guard shown[reference.parent]?[[.text(standard)]] != nil else { return nil }
                values[reference.columns[0]] = .text(standard)
            }
        }
        return values
    }

    /// Returns the rows of a table, quoted as in SQL.
    func rows(_ table: SimulatedTable) -> [String] {
        (shown[table.name] ?? [:]).map { key, values in
            let list = table.columns.map { column in
                if case .text(let bytes) = values[column]! { return "'\(String(decoding: bytes, as: UTF8.self))'" }
                return values[column]!.description
            }
            return "\(table.name)/\(key.map(\.description).joined(separator: ",")): \(list.joined(separator: ", "))"
        }.sorted()
    }

    /// Returns two visible rows that a rule without an index forbids; SQLite enforces the other rules.
    func firstDuplicate() -> String? {
        for table in model.tables {
            for columns in table.unique {
                var seen: Set<[RecordValue]> = []
                for (key, values) in shown[table.name] ?? [:] {
                    let value = columns.map { values[$0]! }
                    if !value.contains(.null), !seen.insert(value).inserted {
                        return "\(table.name)/\(key) is a duplicate by (\(columns.joined(separator: ", ")))"
                    }
                }
            }
        }
        return nil
    }
}
