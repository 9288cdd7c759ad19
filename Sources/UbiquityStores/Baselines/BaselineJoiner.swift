internal import Foundation
internal import GRDB
internal import UbiquityContainers

/// Joins a baseline into the store, in the transaction that it is called in: a first import, a rebuild, a rescue and a return are all this.
///
/// The baseline has been verified, and is attached under ``schema(_:)``. What it brings has the stamps that its writers gave; the order of joining does not matter.
struct BaselineJoiner {
    /// The name under which a baseline is attached, by its place among those that are attached together.
    static func schema(_ place: Int) -> String { place == 0 ? "ubiquity_baseline" : "ubiquity_baseline_\(place)" }

    let shapes: [TableShape]
    let sealer: Sealer
    let migrations: [String]
    /// The place of the baseline among those that are attached.
    var place = 0

    private var schema: String { Self.schema(place) }

    /// Whether this store can take it now.
    ///
    /// - Parameter header: the baseline.
    /// - Returns: why not, in words; nil where it can.
    func obstacle(to header: BaselineHeader) -> String? {
        let isOlder = LogTableMapping.isOlder(header.schema, than: migrations)
        return header.tables.lazy.compactMap { table in
            if case .unknown(let obstacle) = LogTableMapping.find(table.table, isOlder: isOlder, among: shapes) { obstacle } else { nil }
        }.first
    }

    /// Why this store cannot hold what a baseline says, where that is what an error comes to.
    ///
    /// - Parameter error: what joining it has thrown.
    /// - Returns: the reason, in words; nil for an error that is not the baseline's.
    static func refusal(_ error: any Error) -> String? { ImportFault.refusal(error) }

    /// Joins it; records that are equal then stay marked, see ``StoreFile/resolve(by:)``.
    ///
    /// - Parameters:
    ///   - header: what the baseline says of itself.
    ///   - isRebuilding: whether the store has been emptied for it, so that its own logs come back too.
    ///   - db: with foreign keys and CHECKs off.
    /// - Returns: what came of it; of tables that were empty it names no records.
    /// - Throws: `LogFault` where a record cannot be what it says, or GRDB's errors.
    func join(_ header: BaselineHeader, isRebuilding: Bool = false, _ db: Database) throws -> ImportTransaction.Outcome {
        let outcome = try ImportTransaction.perform(sealer, relations: .leave, db) { transaction in
            try join(header, isRebuilding: isRebuilding, transaction)
        }
        Waypoint.joinApplied.pass()
        return outcome
    }

    private func join(_ header: BaselineHeader, isRebuilding: Bool, _ transaction: ImportTransaction) throws {
        let db = transaction.db
        let numbers = try enterPeers(header, db)
        let peers = try StoreKnowledge.peers(db)
        transaction.peers = peers
        try transaction.conflicts.begin(header, attachedAs: schema, peers: peers)
        let isOlder = LogTableMapping.isOlder(header.schema, than: migrations)
        let mapped = header.tables.compactMap { table -> (table: BaselineHeader.Table, mapping: LogTableMapping)? in
            guard case .mapped(let mapping) = LogTableMapping.find(table.table, isOlder: isOlder, among: shapes) else { return nil }
            return (table, mapping)
        }
        transaction.outcome.wholeTables = try fill(mapped, header, numbers, db)
        for (table, mapping) in mapped {
            if !transaction.outcome.wholeTables.contains(mapping.shape.name) {
                let importer = try TableImporter(mapping, peers: peers, conflicts: transaction.conflicts, related: transaction.related, db)
                importer.lives = LifeLimit(header.knowledge)
                try join(table, by: importer, numbers, author: peers[header.peer]!, clock: header.clock, &transaction.outcome.notice, db)
            }
            if let related = transaction.related { try enterFacts(of: table, related, mapping.shape, db) }
            Waypoint.joinTable.pass()
        }
        try StoreKnowledge.join(header.knowledge, from: schema, numbers: numbers, own: isRebuilding ? nil : transaction.state.peer, db)
        transaction.state.clock = max(transaction.state.clock, header.clock)
        do {
            try transaction.resolve(.postpone)
            if !transaction.outcome.isResolved { try tryUniting(peers, transaction.state, db) }
        } catch let error as UbiquitousStoreError where error.code == .malformed {
            // The store was sound before.
            throw LogFault.damaged("it holds records that this store's schema cannot show")
        }
    }

