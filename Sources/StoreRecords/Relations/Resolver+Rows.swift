internal import GRDB
internal import StoreFormat

// MARK: Computing rows

extension Resolver {
    /// Evaluates again the entities that were held for a parent that may be shown now.
    ///
    /// Held entities that can only be shown together are shown.
    func recall() throws {
        var index = 0
        while index < entities.count {
            let entity = entities[index]
            index += 1
            let isBegun = entity.keys.contains { marked.contains(RecordName(table: entity.table, key: $0)) }
            // An entity whose parents became one is shown under another key than before.
            guard !entity.members.isEmpty, isBegun || !entity.formerRows.contains(entity.shownKey) else { continue }
            for (child, key) in tables.mentions[entity.table] {
                var waiting = try asides(of: child, referringTo: entity.keys, by: key)
                if case .standard(let standard) = key.orphan, entity.keys.contains(standard) { waiting += try tables[child].held() }
                for record in waiting { try composeLate(RecordName(table: child, key: record)) }
            }
        }
    }

    /// Finds an entity during evaluation; the records that depend on it are resolved in a later round.
    func composeLate(_ name: RecordName) throws {
        for referring in try compose(name) { try tables[referring.table].markUnresolved(referring.key) }
    }

    /// Evaluates each entity: first as if all that are alive were shown, then repeatedly without those that lack a
    /// parent.
    func evaluate() throws {
        while !unevaluated.isEmpty {
            var gone: [Int] = []
            while let index = unevaluated.popLast() {
                if !entities[index].members.isEmpty {
                    guard entities[index].isShown else { continue }
                    try evaluate(index)
                }
                if !entities[index].isShown { gone.append(index) }
            }
            for (table, indices) in Dictionary(grouping: gone, by: { entities[$0].table }) {
                unevaluated += indices.flatMap { dependents(of: entities[$0]) }.filter { entities[$0].isShown }
                let keys = indices.flatMap { entities[$0].keys }
                for (child, key) in references[table] {
                    for row in try tables[child].rows(referringTo: keys, by: key) {
                        let name = RecordName(table: child, key: row)
                        try composeLate(name)
                        unevaluated.append(byKey[name]!)
                    }
                }
            }
        }
    }

    private func evaluate(_ index: Int) throws {
        let entity = entities[index]
        let shape = shapes[entity.table]
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
        if isStandIn, let fault = try tables[entity.table].fault(entity.shownKey, values) {
            entity.outcome = .held("\(fault), with NULL or a default in place of its reference")
            return
        }
        if let reason = refused[RecordName(table: entity.table, key: entity.shownKey)]?[values] {
            entity.outcome = .held(reason)
            return
        }
        entity.outcome = .shown(values)
    }

    private func reason(_ reference: ForeignKey, _ wanted: [RecordValue]) -> String {
        "\(ObjectID(table: shapes[reference.parent].name, key: wanted)) is not there"
    }

    /// Returns the key under which a record is shown, or nil if it is not shown.
    private func shown(_ name: RecordName, for dependent: Int) throws -> [RecordValue]? {
        dependents[name, default: []].insert(dependent)
        if byKey[name] == nil {
            let table = try tables[name.table]
            let aside = try table.aside(name.key)
            switch aside?.state {
            case .shown: return aside!.shown
            case .held: return nil
            case .pending: try composeLate(name)
            case nil:
                if try table.hasRow(name.key) { return name.key }
                guard try mayMeanAnother(name.table) else { return nil }
                try composeLate(name)
            }
        }
        let entity = entities[byKey[name]!]
        return entity.isShown ? entity.shownKey : nil
    }

    /// Returns the entities that have looked up an entity under any of its keys, even before it was composed.
    private func dependents(of entity: Entity) -> Set<Int> {
        let keys = entity.keys.contains(entity.shownKey) ? entity.keys : entity.keys + [entity.shownKey]
        return keys.reduce(into: []) { $0.formUnion(dependents[RecordName(table: entity.table, key: $1)] ?? []) }
    }
}

// MARK: Writing rows

extension Resolver {
    /// Writes the rows of the evaluated entities.
    ///
    /// - Returns: the records that turned out to be one.
    /// - Throws: GRDB's errors.
    func show() throws -> [RecordName] {
        for entity in entities { try removeFormerRows(of: entity) }
        for entity in entities { try putAside(entity) }
        try putMoved()
        var colliding: [Entity] = []
        for entity in entities { if try !showRow(of: entity) { colliding.append(entity) } }
        var united: [RecordName] = []
        // The colliding row may have changed since.
        for entity in colliding {
            guard let partner = try insertRow(of: entity) else { continue }
            // A key that its column stores in another form leads back to the colliding row.
            guard try tables[entity.table].row(entity.shownKey) == nil else { throw isInItsOwnWay(partner, entity) }
            if try isExcluded(entity, by: partner) {
                try hold(entity, "\(ObjectID(table: shapes[entity.table].name, key: partner)) holds the value that it shows")
                continue
            }
            guard unites else {
                _ = try registers(of: partner, equalTo: entity)
                postponed.formUnion(entity.members.map { RecordName(table: entity.table, key: $0.key) })
                let other = ObjectID(table: shapes[entity.table].name, key: partner)
                try hold(entity, "\(other) is equal to it so far, but not everything here has been read yet")
                continue
            }
            for member in entity.members {
                try tables[entity.table].put(AsideRecord(registers: member, shown: member.key, state: .pending))
            }
            united += try unite(entity, partner)
        }
        for entity in entities where entity.isShown && shapes[entity.table].uniques.contains(where: { !$0.isEnforced }) {
            guard let partner = try tables[entity.table].partner(of: entity.shownKey) else { continue }
            if unites { united += try unite(entity, partner) } else { postponed.insert(RecordName(table: entity.table, key: entity.members[0].key)) }
        }
        return united
    }

