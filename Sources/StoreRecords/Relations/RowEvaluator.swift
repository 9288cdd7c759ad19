internal import StoreFormat

/// Computes the rows of the entities of one round, without the rules by which only one record can hold a value.
final class RowEvaluator {
    let search: EntitySearch
    private let refused: RefusedRows
    private let overlay: Overlay?
    /// The entities that have looked up each record as their parent.
    private var dependents: [RecordName: Set<Int>] = [:]

    init(_ search: EntitySearch, refused: RefusedRows, overlay: Overlay?) {
        self.search = search
        self.refused = refused
        self.overlay = overlay
    }

    private var tables: RelatedTables { search.tables }

    /// Evaluates again the entities that were held for a parent that may be shown now.
    ///
    /// Held entities that can only be shown together are shown.
    func recall() throws {
        var index = 0
        while index < search.entities.count {
            let entity = search.entities[index]
            index += 1
            // An entity whose parents became one is shown under another key than before.
            guard !entity.members.isEmpty, search.isMarked(entity) || !entity.formerRows.contains(entity.shownKey) else { continue }
            for (child, key) in tables.mentions[entity.table] {
                var waiting = try tables.asides(of: child, referringTo: entity.keys, by: key)
                if case .standard(let standard) = key.orphan, entity.keys.contains(standard) { waiting += try tables[child].held() }
                for record in waiting { try search.composeLate(RecordName(table: child, key: record)) }
            }
        }
    }

    /// Evaluates each entity: first as if all that are alive were shown, then repeatedly without those that lack a
    /// parent.
    func evaluate() throws {
        while !search.unevaluated.isEmpty {
            var gone: [Int] = []
            while let index = search.unevaluated.popLast() {
                if !search.entities[index].members.isEmpty {
                    guard search.entities[index].isShown else { continue }
                    try evaluate(index)
                }
                if !search.entities[index].isShown { gone.append(index) }
            }
            for (table, indices) in Dictionary(grouping: gone, by: { search.entities[$0].table }) {
                search.unevaluated += indices.flatMap { dependents(of: search.entities[$0]) }.filter { search.entities[$0].isShown }
                let keys = indices.flatMap { search.entities[$0].keys }
                for (child, key) in tables.references[table] {
                    for row in try tables[child].rows(referringTo: keys, by: key) {
                        let name = RecordName(table: child, key: row)
                        try search.composeLate(name)
                        search.unevaluated.append(search.byKey[name]!)
                    }
                }
            }
        }
    }

    private func evaluate(_ index: Int) throws {
        let entity = search.entities[index]
        let shape = tables.shapes[entity.table]
        if let reason = try overlay?.reason(entity.table, entity.shownKey) {
            entity.outcome = .held(reason)
            return
        }
        var values = entity.joined.values
        var isStandIn = false
        for reference in shape.foreignKeys {
            guard let wanted = reference.reference(key: entity.shownKey, values: values) else { continue }
            if let found = try shown(RecordName(table: reference.parent, key: wanted), for: index) {
                if found != wanted { reference.set(found, in: &values) }
                continue
            }
            isStandIn = true
            switch reference.orphan {
            case .null: reference.set(wanted.map { _ in .null }, in: &values)
            case .standard(let standard):
                reference.set(standard, in: &values)
                guard !standard.contains(.null) else { continue }
                if try shown(RecordName(table: reference.parent, key: standard), for: index) == standard { continue }
                entity.outcome = .held(reason(reference, wanted))
                return
            case .held:
                entity.outcome = .held(reason(reference, wanted))
                return
            }
        }
        // One column can be part of two references.
        for reference in shape.foreignKeys {
            guard let wanted = reference.reference(key: entity.shownKey, values: values) else { continue }
            if try shown(RecordName(table: reference.parent, key: wanted), for: index) == wanted { continue }
            entity.outcome = .held(reason(reference, wanted))
            return
        }
        // A NULL or default that replaces a reference is shown only if the schema accepts it.
        if isStandIn || shape.holdsBroken, let fault = try tables[entity.table].fault(entity.shownKey, values) {
            entity.outcome = .held(isStandIn ? "\(fault), with NULL or a default in place of its reference" : fault)
            return
        }
        if let reason = refused.reason(entity, values) {
            entity.outcome = .held(reason)
            return
        }
        entity.outcome = .shown(values)
    }

    private func reason(_ reference: ForeignKey, _ wanted: [RecordValue]) -> String {
        "\(ObjectID(table: tables.shapes[reference.parent].name, key: wanted)) is not there"
    }

    /// Returns the key under which a record is shown, or nil if it is not shown.
    private func shown(_ name: RecordName, for dependent: Int) throws -> [RecordValue]? {
        dependents[name, default: []].insert(dependent)
        if search.byKey[name] == nil {
            let table = try tables[name.table]
            let aside = try table.aside(name.key)
            switch aside?.state {
            case .shown: return aside!.shown
            case .held: return nil
            case .pending: try search.composeLate(name)
            case nil:
                if try table.hasRow(name.key) { return name.key }
                guard try tables.mayMeanAnother(name.table) else { return nil }
                try search.composeLate(name)
            }
        }
        let entity = search.entities[search.byKey[name]!]
        return entity.isShown ? entity.shownKey : nil
    }

    /// Returns the entities that have looked up an entity under any of its keys, even before it was composed.
    private func dependents(of entity: Entity) -> Set<Int> {
        let keys = entity.keys.contains(entity.shownKey) ? entity.keys : entity.keys + [entity.shownKey]
        return keys.reduce(into: []) { $0.formUnion(dependents[RecordName(table: entity.table, key: $1)] ?? []) }
    }

    /// Marks the records of the other entities that have looked up an entity.
    func markDependents(of entity: Entity) throws {
        for dependent in dependents(of: entity) where search.entities[dependent] !== entity {
            let other = search.entities[dependent]
            for member in other.members { try tables[other.table].markUnresolved(member.key) }
        }
    }
}