    /// Makes one of records that are equal, and undoes it: a record that then stands in its own way is found while it is known whose it is.
    private func tryUniting(_ peers: PeerTable, _ state: StoreState, _ db: Database) throws {
        try db.inSavepoint {
            var (state, notice) = (state, ImportNotice())
            if let related = RelatedTables(shapes, db) { try sealer.resolve(related, peers: peers, state: &state, notice: &notice, db) }
            return .rollback
        }
    }

    /// Gives the baseline's peers numbers here.
    private func enterPeers(_ header: BaselineHeader, _ db: Database) throws -> PeerNumbers {
        var peers = try StoreKnowledge.peers(db)
        // In a store that knows nobody they keep theirs.
        if peers.all.isEmpty {
            for (number, peer) in header.peers {
                try db.execute(sql: "INSERT INTO ubiquity_peer VALUES (?,?)", arguments: [number, peer.description])
            }
            peers = try StoreKnowledge.peers(db)
        }
        return PeerNumbers(
            try header.peers.mapValues { try StoreKnowledge.number(of: $0, in: &peers, db).rawValue })
    }

    // MARK: As a whole

    /// Fills the tables that are empty; returns their names.
    ///
    /// A row of the baseline is shown as it is where its writer's were all there was. So tables that relate to others are filled together, or none of them.
    private func fill(
        _ tables: [(table: BaselineHeader.Table, mapping: LogTableMapping)], _ header: BaselineHeader, _ numbers: PeerNumbers, _ db: Database
    ) throws -> Set<String> {
        guard header.schema == migrations.last ?? "" else { return [] }
        func isFilled(_ table: BaselineHeader.Table, _ shape: TableShape) throws -> Bool {
            guard try table.table == shape.logTable && Self.isEmpty(shape, db) else { return false }
            return try fill(shape, from: table.number, numbers, db)
        }
        var filled: Set<String> = []
        for (table, mapping) in tables where try !mapping.shape.isRelated && isFilled(table, mapping.shape) { filled.insert(mapping.shape.name) }
        let related = tables.filter(\.mapping.shape.isRelated)
        guard related.count == shapes.count(where: \.isRelated) else { return filled }
        for (index, (table, mapping)) in related.enumerated() where try !isFilled(table, mapping.shape) {
            for (_, mapping) in related[..<index] { try CaptureTriggers(mapping.shape).suspended(db) { try Self.empty(mapping.shape, db) } }
            return filled
        }
        // The writer has shown no row without its parent, and none of two that a rule forbids, but anybody may be the writer, also one without the rule.
        for (_, mapping) in related {
            try RelationTables(shape: mapping.shape).markOrphans(db)
            try RelationTables(shape: mapping.shape).markDuplicates(db)
        }
        return filled.union(related.map(\.mapping.shape.name))
    }