    /// Makes an entity one with the entity that a row shows.
    private func unite(_ entity: Entity, _ partner: [RecordValue]) throws -> [RecordName] {
        let (first, other) = (entity.members[0], try registers(of: partner, equalTo: entity))
        return try unite(
            entity.table, RecordNode(key: first.key, life: first.clock.life), RecordNode(key: other.key, life: other.clock.life))
    }

    /// Returns the registers of the record that a row shows and that is equal to an entity.
    private func registers(of partner: [RecordValue], equalTo entity: Entity) throws -> Registers {
        let table = try tables[entity.table]
        let other = try table.asides(under: partner).first?.registers ?? table.find(partner).registers
        guard let other, !entity.keys.contains(partner) else { throw isInItsOwnWay(partner, entity) }
        return other
    }

    private func isInItsOwnWay(_ key: [RecordValue], _ entity: Entity) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .malformed,
            "\(ObjectID(table: shapes[entity.table].name, key: key)) conflicts with its own row. Move the store file away and open the store again: it is filled from the container."
        )
    }

    private func note(_ kind: ImportNotice.Kind, _ table: Int, _ key: [RecordValue]) {
        notice.add(kind, ObjectID(table: shapes[table].name, key: key.map(\.detached)))
    }

    private func removeFormerRows(of entity: Entity) throws {
        let table = try tables[entity.table]
        for key in entity.formerRows where !entity.isShown || key != entity.shownKey {
            guard let row = try table.row(key) else { continue }
            // The excluded columns follow the record to which the row was written.
            if !entity.members.contains(where: { $0.key == key }), !entity.members.isEmpty {
                entity.members[0].local = row.local
                entity.joined.local = row.local
            }
            try table.removeRow(row)
            note(.delete, entity.table, key)
        }
    }

    private func putAside(_ entity: Entity) throws {
        let table = try tables[entity.table]
        for member in entity.members {
            switch entity.outcome {
            case .shown where entity.isPlain: try table.removeAside(member.key)
            case .shown: try table.put(AsideRecord(registers: member, shown: entity.shownKey, state: .shown))
            case .held(let reason): try table.put(AsideRecord(registers: member, shown: entity.shownKey, state: .held(reason)))
            case .dead: break
            }
        }
    }

    /// Updates an entity's row; returns false if another row collides with it.
    private func showRow(of entity: Entity) throws -> Bool {
        guard case .shown(let values) = entity.outcome else { return true }
        let table = try tables[entity.table]
        guard let row = try table.row(entity.shownKey) else { return try insertRow(of: entity) == nil }
        let changed = values.indices.reduce(into: ColumnSet()) { if row.values[$1] != values[$1] { $0.insert(ColumnSet(column: $1)) } }
        guard try table.update(row, to: values, changed) else {
            entity.joined.local = row.local
            try table.removeRow(row)
            note(.delete, entity.table, entity.shownKey)
            return false
        }
        try table.clocks.set(entity.joined.clock, at: row.place)
        if !changed.isEmpty { note(.update, entity.table, entity.shownKey) }
        return true
    }

    /// Inserts an entity's row, or returns the key of the row that collides with it.
    private func insertRow(of entity: Entity) throws -> [RecordValue]? {
        guard case .shown(let values) = entity.outcome else { return nil }
        let table = try tables[entity.table]
        var row = entity.joined
        row.values = values
        do {
            if let partner = try table.insertRow(row, clock: entity.joined.clock) { return partner }
            note(.insert, entity.table, entity.shownKey)
        } catch let error as DatabaseError where error.fault.isContent && table.isInsideTransaction {
            // This schema does not accept the row at all.
            try hold(entity, error.message ?? "the schema refuses it")
        }
        return nil
    }

    /// Holds an entity whose row this store does not accept, and marks the records that depend on it.
    private func hold(_ entity: Entity, _ reason: String) throws {
        guard case .shown(let values) = entity.outcome else { return }
        let name = RecordName(table: entity.table, key: entity.shownKey)
        refused[name, default: [:]][values] = reason
        // Until another record releases a moved value, the refused row is known only by the written value.
        var written = values
        for row in entity.moved { written[row.column] = row.written }
        refused[name, default: [:]][written] = reason
        entity.outcome = .held(reason)
        try putAside(entity)
        for referring in try referring(to: entity) { try tables[referring.table].markUnresolved(referring.key) }
        // Their rows may be written later, with a default in place of the written reference.
        for dependent in dependents(of: entity) where entities[dependent] !== entity {
            for member in entities[dependent].members { try tables[entities[dependent].table].markUnresolved(member.key) }
        }
        // Another record may get the value that the entity held.
        try tables[entity.table].markMoved()
    }
}
