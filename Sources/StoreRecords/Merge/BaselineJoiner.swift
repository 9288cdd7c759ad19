internal import Foundation
package import GRDB
package import StoreFormat
internal import UbiquityContainers

/// Joins a baseline into the store, inside the caller's transaction.
///
/// A first import, a rebuild, a rescue and a return all use it. The baseline has been verified and is attached under
/// ``schema(_:)``. Its values keep the stamps of their writers, so the order of joining does not matter.
package struct BaselineJoiner {
    /// Returns the name under which a baseline is attached, for its position among the attached baselines.
    static func schema(_ place: Int) -> String { place == 0 ? "ubiquity_baseline" : "ubiquity_baseline_\(place)" }

    package let shapes: [TableShape]
    package let sealer: Sealer
    package let migrations: [String]
    /// The position of the baseline among the attached baselines.
    package var place = 0
    /// The rowids of the records that differ from the store's, by the number of the table in the baseline.
    ///
    /// The records of other tables are compared while they are joined.
    package var differing: [Int64: [Int64]] = [:]
    /// Whether the tables already hold the records of the baseline and their clocks.
    package var isCopied = false
    /// Decides which records have an effect.
    ///
    /// Nil in a store without a scope, in which all have.
    package var gate: ImportGate?
    /// The part of a table that the baseline holds alone, and of which the store holds no living record.
    ///
    /// Nil for a baseline of a whole store.
    package var part: TablePart?
    /// Whether the logs in the baseline become known, and its stamps move the store's clock.
    package var takesKnowledge = true
    /// The largest life that a record can have; nil for the limit that follows from the baseline's knowledge.
    package var lives: LifeLimit?

    package init(shapes: [TableShape], sealer: Sealer, migrations: [String], place: Int = 0) {
        self.shapes = shapes
        self.sealer = sealer
        self.migrations = migrations
        self.place = place
    }

    private var schema: String { Self.schema(place) }

    /// Returns why this store cannot take the baseline now.
    ///
    /// - Parameter header: the header of the baseline.
    /// - Returns: the reason in words, or nil if the store can take the baseline.
    package func obstacle(to header: BaselineHeader) -> String? {
        let isOlder = LogTableMapping.isOlder(header.schema, than: migrations)
        return header.tables.lazy.compactMap { table in
            if case .unknown(let obstacle) = LogTableMapping.find(table.table, isOlder: isOlder, among: shapes) { obstacle } else { nil }
        }.first
    }

    /// Joins the baseline.
    ///
    /// Equal records stay marked; see ``StoreFile/resolve(by:)``.
    ///
    /// - Parameters:
    ///   - header: the header of the baseline.
    ///   - isRebuilding: whether the store was emptied for this baseline, so that its own logs come back too.
    ///   - db: the store, with foreign keys and CHECKs off.
    /// - Returns: the outcome of the import. It names no records of tables that were empty.
    /// - Throws: `LogFault` if a record is malformed, or GRDB's errors.
    package func join(_ header: BaselineHeader, isRebuilding: Bool = false, _ db: Database) throws -> ImportTransaction.Outcome {
        let outcome = try ImportTransaction.perform(sealer, isRebuilding ? .rebuild : .baseline, relations: .leave, db) { transaction in
            try join(header, isRebuilding: isRebuilding, transaction)
        }
        Waypoint.joinApplied.pass()
        return outcome
    }

    private func join(_ header: BaselineHeader, isRebuilding: Bool, _ transaction: ImportTransaction) throws {
        let db = transaction.db
        precondition(gate == nil || !isCopied, "the records of a copied baseline pass no gate")
        precondition(part == nil || isRebuilding, "a part is filled only after it has been cleared")
        let numbers = PeerNumbers(try StoreKnowledge.enter(header.peers, from: schema, in: &transaction.peers, db))
        let peers = transaction.peers
        try transaction.conflicts.begin(header, attachedAs: schema, peers: peers)
        let isOlder = LogTableMapping.isOlder(header.schema, than: migrations)
        let mapped = header.tables.compactMap { table -> (table: BaselineHeader.Table, mapping: LogTableMapping)? in
            guard case .mapped(let mapping) = LogTableMapping.find(table.table, isOlder: isOlder, among: shapes) else { return nil }
            return (table, mapping)
        }
        if isCopied {
            transaction.outcome.wholeTables = try completeCopied(mapped, header, db)
        } else if let part {
            for (table, mapping) in mapped where try fill(part, mapping.shape, from: table, header, numbers, transaction) {
                transaction.outcome.wholeTables.insert(mapping.shape.name)
            }
        } else {
            transaction.outcome.wholeTables = try fill(mapped, header, numbers, db)
        }
        for (table, mapping) in mapped {
            if !transaction.outcome.wholeTables.contains(mapping.shape.name) {
                let importer = try TableImporter(mapping, peers: peers, conflicts: transaction.conflicts, related: transaction.related, db)
                importer.lives = lives ?? LifeLimit(header.knowledge)
                let latest = try join(table, by: importer, header, numbers, author: peers[header.peer]!, &transaction.outcome, db)
                transaction.state.clock = max(transaction.state.clock, latest)
            }
            if let related = transaction.related { try enterFacts(of: table, header, related, mapping.shape, &transaction.outcome.rejected, db) }
            Waypoint.joinTable.pass()
        }
        if takesKnowledge {
            try StoreKnowledge.join(header.knowledge, from: schema, numbers: numbers, own: isRebuilding ? nil : transaction.state.peer, db)
        }
        if gate == nil, takesKnowledge { transaction.state.clock = max(transaction.state.clock, header.clock) }
        do {
            try transaction.resolve(.postpone)
            if !transaction.outcome.isResolved { try tryUniting(peers, transaction.state, db) }
        } catch let error as UbiquitousStoreError where error.code == .malformed {
            // The store was sound before, so the baseline is at fault.
            throw LogFault.damaged("it holds records that this store's schema cannot show")
        }
    }

    /// Unites equal records and rolls back.
    ///
    /// A record that then conflicts with itself is found while its author is known.
    private func tryUniting(_ peers: PeerTable, _ state: StoreState, _ db: Database) throws {
        try db.inSavepoint {
            var (state, changes) = (state, RecordChanges())
            if let related = RelatedTables(shapes, db) { try sealer.resolve(related, peers: peers, state: &state, changes: &changes, db) }
            return .rollback
        }
    }

    // MARK: As a whole

    /// Fills the tables that are empty, and returns their names.
    ///
    /// A row of the baseline is shown unchanged only if the tables here hold nothing but the writer's rows. Related
    /// tables are therefore filled together or not at all.
    private func fill(
        _ tables: [(table: BaselineHeader.Table, mapping: LogTableMapping)], _ header: BaselineHeader, _ numbers: PeerNumbers, _ db: Database
    ) throws -> Set<String> {
        guard gate == nil, header.schema == migrations.last ?? "" else { return [] }
        let source = BaselineTables(header, in: schema)
        func isFilled(_ table: BaselineHeader.Table, _ shape: TableShape) throws -> Bool {
            guard try table.table == shape.logTable && source.namesRows(of: shape, table) && Self.isEmpty(shape, db) else { return false }
            return try fill(shape, from: table, source, numbers, db, undo: { try Self.empty(shape, db) })
        }
        var filled: Set<String> = []
        for (table, mapping) in tables where try !mapping.shape.isRelated && isFilled(table, mapping.shape) { filled.insert(mapping.shape.name) }
        let related = tables.filter(\.mapping.shape.isRelated)
        guard related.count == shapes.count(where: \.isRelated) else { return filled }
        for (index, (table, mapping)) in related.enumerated() where try !isFilled(table, mapping.shape) {
            for (_, mapping) in related[..<index] { try CaptureTriggers(mapping.shape).suspended(db) { try Self.empty(mapping.shape, db) } }
            return filled
        }
        try markUnrelated(related.map(\.mapping.shape), db)
        return filled.union(related.map(\.mapping.shape.name))
    }

    /// Enters the records aside of tables that already hold the baseline's rows, and returns the tables' names.
    private func completeCopied(
        _ tables: [(table: BaselineHeader.Table, mapping: LogTableMapping)], _ header: BaselineHeader, _ db: Database
    ) throws -> Set<String> {
        let source = BaselineTables(header, in: schema)
        for (table, mapping) in tables { try enterAsides(of: table, mapping.shape, source, clock: "life, time, peer, columns, others", db) }
        try markUnrelated(tables.map(\.mapping.shape).filter(\.isRelated), db)
        return Set(tables.map(\.mapping.shape.name))
    }

    /// Marks rows without their parents, and duplicate rows.
    ///
    /// Writers show none. But any peer may be the writer, also one whose schema lacks the rule.
    private func markUnrelated(_ shapes: [TableShape], _ db: Database) throws {
        for shape in shapes {
            try RelationTables(shape: shape).markOrphans(db)
            try RelationTables(shape: shape).markDuplicates(db)
        }
    }

    /// Enters the records that the writer held aside, and marks them.
    private func enterAsides(
        of table: BaselineHeader.Table, _ shape: TableShape, _ source: BaselineTables, clock: String, _ db: Database
    ) throws {
        let keys = shape.ownKeyColumns
        let values = shape.columns.isEmpty ? "" : ", \(shape.ownValueColumns)"
        let local = shape.localColumns.indices.map { ", x\($0)" }.joined()
        let defaults = shape.localColumns.map { _ in ", ?" }.joined()
        let relations = RelationTables(shape: shape)
        let aside = try RawStatement(
            """
            INSERT OR FAIL INTO main.\(shape.asideTable) (\(keys), life, time, peer, columns, others\(values)\(local), \(relations.list("s")), held)
            SELECT \(keys), \(clock)\(values)\(defaults), \(keys), '' FROM \(source.others(table))
            """, db)
        for (index, value) in shape.localDefaults.enumerated() { aside.bind(index + 1, value) }
        try aside.run()
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO main.\(shape.unresolvedTable) SELECT \(keys) FROM main.\(shape.asideTable);
                INSERT OR IGNORE INTO main.\(shape.unresolvedTable) SELECT \(relations.list("a")) FROM main.\(shape.sameTable);
                """)
    }

    /// Fills a part of a table, and returns whether it has.
    ///
    /// Such a table has no rules between records. So a row of the snapshot is shown unchanged, except where a moderator's
    /// decision or the limit of an account's records hides it. The decisions themselves are joined one by one, because each
    /// concerns other records.
    private func fill(
        _ part: TablePart, _ shape: TableShape, from table: BaselineHeader.Table, _ header: BaselineHeader, _ numbers: PeerNumbers,
        _ transaction: ImportTransaction
    ) throws -> Bool {
        let (db, source) = (transaction.db, BaselineTables(header, in: schema))
        guard header.schema == migrations.last ?? "", table.table == shape.logTable, source.namesRows(of: shape, table),
            shape.name == part.shape.name, shape.name != Moderation.table, !shape.hasRules, !shape.holdsBroken,
            try !source.holdsOthers(than: part, table, db), try !hasDied(anyOf: table, source, shape, db)
        else { return false }
        let hasOwnRowid = shape.hasRowid && !shape.isRowidKey
        // The rows of other parts may have the same numbers.
        let last = hasOwnRowid ? try Int64.fetchOne(db, sql: "SELECT max(0, max(rowid)) FROM main.\(shape.name.quotedIdentifier)") ?? 0 : 0
        guard try fill(shape, part, from: table, source, numbers, above: last, db, undo: { try part.clear(db) }) else { return false }
        if shape.ownerPlace != nil, let limit = transaction.related?.limit {
            try limit.examine(filled: part.accounts, in: shapes.firstIndex { $0.name == shape.name }!)
        }
        return true
    }

    /// Returns whether a record of a snapshot has died here, so that the join must decide.
    private func hasDied(anyOf table: BaselineHeader.Table, _ source: BaselineTables, _ shape: TableShape, _ db: Database) throws -> Bool {
        guard try DeadRecords(db).exist(in: shape) || ForgottenDeaths(in: shape, db) != nil else { return false }
        let clocks = try ClockTable(shape: shape, db)
        let keys = try RawStatement(source.all(shape.ownKeyColumns, table), db)
        defer { keys.reset() }
        while try keys.step() { if try clocks.death(shape.keyColumns.indices.map { keys.value($0) }) > 0 { return true } }
        return false
    }

    /// Fills an empty table, or an empty part of one.
    ///
    /// Returns false if a rule of the schema forbids a row; then it is empty again.
    ///
    /// It uses no savepoint, because a savepoint would keep a copy of each page used before the transaction. It deletes
    /// the rows instead, which is enough because there were none. The new rows get rowids above `last`, the last one here.
    private func fill(
        _ shape: TableShape, _ part: TablePart? = nil, from table: BaselineHeader.Table, _ source: BaselineTables, _ numbers: PeerNumbers,
        above last: Int64 = 0, _ db: Database, undo: () throws -> Void
    ) throws -> Bool {
        let keys = shape.ownKeyColumns
        let names = (shape.keyColumns + shape.columns).map(\.quotedIdentifier).joined(separator: ", ")
        // The rows keep their rowids from the baseline, so that the clocks can be copied without reading the rows.
        let hasOwnRowid = shape.hasRowid && !shape.isRowidKey
        let place = source.place(table, shape)
        let shift = last == 0 ? "" : " + \(last)"
        let onConflict = try TableImporter.onConflict(shape.name, db)
        return try numbers.withFunctions(db) { peer, others in
            let clock = "life, time, \(peer("peer")), columns, \(others("others"))"
            return try CaptureTriggers(shape).suspended(db) {
                do {
                    try db.execute(
                        sql: """
                            INSERT\(onConflict) INTO main.\(shape.name.quotedIdentifier) (\(hasOwnRowid ? "rowid, " : "")\(names))
                            SELECT \(source.rows(table, withRowid: hasOwnRowid, shift));
                            INSERT OR FAIL INTO main.\(shape.clockTable) SELECT \(place)\(shift), \(clock) FROM \(source.clocks(table)) ORDER BY \(place);
                            INSERT OR FAIL INTO main.\(shape.deadTable) SELECT \(keys), life FROM \(source.dead(table)) ORDER BY \(keys);
                            """)
                    try enterAsides(of: table, shape, source, clock: clock, db)
                    guard try shape.hasRowid || Self.hasClocks(shape, part, db) else {
                        try undo()
                        return false
                    }
                } catch let error as DatabaseError where error.fault.isContent {
                    // This schema stores a key in another form, or has a rule that its migrations do not show. Join the
                    // records one by one.
                    try undo()
                    return false
                }
                return true
            }
        }
    }

    private static func isEmpty(_ shape: TableShape, _ db: Database) throws -> Bool {
        try tables(of: shape).allSatisfy { table in try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM main.\(table))")! }
    }

    /// Returns whether each row has its clock, if both are found by the key.
    ///
    /// A column type may have changed the key in the row.
    private static func hasClocks(_ shape: TableShape, _ part: TablePart?, _ db: Database) throws -> Bool {
        let isClock = shape.keyColumns.enumerated().map { "c.k\($0) = t.\($1.quotedIdentifier)" }.joined(separator: " AND ")
        let isPart = part?.rowCondition(in: shape).map { "t.\($0) AND " } ?? ""
        let hasNone = "\(isPart)NOT EXISTS (SELECT 1 FROM main.\(shape.clockTable) c WHERE \(isClock))"
        return try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM main.\(shape.name.quotedIdentifier) t WHERE \(hasNone))")!
    }

    private static func empty(_ shape: TableShape, _ db: Database) throws {
        for table in tables(of: shape) { try db.execute(sql: "DELETE FROM main.\(table)") }
    }

    /// The tables that hold the records of a synced table.
    private static func tables(of shape: TableShape) -> [String] {
        [shape.name.quotedIdentifier, shape.clockTable, shape.deadTable, shape.asideTable]
    }

    // MARK: Record by record

    /// Joins the records of a table.
    ///
    /// - Returns: the highest stamp that a gate lets move the store's clock. Without a gate, the header tells it.
    private func join(
        _ table: BaselineHeader.Table, by importer: TableImporter, _ header: BaselineHeader, _ numbers: PeerNumbers, author: PeerNumber,
        _ outcome: inout ImportTransaction.Outcome, _ db: Database
    ) throws -> HybridTime {
        var latest = HybridTime.least
        let decide = gate?.decision(ImportGate.Author(peer: header.peer))
        func isRejected(_ key: [RecordValue]) -> Bool {
            guard let reason = decide?(importer.shape, key) else { return false }
            outcome.rejected.add(RejectedChange(record: ObjectID(table: importer.shape.name, key: key), peer: header.peer, reason: reason))
            return true
        }
        func note(_ kind: RecordChanges.Kind?, _ key: [RecordValue], _ stamp: Stamp) {
            guard kind != nil || !importer.removedRows.isEmpty else { return }
            outcome.changes.begin(by: stamp == .least ? nil : stamp)
            let name = importer.shape.name
            for removed in importer.removedRows { outcome.changes.add(.delete, ObjectID(table: name, key: removed)) }
            importer.removedRows = []
            if let kind { outcome.changes.add(kind, ObjectID(table: name, key: key)) }
        }
        let source = BaselineTables(header, in: schema)
        let keys = table.table.keyColumns.count
        let importedKeys = table.table.keyColumns.indices.map { "k\($0)" }
        let importedValues = table.table.columns.indices.map { "v\($0)" }
        var change = LogBody.Change()
        try numbers.withFunctions(db) { peer, others in
            let columns = (importedKeys + ["life", "time", "peer", "columns", "others"] + importedValues).map { "r.\($0)" }.joined(separator: ", ")
            for rows in [try recordsToJoin(table, source, importer, peer: peer, others: others, db), "\(source.others(table)) r"] {
                let rows = try RawStatement("SELECT \(columns) FROM \(rows)", db)
                defer { rows.reset() }
                while try rows.step() {
                    var clock = try ClockTable.clock(rows, from: keys)
                    try numbers.apply(to: &clock)
                    let key = (0..<keys).map { rows.value($0).detached }
                    if isRejected(key) { continue }
                    if let gate, gate.movesClock(importer.shape, key) {
                        latest = clock.others.reduce(max(latest, clock.stamp.time)) { max($0, $1.stamp.time) }
                    }
                    let all = ColumnSet(first: table.table.columns.count)
                    let parts = clock.byStamp(all).map { stamp, columns in
                        // Unwritten values have no stamp and are not passed on.
                        let told = stamp == .least ? columns.numbers.filter { importer.isSaid(rows.value(keys + 5 + $0), ofListed: $0) } : nil
                        return (stamp: stamp, columns: told.map { $0.reduce(into: ColumnSet()) { $0.insert(ColumnSet(column: $1)) } } ?? columns)
                    }
                    if parts.count(where: { !$0.columns.isEmpty }) > 1, try importer.life(of: key) < clock.life {
                        (change.life, change.key, change.columns) = (clock.life, key, all)
                        change.values = all.numbers.map { rows.value(keys + 5 + $0) }
                        note(try importer.begin(&change, clock), key, clock.latest(by: importer.peers))
                        continue
                    }
                    // A change has one stamp. Most records have only one.
                    for (stamp, columns) in parts where !columns.isEmpty || stamp != .least || !clock.hasStamps {
                        change.life = clock.life
                        change.key = key
                        change.columns = columns
                        change.values = columns.numbers.map { rows.value(keys + 5 + $0) }
                        note(try importer.join(&change, stamp: stamp), key, stamp)
                    }
                }
            }
        }
        let dead = try RawStatement("SELECT \((importedKeys + ["life"]).joined(separator: ", ")) FROM \(source.dead(table))", db)
        defer { dead.reset() }
        while try dead.step() {
            let key = (0..<keys).map { dead.value($0).detached }
            if isRejected(key) { continue }
            (change.life, change.key, change.columns, change.values) = (dead.integer(keys), key, [], [])
            note(try importer.join(&change, stamp: Stamp(header.clock, author)), key, .least)
        }
        return latest
    }

    /// Returns the records of a baseline's table as `r`, for FROM, without most of those that are identical here.
    ///
    /// Joining an identical record changes nothing, and costs ten times as much as the comparison.
    private func recordsToJoin(
        _ table: BaselineHeader.Table, _ source: BaselineTables, _ importer: TableImporter, peer: (String) -> String, others: (String) -> String,
        _ db: Database
    ) throws -> String {
        let (records, shape) = ("\(source.records(table)) r", importer.shape)
        if let places = differing[table.number] {
            return "json_each('\(places)') different CROSS JOIN \(records) ON r.place = different.value"
        }
        guard importer.isIdentity, try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM main.\(shape.asideTable))")! else { return records }
        let knowsPlace = shape.hasRowid && table.form?.hasRowid == true
        return "\(records) WHERE \(RecordSameness(peer: peer, others: others).isNews(shape, knowsPlace: knowsPlace))"
    }

    /// Enters the same-as facts of a table.
    private func enterFacts(
        of table: BaselineHeader.Table, _ header: BaselineHeader, _ related: RelatedTables, _ shape: TableShape,
        _ rejected: inout RejectedChanges, _ db: Database
    ) throws {
        let decide = gate?.decision(ImportGate.Author(peer: header.peer))
        let own = try related[shapes.firstIndex { $0.name == shape.name }!]
        let rows = try RawStatement("SELECT * FROM \(schema).same_\(table.number)", db)
        defer { rows.reset() }
        let keys = shape.keyColumns.count
        while try rows.step() {
            func node(_ start: Int) -> RecordNode {
                RecordNode(key: (start..<start + keys).map { rows.value($0).detached }, life: rows.integer(start + keys))
            }
            let fact = SameAs(node(0), node(keys + 1))
            if let decide, let change = RejectedChange(fact, of: shape, by: header.peer, decide) {
                rejected.add(change)
                continue
            }
            guard try own.enter(fact, since: sealer.now().timeIntervalSince1970) else { continue }
            for node in [fact.first, fact.second] { try own.markUnresolved(node.key) }
        }
    }
}