    /// Fills an empty table; false where a rule of the schema stands in the way, so that nothing was filled.
    ///
    /// A savepoint would keep a copy of each page that was in use before the transaction; a table that was empty is emptied.
    private func fill(_ shape: TableShape, from number: Int64, _ numbers: PeerNumbers, _ db: Database) throws -> Bool {
        let source = schema
        let keys = shape.ownKeyColumns
        let values = shape.columns.isEmpty ? "" : ", \(shape.ownValueColumns)"
        let names = (shape.keyColumns + shape.columns).map(\.quotedIdentifier).joined(separator: ", ")
        // The rows get the numbers that they have in the baseline, so that clocks follow without a look at them.
        let rowid = shape.hasRowid && !shape.isRowidKey ? "rowid, " : ""
        let place = shape.hasRowid ? (shape.isRowidKey ? "k0" : "rowid") : keys
        let local = shape.localColumns.indices.map { ", x\($0)" }.joined()
        let defaults = shape.localColumns.map { _ in ", ?" }.joined()
        let onConflict = try TableImporter.onConflict(shape.name, db)
        return try numbers.withFunctions(db) { peer, others in
            let clock = "life, time, \(peer("peer")), columns, \(others("others"))"
            return try CaptureTriggers(shape).suspended(db) {
                do {
                    try db.execute(
                        sql: """
                            INSERT\(onConflict) INTO main.\(shape.name.quotedIdentifier) (\(rowid)\(names))
                            SELECT \(rowid)\(keys)\(values) FROM \(source).record_\(number) ORDER BY rowid;
                            INSERT OR FAIL INTO main.\(shape.clockTable) SELECT \(place), \(clock) FROM \(source).record_\(number) ORDER BY rowid;
                            INSERT OR FAIL INTO main.\(shape.deadTable) SELECT \(keys), life FROM \(source).dead_\(number) ORDER BY rowid;
                            """)
                    let aside = try RawStatement(
                        """
                        INSERT OR FAIL INTO main.\(shape.asideTable) (\(keys), life, time, peer, columns, others\(values)\(local), \(RelationTables(shape: shape).list("s")), held)
                        SELECT \(keys), \(clock)\(values)\(defaults), \(keys), '' FROM \(source).other_\(number)
                        """, db)
                    for (index, value) in shape.localDefaults.enumerated() { aside.bind(index + 1, value) }
                    try aside.run()
                    guard try shape.hasRowid || Self.hasClocks(shape, db) else {
                        try Self.empty(shape, db)
                        return false
                    }
                } catch let error as DatabaseError where error.fault.isContent {
                    // A key that this schema stores otherwise, or a rule that its migrations do not tell of: one by one, then.
                    try Self.empty(shape, db)
                    return false
                }
                try db.execute(
                    sql: """
                        INSERT OR IGNORE INTO main.\(shape.unresolvedTable) SELECT \(keys) FROM main.\(shape.asideTable);
                        INSERT OR IGNORE INTO main.\(shape.unresolvedTable) SELECT \(RelationTables(shape: shape).list("a")) FROM main.\(shape.sameTable);
                        """)
                return true
            }
        }
    }

    private static func isEmpty(_ shape: TableShape, _ db: Database) throws -> Bool {
        try tables(of: shape).allSatisfy { table in try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM main.\(table))")! }
    }

