package import GRDB
internal import StoreFormat

/// The one way in which records from elsewhere enter a store's tables: logs, baselines, another file's saves, seeds,
/// and rows that relations show.
///
/// It seals the app's captured changes first, so that a write of the app never counts as older than the import. Then it
/// suspends capture, lets the body apply the import, resolves the records, lists the rows that break a CHECK, saves the
/// store's state, and tells observers which tables changed. All of it happens in the transaction of
/// ``StoreFile/importing(attaching:_:)``.
package final class ImportTransaction {
    /// The outcome of a transaction.
    package struct Outcome {
        package var changes = RecordChanges()
        /// The tables that were empty and have been filled.
        ///
        /// The changes do not name their records.
        package var wholeTables: Set<String> = []
        /// The number of values that lost and are listed as conflicts.
        package var conflicts = 0
        /// The records that break a CHECK now and did not before.
        package var broken: [BrokenRecord] = []
        /// The changes that a gate has kept from having an effect.
        package var rejected = RejectedChanges()
        /// Whether every marked record is resolved.
        var isResolved = true
    }

    /// The treatment of marked records, whose parents or equal records may have come or gone.
    package enum Relations {
        /// Resolves them and unites equal records, up to a number of batches.
        case unite(batches: Int)
        /// Resolves them, but does not unite equal records, because they may differ at the end of the import.
        case postpone
        /// Leaves them marked.
        case leave
    }

    let sealer: Sealer
    package let db: Database
    /// The state of the store, which is saved at the end.
    package var state: StoreState
    package var peers: PeerTable
    package let conflicts: ConflictRecorder
    var outcome = Outcome()
    /// Changes that are listed in the history alone, because nobody is notified of them.
    var unannounced = RecordChanges()
    /// The number of changes that have been examined for records to hold.
    private var examined = 0
    /// The tables with dead records, for the importers of logs.
    private(set) lazy var deadRecords = DeadRecords(db)
    /// The related tables.
    ///
    /// They are opened at first use, because they cache which tables have aside records.
    private(set) lazy var related = RelatedTables(shapes, db)

    var shapes: [TableShape] { sealer.shapes }

    private init(_ sealer: Sealer, _ db: Database) throws {
        self.sealer = sealer
        self.db = db
        state = try StoreState.read(db)
        peers = try StoreKnowledge.peers(db)
        conflicts = try ConflictRecorder(now: sealer.now(), db)
    }

    /// Runs an import.
    ///
    /// - Parameters:
    ///   - sealer: the sealer of the store.
    ///   - origin: the occasion, for the history of changes.
    ///   - earlier: the outcome of earlier transactions of this import.
    ///   - retention: the limits for keeping conflicts. Nil if the body finds none.
    ///   - relations: the treatment of records that are marked at the end.
    ///   - db: the store, in the transaction of ``StoreFile/importing(attaching:_:)``.
    ///   - body: applies the import, and updates the state.
    /// - Returns: the outcome of this transaction, added to the earlier outcome.
    /// - Throws: the error of the body, GRDB's errors, and the errors of an election. The transaction must be rolled
    ///   back then.
    package static func perform(
        _ sealer: Sealer, _ origin: ChangeTransaction.Origin, after earlier: Outcome = Outcome(), retention: ConflictRetention? = nil,
        relations: Relations, _ db: Database, _ body: (ImportTransaction) throws -> Void
    ) throws -> Outcome {
        try sealer.seal(db)
        Waypoint.importSealed.pass()
        return try Capture.suspended(db) {
            let transaction = try ImportTransaction(sealer, db)
            transaction.outcome = earlier
            try body(transaction)
            try transaction.finish(retention, relations)
            try transaction.list(after: earlier, origin)
            return transaction.outcome
        }
    }

    /// Determines the rows for marked records and shows them.
    ///
    /// - Parameter relations: whether equal records become one.
    /// - Throws: GRDB's errors, the errors of an election, and `UbiquitousStoreError` with `malformed` if a record
    ///   cannot be shown.
    package func resolve(_ relations: Relations) throws {
        guard let related else { return }
        try related.limit?.settle()
        try markModerated()
        try markBroken()
        switch relations {
        case .leave: break
        case .postpone:
            outcome.isResolved = try sealer.resolve(related, peers: peers, state: &state, changes: &outcome.changes, unites: false, db)
        case .unite(let batches):
            outcome.isResolved = try sealer.resolve(related, peers: peers, state: &state, changes: &outcome.changes, batches: batches, db)
        }
    }

    private func finish(_ retention: ConflictRetention?, _ relations: Relations) throws {
        try resolve(relations)
        try state.update(db)
        outcome.conflicts += conflicts.count
        if let retention, conflicts.count > 0 { try ConflictHistory(db).prune(retention, now: sealer.now()) }
        outcome.broken += try broken()
        for shape in shapes where outcome.changes.touches(shape.name) || outcome.wholeTables.contains(shape.name) {
            try db.notifyChanges(in: Table(shape.name))
        }
    }

    /// Lists the changes of this transaction in the history.
    private func list(after earlier: Outcome, _ origin: ChangeTransaction.Origin) throws {
        let whole = outcome.wholeTables.subtracting(earlier.wholeTables)
        let start = earlier.changes.list.count
        guard !whole.isEmpty || outcome.changes.list.count > start || !unannounced.list.isEmpty, try sealer.journal.isActive(db) else { return }
        var draft = ChangeDraft()
        draft.add(whole: shapes.filter { whole.contains($0.name) })
        draft.add(outcome.changes, from: start, shapes, leavingOut: whole)
        draft.add(unannounced, from: 0, shapes, leavingOut: whole)
        try sealer.journal.append(draft, origin, now: sealer.now(), db)
    }

    /// Marks the records that changed decisions of moderators concern.
    private func markModerated() throws {
        guard outcome.changes.touches(Moderation.table) else { return }
        let changed = outcome.changes.list[examined...].lazy.filter { $0.id.table == Moderation.table }
        let subjects = changed.compactMap { change -> String? in
            guard case .text(let subject)? = change.id.key.first else { return nil }
            return String(decoding: subject, as: UTF8.self)
        }
        try Overlay.mark(Set(subjects), shapes, db)
    }

    /// Marks the changed rows that break a CHECK, in tables in which such a record is held.
    private func markBroken() throws {
        let (start, whole) = (examined, outcome.wholeTables)
        examined = outcome.changes.list.count
        let tables = shapes.filter { $0.holdsBroken && (whole.contains($0.name) || outcome.changes.touches($0.name)) }
        guard !tables.isEmpty else { return }
        try db.execute(sql: "PRAGMA ignore_check_constraints = 0")
        defer { try? db.execute(sql: "PRAGMA ignore_check_constraints = 1") }
        for shape in tables {
            guard let inspector = try CheckInspector(shape, db) else { continue }
            let changed = outcome.changes.list[start...].lazy.filter { $0.id.table == shape.name && $0.kind != .delete }.map(\.id.key)
            for key in try whole.contains(shape.name) ? inspector.brokenKeys() : inspector.broken(among: Set(changed)) {
                try related![shapes.firstIndex { $0.name == shape.name }!].markUnresolved(key)
            }
        }
    }

    /// Examines the changed rows, with the app's CHECKs on.
    private func broken() throws -> [BrokenRecord] {
        var broken: [BrokenRecord] = []
        var isChecking = false
        // CHECKs go off again for the rest of the transaction, which may import more.
        defer { if isChecking { try? db.execute(sql: "PRAGMA ignore_check_constraints = 1") } }
        lazy var notice = outcome.changes.notice
        for shape in shapes where !shape.holdsBroken {
            let isWhole = outcome.wholeTables.contains(shape.name)
            guard isWhole || outcome.changes.touches(shape.name), let inspector = try CheckInspector(shape, db) else { continue }
            if !isChecking { try db.execute(sql: "PRAGMA ignore_check_constraints = 0") }
            isChecking = true
            if isWhole { broken += try inspector.inspectAll() }
            for changed in [notice?.inserted, notice?.updated, notice?.deleted].compactMap(\.self) {
                for record in changed where record.table == shape.name { if let found = try inspector.inspect(record) { broken.append(found) } }
            }
        }
        return broken
    }
}
