internal import GRDB
internal import StoreFormat

/// Applies the rules by which only one record can hold a value, in one round.
final class ExclusionRound {
    private let evaluator: RowEvaluator
    private let peers: PeerTable
    private let choices: [String: [String: SyncedTable.Exclusive.Choice]]
    /// By table, the rows that showed another value than was written before the round.
    private var formerlyMoved: [Int: Set<MovedRow>] = [:]

    init(_ evaluator: RowEvaluator, peers: PeerTable, choices: [String: [String: SyncedTable.Exclusive.Choice]]) {
        self.evaluator = evaluator
        self.peers = peers
        self.choices = choices
    }

    private var search: EntitySearch { evaluator.search }
    private var tables: RelatedTables { search.tables }

    /// Makes all but one of the entities that hold an exclusive value show another value.
    ///
    /// Each rule compares the values as they were written; no other rule compares a column that is moved. The rows are
    /// therefore a function of all registers, whatever was shown before.
    func exclude() throws {
        guard tables.shapes.contains(where: { !$0.exclusives.isEmpty }) else { return }
        try gatherRivals()
        for table in formerlyMoved.keys.sorted() {
            for rule in try tables[table].exclusives { try apply(rule, to: table) }
        }
    }

    /// Finds every entity whose row may change with those of this round.
    ///
    /// These are the entities that show another value, and those that hold a value that one of the round holds. Each
    /// other entity shows what was written, and no entity of the round holds that.
    private func gatherRivals() throws {
        var count = 0
        while count < search.entities.count {
            count = search.entities.count
            for table in Set(search.entities.map(\.table)).sorted() where !tables.shapes[table].exclusives.isEmpty {
                if formerlyMoved[table] == nil {
                    let moved = try tables[table].movedRows()
                    formerlyMoved[table] = Set(moved)
                    for row in moved { try composeShown(row.key, in: table) }
                    try evaluator.recall()
                    try evaluator.evaluate()
                }
                for rule in try tables[table].exclusives {
                    for index in 0..<search.entities.count where search.entities[index].table == table {
                        guard case .shown(let values) = search.entities[index].outcome,
                            let terms = try rule.terms(search.entities[index].shownKey, values)
                        else {
                            continue
                        }
                        for key in try rule.holders(of: terms) { try composeShown(key, in: table) }
                    }
                }
            }
            if search.entities.count > count { try evaluator.recall() }
            try evaluator.evaluate()
        }
    }

    /// Finds the entity that a row shows.
    private func composeShown(_ key: [RecordValue], in table: Int) throws {
        guard search.byKey[RecordName(table: table, key: key)] == nil else { return }
        // A row can have a key that none of its records has.
        try search.composeLate(RecordName(table: table, key: tables[table].asides(under: key).first?.registers.key ?? key))
    }