    /// Whether each row has its clock, where both are found by the key: a column's type may have changed that in the row.
    private static func hasClocks(_ shape: TableShape, _ db: Database) throws -> Bool {
        let isClock = shape.keyColumns.enumerated().map { "c.k\($0) = t.\($1.quotedIdentifier)" }.joined(separator: " AND ")
        let hasNone = "NOT EXISTS (SELECT 1 FROM main.\(shape.clockTable) c WHERE \(isClock))"
        return try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM main.\(shape.name.quotedIdentifier) t WHERE \(hasNone))")!
    }

    private static func empty(_ shape: TableShape, _ db: Database) throws {
        for table in tables(of: shape) { try db.execute(sql: "DELETE FROM main.\(table)") }
    }

    /// What holds a table's records.
    private static func tables(of shape: TableShape) -> [String] {
        [shape.name.quotedIdentifier, shape.clockTable, shape.deadTable, shape.asideTable]
    }

    // MARK: Record by record

    private func join(
        _ table: BaselineHeader.Table, by importer: TableImporter, _ numbers: PeerNumbers, author: PeerNumber, clock: HybridTime,
        _ notice: inout ImportNotice, _ db: Database
    ) throws {
        func note(_ kind: ImportNotice.Kind?, _ key: [RecordValue]) {
            let name = importer.shape.name
            for removed in importer.removedRows { notice.add(.delete, ObjectID(table: name, key: removed)) }
            importer.removedRows = []
            if let kind { notice.add(kind, ObjectID(table: name, key: key)) }
        }
        let keys = table.table.keyColumns.count
        var change = LogBody.Change()
        try numbers.withFunctions(db) { peer, others in
            for source in ["record", "other"] {
                let rows = try RawStatement(
                    "SELECT * FROM \(schema).\(source)_\(table.number) r \(try news(of: importer, peer: peer, others: others, db)) ORDER BY rowid",
                    db)
                defer { rows.reset() }
                while try rows.step() {
                    var clock = try ClockTable.clock(rows, from: keys)
                    try numbers.apply(to: &clock)
                    let key = (0..<keys).map { rows.value($0).detached }
                    let all = ColumnSet(first: table.table.columns.count)
                    let parts = clock.byStamp(all).map { stamp, columns in
                        // What nobody has said has no stamp, and is not told.
                        let told = stamp == .least ? columns.numbers.filter { importer.isSaid(rows.value(keys + 5 + $0), ofListed: $0) } : nil
                        return (stamp: stamp, columns: told.map { $0.reduce(into: ColumnSet()) { $0.insert(ColumnSet(column: $1)) } } ?? columns)
                    }
                    if parts.count(where: { !$0.columns.isEmpty }) > 1, try importer.life(of: key) < clock.life {
                        (change.life, change.key, change.columns) = (clock.life, key, all)
                        change.values = all.numbers.map { rows.value(keys + 5 + $0) }
                        note(try importer.begin(&change, clock), key)
                        continue
                    }
                    // A change has one stamp: most records have no other.
                    for (stamp, columns) in parts where !columns.isEmpty || stamp != .least || !clock.hasStamps {
                        change.life = clock.life
                        change.key = key
                        change.columns = columns
                        change.values = columns.numbers.map { rows.value(keys + 5 + $0) }
                        note(try importer.join(&change, stamp: stamp), key)
                    }
                }
            }
        }
        let dead = try RawStatement("SELECT * FROM \(schema).dead_\(table.number) ORDER BY rowid", db)
        defer { dead.reset() }
        while try dead.step() {
            let key = (0..<keys).map { dead.value($0).detached }
            (change.life, change.key, change.columns, change.values) = (dead.integer(keys), key, [], [])
            note(try importer.join(&change, stamp: Stamp(clock, author)), key)
        }
    }

    /// A condition on the baseline's records that leaves out most of those that are here just as they are there.
    ///
    /// Joining one of these does nothing, and costs ten times as much as the look at it.
    private func news(of importer: TableImporter, peer: (String) -> String, others: (String) -> String, _ db: Database) throws -> String {
        let shape = importer.shape
        let hasAsides = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM main.\(shape.asideTable))")!
        guard importer.isIdentity, !hasAsides else { return "" }
        let isClock = shape.hasRowid ? "c.rid = t.rowid" : shape.keyColumns.indices.map { "c.k\($0) = r.k\($0)" }.joined(separator: " AND ")
        let keys = shape.keyColumns.enumerated().map { "t.\($1.quotedIdentifier) = r.k\($0)" }
        let clock = ["life", "time", "columns"].map { "c.\($0) = r.\($0)" } + ["c.peer = \(peer("r.peer"))", "c.others IS \(others("r.others"))"]
        // Two branches of one identifier may have given one stamp to two values.
        let values = shape.columns.enumerated().flatMap { number, column in
            let name = "t.\(column.quotedIdentifier)"
            let isSame = "NOT (\(ExactComparison.differ(name, "r.v\(number)")))"
            // Of zeros only the merge itself sees the sign.
            return shape.untyped.contains(ColumnSet(column: number)) ? [isSame, "NOT (\(ExactComparison.isZero(name)))"] : [isSame]
        }
        return """
            WHERE NOT EXISTS (SELECT 1 FROM main.\(shape.name.quotedIdentifier) t CROSS JOIN main.\(shape.clockTable) c
            WHERE \((keys + [isClock] + clock + values).joined(separator: " AND ")))
            """
    }

    /// Enters which records are one.
    private func enterFacts(of table: BaselineHeader.Table, _ related: RelatedTables, _ shape: TableShape, _ db: Database) throws {
        let own = try related[shapes.firstIndex { $0.name == shape.name }!]
        let rows = try RawStatement("SELECT * FROM \(schema).same_\(table.number)", db)
        defer { rows.reset() }
        let keys = shape.keyColumns.count
        while try rows.step() {
            func node(_ start: Int) -> RecordNode {
                RecordNode(key: (start..<start + keys).map { rows.value($0).detached }, life: rows.integer(start + keys))
            }
            let fact = SameAs(node(0), node(keys + 1))
            guard try own.enter(fact, since: sealer.now().timeIntervalSince1970) else { continue }
            for node in [fact.first, fact.second] { try own.markUnresolved(node.key) }
        }
    }
}

