package import Foundation
package import GRDB
internal import StoreFormat
internal import UbiquityContainers

/// Turns captured changes into stamps and a log, inside the caller's transaction.
///
/// A save and its log are one SQLite transaction, so a crash leaves both or neither.
package struct Sealer: Sendable {
    package let shapes: [TableShape]
    /// The last migration of the app's schema, for the log's header.
    package let schemaVersion: String
    package let now: @Sendable () -> Date
    /// Whether a log waits for the next saves.
    package var coalesces = false
    /// The size in bytes above which a value becomes a file of its own.
    package var largeValueSize = Int.max
    /// The size in bytes above which a save is split into several logs of about this size.
    var logSize = 4 << 20
    /// The statement that finds the tables with captured changes.
    private let noteQuery: String
    /// Whether the store lies in a container with a scope, so that its logs claim rights.
    package var isScoped = false
    /// Lists the changes of the file.
    package var journal = ChangeJournal(retention: HistoryRetention())
    /// The app's elections, by table name.
    package var elections: [String: SyncedTable.Election] = [:]
    /// The app's choices of a free value to show when another record holds a value, by table and column.
    package var choices: [String: [String: SyncedTable.Exclusive.Choice]] = [:]

    package init(
        shapes: [TableShape], schemaVersion: String, now: @escaping @Sendable () -> Date, coalesces: Bool = false, largeValueSize: Int = Int.max,
        logSize: Int = 4 << 20, elections: [String: SyncedTable.Election] = [:], choices: [String: [String: SyncedTable.Exclusive.Choice]] = [:]
    ) {
        self.shapes = shapes
        noteQuery = "SELECT " + shapes.map { "EXISTS (SELECT 1 FROM \($0.captureTable))" }.joined(separator: ", ")
        self.schemaVersion = schemaVersion
        self.now = now
        self.coalesces = coalesces
        self.largeValueSize = largeValueSize
        self.logSize = logSize
        self.elections = elections
        self.choices = choices
    }

    /// Seals all captured changes.
    ///
    /// A process seals its own writes at once. Whatever else it finds captured, another program has written.
    ///
    /// - Parameters:
    ///   - db: the store, in a transaction.
    ///   - isOwn: whether the history lists the changes as those of this opening.
    /// - Returns: the sequence of the last new log, or nil if nothing has changed.
    /// - Throws: `UbiquitousStoreError` with `malformed` if a captured change is damaged; GRDB's errors.
    @discardableResult
    package func seal(_ db: Database, isOwn: Bool = false) throws -> Int64? {
        var folds: [(shape: TableShape, fold: CaptureFold)] = []
        for index in try noted(db) {
            let fold = try notes(of: shapes[index], db)
            if let fold { folds.append((shapes[index], fold)) }
        }
        guard !folds.isEmpty else { return nil }
        let state = try StoreState.read(db)
        // A log names its peer and epoch, which are settled once the store is attached. The notes wait until then.
        guard state.attached, try !Adopter.isTakingRows(db) else { return nil }
        guard isScoped else { return try seal(folds, state, isOwn: isOwn, db) }
        // Each kind of table has a clock of its own: another account's stamps never move the one of an account's records.
        let curated = folds.filter { $0.shape.isCurated }
        if !curated.isEmpty { try sealCurated(curated, state, isOwn: isOwn, db) }
        let contributed = folds.filter { !$0.shape.isCurated }
        let present = curated.isEmpty ? state : try StoreState.read(db)
        return try contributed.isEmpty ? present.sequence : seal(contributed, present, isOwn: isOwn, db)
    }

    private func sealCurated(_ folds: [(shape: TableShape, fold: CaptureFold)], _ given: StoreState, isOwn: Bool, _ db: Database) throws {
        var (state, scope) = (given, try ScopeState.read(db))
        state.clock = scope.clock
        // Changes that undo each other make no log.
        guard try seal(folds, state, isOwn: isOwn, db) != nil else { return }
        state = try StoreState.read(db)
        scope.clock = max(scope.clock, state.clock)
        state.clock = given.clock
        try state.update(db)
        try scope.update(db)
    }

    private func seal(_ folds: [(shape: TableShape, fold: CaptureFold)], _ state: StoreState, isOwn: Bool, _ db: Database) throws -> Int64? {
        let time = HybridTime.next(after: state.clock, wall: HybridTime(now()))
        let stamp = Stamp(time, try StoreKnowledge.number(of: state.peer, db))
        let related = RelatedTables(shapes, db)
        let save = SaveWriter(self, at: time, state, db)
        var draft = try journal.isActive(db) ? ChangeDraft() : nil
        for (shape, fold) in folds {
            var table = try TableSealer(shape: shape, stamp: stamp, values: values(db), related: related, db)
            table.passOn(from: logSize) { count, rows in try save.add(shape.logTable, count: count, rows: rows) }
            try table.seal(fold)
            try save.add(shape.logTable, count: table.count, rows: table.rows)
            if shape.name == Moderation.table {
                try Overlay.mark(String.fetchSet(db, sql: "SELECT k0 FROM \(shape.captureTable)"), shapes, db)
            }
            draft?.add(table.listed, of: shape, by: stamp)
            try db.cachedStatement(sql: "DELETE FROM \(shape.captureTable)").execute()
        }
        try related?.limit?.settle()
        let saved = try save.finish()
        if let draft { try (isOwn ? journal : journal.ofOthers).append(draft, .save, now: now(), db) }
        return saved?.sequence
    }

    /// Returns a writer of values.
    ///
    /// A value larger than a log can be does not fit into a log.
    package func values(_ db: Database) -> LargeValues { LargeValues(limit: min(largeValueSize, logSize), db) }

    /// Returns whether a captured change is not sealed yet.
    package func hasNotes(_ db: Database) throws -> Bool {
        try !noted(db).isEmpty
    }

    /// Returns the indexes of the tables with captured changes.
    ///
    /// One statement looks at all of them, because each save and each reason to exchange asks.
    private func noted(_ db: Database) throws -> [Int] {
        let statement = try RawStatement(noteQuery, db)
        defer { statement.reset() }
        return try statement.step() ? shapes.indices.filter { statement.integer($0) != 0 } : []
    }

    /// Makes a log of a body, and appends it to the outbox.
    ///
    /// - Parameters:
    ///   - body: the changes of the log.
    ///   - time: its stamp.
    ///   - part: the number of earlier logs of the save.
    ///   - goesOn: whether the save continues in the next log.
    ///   - state: the state of the store, which is updated and saved.
    ///   - db: the store, in a transaction.
    /// - Throws: GRDB's errors.
    func post(_ body: LogBodyBuilder, at time: HybridTime, part: Int64 = 0, goesOn: Bool = false, state: inout StoreState, _ db: Database) throws {
        // A rebuilt store may have taken in its own logs.
        var news = try StoreKnowledge.others(db, told: false).without(state.peer)
        // No log waits for another account's.
        if isScoped { news = news.filtered { $0.account == state.peer.account } }
        var header = LogHeader(
            peer: state.peer, contentName: state.content, epoch: state.epoch, sequence: state.sequence + 1, predecessor: state.predecessor,
            news: news, schema: schemaVersion, created: now(), saves: part == 0 ? 1 : 0, changes: Int64(body.changes))
        (header.part, header.goesOn) = (part, goesOn)
        if isScoped { header.rights = try ScopeState.rights(db) }
        let hash = try Outbox.append(header, body: body.encoded(time: time), time: time, isOpen: coalesces, db)
        if !header.news.isEmpty { try StoreKnowledge.markTold(db) }
        state.sequence = header.sequence
        state.predecessor = hash
        try state.update(db)
    }

    /// Determines the rows for marked records and shows them.
    ///
    /// Facts that other peers cannot derive go into a log.
    ///
    /// - Parameters:
    ///   - tables: the tables with their aside records.
    ///   - peers: the order of peers, for stamps.
    ///   - state: the state of the store, which is updated.
    ///   - changes: collects the changes of rows.
    ///   - unites: whether equal records become one. Otherwise they stay marked. Records that are equal during an
    ///     import may differ at its end, and a same-as fact is permanent.
    ///   - batches: the maximum number of full batches. The remaining records stay marked.
    ///   - db: the store, in a transaction with foreign keys and CHECKs off.
    /// - Returns: whether no record is marked any more.
    /// - Throws: GRDB's errors, and the errors of an election.
    @discardableResult
    package func resolve(
        _ tables: RelatedTables, peers: PeerTable, state: inout StoreState, changes: inout RecordChanges, unites: Bool = true, batches: Int = .max,
        _ db: Database
    ) throws -> Bool {
        let own = try StoreKnowledge.number(of: state.peer, db)
        var orderedPeers = peers
        orderedPeers.insert(state.peer, as: own)
        let time = HybridTime.next(after: state.clock, wall: HybridTime(now()))
        let rights = shapes.contains { $0.access != nil } ? try AuthorityRow.read(db) : nil
        if rights != nil { try tables.markEqualForeigners() }
        let resolver = Resolver(
            tables, peers: orderedPeers, elections: elections, now: now().timeIntervalSince1970, stamp: Stamp(time, own), choices: choices,
            unites: unites, rights: rights, overlay: try Overlay(tables, db))
        let isDone = try resolver.resolve(batches: batches)
        changes.add(resolver.changes)
        let save = SaveWriter(self, at: time, state, db)
        for (table, fact) in resolver.facts { try save.add(shapes[table].logTable, fact) }
        let values = values(db)
        for (table, registers, columns) in resolver.elected {
            var rows = WireWriter()
            rows.varint(UInt64(registers.clock.life))
            for value in registers.key { rows.recordValue(value) }
            rows.varint(UInt64(columns.rawValue))
            for column in columns.numbers { try values.write(registers.values[column], to: &rows) }
            try save.add(shapes[table].logTable, count: 1, rows: rows)
        }
        if let saved = try save.finish() { state = saved }
        return isDone
    }

    /// Reads the notes of one table.
    ///
    /// Returns nil if there are none.
    private func notes(of shape: TableShape, _ db: Database) throws -> CaptureFold? {
        let statement = try RawStatement(
            "SELECT id, operation, rid, columns, \(shape.ownKeyColumns) FROM \(shape.captureTable) ORDER BY id", db)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        var fold = CaptureFold(allColumns: shape.allColumns)
        repeat {
            let note = statement.integer(0)
            func key() -> [RecordValue] { shape.keyColumns.indices.map { statement.value(4 + $0) } }
            let place = shape.hasRowid ? Place.rowid(statement.integer(2)) : .key(key())
            switch CaptureTriggers.Operation(rawValue: statement.integer(1)) {
            case .inserted: fold.inserted(place)
            case .updated: fold.updated(place, ColumnSet(rawValue: statement.integer(3)), note: note)
            case .challenged: fold.challenged(place, key: key(), note: note)
            case .deleted: fold.deleted(place, key: key(), note: note)
            case nil: throw UbiquitousStoreError(.malformed, "\(shape.captureTable) holds a note of an unknown kind.")
            }
        } while try statement.step()
        return fold
    }
}
