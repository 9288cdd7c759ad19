internal import GRDB
internal import StoreFormat

/// Writes the rows of evaluated entities, and keeps their records aside where a row does not show exactly one record.
final class RowWriter {
    private let tables: RelatedTables
    private let equalRecords: EqualRecords
    private let refused: RefusedRows
    /// The changes of rows.
    private(set) var changes = RecordChanges()

    init(_ tables: RelatedTables, equalRecords: EqualRecords, refused: RefusedRows) {
        self.tables = tables
        self.equalRecords = equalRecords
        self.refused = refused
    }

    /// Writes the rows of the evaluated entities.
    ///
    /// - Parameters:
    ///   - entities: the entities of the round.
    ///   - evaluator: the evaluation of their rows.
    ///   - exclusions: the rules that moved values in their rows.
    /// - Returns: the records that turned out to be one.
    /// - Throws: GRDB's errors.
    func show(_ entities: [Entity], _ evaluator: RowEvaluator, _ exclusions: ExclusionRound) throws -> [RecordName] {
        for entity in entities { try removeFormerRows(of: entity) }
        for entity in entities { try putAside(entity) }
        try exclusions.putMoved()
        var colliding: [Entity] = []
        for entity in entities { if try !showRow(of: entity, evaluator) { colliding.append(entity) } }
        var united: [RecordName] = []
        // The colliding row may have changed since.
        for entity in colliding {
            guard let partner = try insertRow(of: entity, evaluator) else { continue }
            // A key that its column stores in another form leads back to the colliding row.
            guard try tables[entity.table].row(entity.shownKey) == nil else { throw isInItsOwnWay(partner, entity) }
            if try exclusions.isExcluded(entity, by: partner) {
                try hold(entity, "\(ObjectID(table: tables.shapes[entity.table].name, key: partner)) holds the value that it shows", evaluator)
                continue
            }
            guard equalRecords.unites(entity) else {
                _ = try registers(of: partner, equalTo: entity)
                equalRecords.postpone(entity.members.map(\.key), in: entity.table)
                let other = ObjectID(table: tables.shapes[entity.table].name, key: partner)
                try hold(entity, "\(other) is equal to it so far, but not everything here has been read yet", evaluator)
                continue
            }
            for member in entity.members {
                try tables[entity.table].put(AsideRecord(registers: member, shown: member.key, state: .pending))
            }
            united += try unite(entity, partner)
        }
        for entity in entities where entity.isShown && tables.shapes[entity.table].uniques.contains(where: { !$0.isEnforced }) {
            guard let partner = try tables[entity.table].partner(of: entity.shownKey) else { continue }
            if equalRecords.unites(entity) {
                united += try unite(entity, partner)
            } else {
                equalRecords.postpone([entity.members[0].key], in: entity.table)
            }
        }
        return united
    }

    /// Makes an entity one with the entity that a row shows.
    private func unite(_ entity: Entity, _ partner: [RecordValue]) throws -> [RecordName] {
        let (first, other) = (entity.members[0], try registers(of: partner, equalTo: entity))
        return try equalRecords.unite(
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
            "\(ObjectID(table: tables.shapes[entity.table].name, key: key)) conflicts with its own row. Move the store file away and open the store again: it is filled from the container."
        )
    }

    private func note(_ kind: RecordChanges.Kind, _ table: Int, _ key: [RecordValue]) {
        changes.add(kind, ObjectID(table: tables.shapes[table].name, key: key.map(\.detached)))
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
    private func showRow(of entity: Entity, _ evaluator: RowEvaluator) throws -> Bool {
        guard case .shown(let values) = entity.outcome else { return true }
        let table = try tables[entity.table]
        guard let row = try table.row(entity.shownKey) else { return try insertRow(of: entity, evaluator) == nil }
        let changed = values.indices.reduce(into: ColumnSet()) { if row.values[$1] != values[$1] { $0.insert(ColumnSet(column: $1)) } }
        guard try table.update(row, to: values, changed) else {
            entity.joined.local = row.local
            try table.removeRow(row)
            note(.delete, entity.table, entity.shownKey)
            return false
        }
        try table.clocks.set(entity.joined.clock, at: row.place)
        if !changed.isEmpty { note(.update(changed), entity.table, entity.shownKey) }
        return true
    }

    /// Inserts an entity's row, or returns the key of the row that collides with it.
    private func insertRow(of entity: Entity, _ evaluator: RowEvaluator) throws -> [RecordValue]? {
        guard case .shown(let values) = entity.outcome else { return nil }
        let table = try tables[entity.table]
        var row = entity.joined
        row.values = values
        do {
            if let partner = try table.insertRow(row, clock: entity.joined.clock) { return partner }
            note(.insert, entity.table, entity.shownKey)
        } catch let error as DatabaseError where error.fault.isContent && table.isInsideTransaction {
            // This schema does not accept the row at all.
            try hold(entity, error.message ?? "the schema refuses it", evaluator)
        }
        return nil
    }

    /// Holds an entity whose row this store does not accept, and marks the records that depend on it.
    private func hold(_ entity: Entity, _ reason: String, _ evaluator: RowEvaluator) throws {
        guard case .shown(let values) = entity.outcome else { return }
        refused.refuse(entity, values, reason)
        // Until another record releases a moved value, the refused row is known only by the written value.
        var written = values
        for row in entity.moved { written[row.column] = row.written }
        refused.refuse(entity, written, reason)
        entity.outcome = .held(reason)
        try putAside(entity)
        for referring in try tables.referring(to: entity) { try tables[referring.table].markUnresolved(referring.key) }
        // Their rows may be written later, with a default in place of the written reference.
        try evaluator.markDependents(of: entity)
        // Another record may get the value that the entity held.
        try tables[entity.table].markMoved()
    }
}