/// The numbers that a baseline's peers have here.
struct PeerNumbers {
    private let numbers: [Int64: Int64]
    /// Whether they are the same.
    private let isIdentity: Bool

    init(_ numbers: [Int64: Int64]) {
        self.numbers = numbers
        isIdentity = numbers.allSatisfy { $0.key == $0.value }
    }

    /// Puts a clock's numbers into those here.
    func apply(to clock: inout RecordClock) throws {
        guard !isIdentity else { return }
        func here(_ stamp: Stamp) throws -> Stamp {
            if stamp.peer == .nobody { return stamp }
            guard let number = numbers[stamp.peer.rawValue] else { throw LogFault.damaged("a stamp names no peer") }
            return Stamp(stamp.time, PeerNumber(rawValue: number))
        }
        clock.stamp = try here(clock.stamp)
        for index in clock.others.indices { clock.others[index].stamp = try here(clock.others[index].stamp) }
    }

    /// Runs a body with the expressions that give a column of peers, and one of packed stamps, as they are here.
    func withFunctions<Result>(_ db: Database, _ body: (_ peer: (String) -> String, _ others: (String) -> String) throws -> Result) throws -> Result {
        guard !isIdentity else { return try body({ $0 }, { $0 }) }
        let peer = DatabaseFunction("ubiquity_peer_here", argumentCount: 1) { values in
            Int64.fromDatabaseValue(values[0]).map { numbers[$0] ?? 0 }
        }
        let others = DatabaseFunction("ubiquity_others_here", argumentCount: 1) { values in
            guard let bytes = Data.fromDatabaseValue(values[0]), let others = bytes.withUnsafeBytes(RecordClock.unpack) else { return nil }
            var clock = RecordClock(life: 1, stamp: .least, columns: [])
            clock.others = others
            try apply(to: &clock)
            return clock.packedOthers.map { Data($0) }
        }
        for function in [peer, others] { db.add(function: function) }
        defer { for function in [peer, others] { db.remove(function: function) } }
        return try body({ "ubiquity_peer_here(\($0))" }, { "ubiquity_others_here(\($0))" })
    }
}

extension RecordClock {
    /// Whether anything in it has been written with a stamp.
    var hasStamps: Bool { !columns.isEmpty && stamp != .least || !others.isEmpty }

    /// The columns by their stamps, those without one last.
    func byStamp(_ all: ColumnSet) -> [(stamp: Stamp, columns: ColumnSet)] {
        var found: [(stamp: Stamp, columns: ColumnSet)] = []
        if !columns.isEmpty, stamp != .least { found.append((stamp, columns)) }
        var rest = all.subtracting(stamp == .least ? [] : columns)
        for other in others {
            rest.subtract(ColumnSet(column: other.column))
            if let index = found.firstIndex(where: { $0.stamp == other.stamp }) {
                found[index].columns.insert(ColumnSet(column: other.column))
            } else {
                found.append((other.stamp, ColumnSet(column: other.column)))
            }
        }
        // A record that was inserted and nothing more has its life's stamp and no columns.
        if found.isEmpty { return [(.least, rest)] }
        return rest.isEmpty ? found : found + [(.least, rest)]
    }
}