    private func apply(_ rule: ExclusiveRule, to table: Int) throws {
        var claims: [ExclusionPlan.Claim] = []
        var termsOf: [Int: [RecordValue]] = [:]
        for (index, entity) in search.entities.enumerated() where entity.table == table {
            guard case .shown(let values) = entity.outcome, let terms = try rule.terms(entity.shownKey, values) else { continue }
            termsOf[index] = terms
            claims.append(
                ExclusionPlan.Claim(
                    entity: index, key: entity.shownKey, stamp: rule.stamp(of: entity.joined.clock, peers), terms: rule.collated(terms),
                    scope: rule.scope(terms), value: values[rule.exclusion.column]))
        }
        let plan = ExclusionPlan(claims, peers: peers)
        var free = FreeValues()
        var assigned: Set<[RecordValue]> = []
        var taken: (scope: [RecordValue], values: [RecordValue]) = ([], [])
        for claim in plan.moved {
            let entity = search.entities[claim.entity]
            guard case .shown(var values) = entity.outcome, let holder = plan.holders[claim.terms] else { continue }
            /// Returns the terms that the entity holds with another value in the column.
            func terms(_ value: RecordValue) throws -> [RecordValue]? {
                values[rule.exclusion.column] = value
                return try rule.terms(entity.shownKey, values)
            }
            func isTaken(_ value: RecordValue) throws -> Bool {
                guard let terms = try terms(value) else { return false }
                let collated = rule.collated(terms)
                return try plan.holders[collated] != nil || assigned.contains(collated)
                    || rule.holders(of: terms).contains { search.byKey[RecordName(table: table, key: $0)] == nil }
            }
            var shown = RecordValue.null
            switch rule.exclusion.move {
            case .null: break
            case .nextFree: shown = try free.next(after: claim.value, in: claim.scope, isTaken: isTaken)
            case .chosen:
                if taken.scope != claim.scope || taken.values.isEmpty {
                    taken = (claim.scope, try held(rule, table, claims.filter { $0.scope == claim.scope }, like: termsOf[claim.entity]!))
                }
                let choice = try chosen(rule, entity, values, taken.values)
                if let choice, try !isTaken(choice) {
                    shown = choice
                } else if !rule.exclusion.takesNull {
                    shown = try free.next(after: claim.value, in: claim.scope, isTaken: isTaken)
                }
                if shown != .null {
                    taken.values.insert(shown, at: taken.values.firstIndex { $0.compare(shown) == .greater } ?? taken.values.endIndex)
                }
            }
            if let terms = try terms(shown) { assigned.insert(rule.collated(terms)) }
            values[rule.exclusion.column] = shown
            entity.outcome = .shown(values)
            entity.moved.append(MovedRow(key: entity.shownKey, column: rule.exclusion.column, written: claim.value, holder: holder.key))
        }
    }

    /// Returns the values of the moved column in all records of a scope, sorted and without duplicates.
    private func held(
        _ rule: ExclusiveRule, _ table: Int, _ claims: [ExclusionPlan.Claim], like terms: [RecordValue]
    ) throws -> [RecordValue] {
        let others = try rule.rows(with: terms).filter { search.byKey[RecordName(table: table, key: $0.key)] == nil }.map(\.value)
        return Set(claims.map(\.value) + others).sorted { $0.compare($1) == .less }
    }

    /// Returns the value that the app chooses, if the column stores it unchanged, or nil.
    private func chosen(_ rule: ExclusiveRule, _ entity: Entity, _ values: [RecordValue], _ taken: [RecordValue]) throws -> RecordValue? {
        let shape = tables.shapes[entity.table]
        guard let choice = choices[shape.name]?[rule.moved.lowercased()], case .shown(let values) = entity.outcome else { return nil }
        let record = Row(
            Dictionary(uniqueKeysWithValues: zip(shape.keyColumns + shape.columns, entity.shownKey + values).map { ($0, $1.databaseValue) }))
        return choice(record, taken.map(\.databaseValue)).flatMap { RecordValue($0.databaseValue).stored(as: rule.exclusion.affinity) }
    }

    /// Stores the rows that show another value than was written.
    func putMoved() throws {
        for (table, before) in formerlyMoved {
            let shown = search.entities.lazy.filter { $0.table == table && $0.isShown }.flatMap(\.moved)
            // A held record may have to be shown as soon as another record holds something else.
            let held = before.filter { row in
                guard let index = search.byKey[RecordName(table: table, key: row.key)], case .held = search.entities[index].outcome else {
                    return false
                }
                return true
            }
            let after = Set(shown).union(held)
            if before != after { try tables[table].setMoved(before, after) }
        }
    }

    /// Returns whether an entity's row collides with another by an exclusive rule.
    func isExcluded(_ entity: Entity, by partner: [RecordValue]) throws -> Bool {
        guard case .shown(let values) = entity.outcome else { return false }
        return try tables[entity.table].exclusives.contains { rule in
            try rule.terms(entity.shownKey, values).map { try rule.holders(of: $0).contains(partner) } ?? false
        }
    }
}
