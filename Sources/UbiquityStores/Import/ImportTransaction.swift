internal import GRDB

/// The one way in which records from elsewhere enter a store's tables: logs, baselines, another file's saves, seeds, and what relations show.
///
/// It seals what the app has noted, so that a write of the app never counts as older than what comes in; suspends capture; lets the body apply what
/// comes in; finds out what the records show; lists the rows that break a CHECK; saves the store's state; and tells observers which tables changed.
/// All of it happens in the transaction of ``StoreFile/importing(attaching:_:)``.
final class ImportTransaction {
    /// What a transaction did.
    struct Outcome {
        var notice = ImportNotice()
        /// Tables that were empty and have been filled, whose records the notice does not name.
        var wholeTables: Set<String> = []
        /// How many values lost, and are listed.
        var conflicts = 0
        /// The records that break a CHECK now, and did not before.
        var broken: [BrokenRecord] = []
        /// Whether no record is left for which it must be found out what it shows.
        var isResolved = true
    }

    /// What happens to records that are marked: their parents, or records that are equal to them, may have come or gone.
    enum Relations {
        /// They are resolved, and equal records become one: so many batches of them.
        case unite(batches: Int)
        /// They are resolved, and equal records wait: they may differ again at the end of the import.
        case postpone
        /// They stay marked.
        case leave
    }

    let sealer: Sealer
    let db: Database
    /// The store's state, which is saved at the end.
    var state: StoreState
    var peers: PeerTable
    let conflicts: ConflictRecorder
    var outcome = Outcome()
    /// Opened by its first user, for it remembers which tables have records aside.
    private(set) lazy var related = RelatedTables(shapes, db)

    var shapes: [TableShape] { sealer.shapes }

    private init(_ sealer: Sealer, _ db: Database) throws {
        self.sealer = sealer
        self.db = db
        state = try StoreState.read(db)
        peers = try StoreKnowledge.peers(db)
        conflicts = try ConflictRecorder(now: sealer.now(), db)
    }

    /// Imports.
    ///
    /// - Parameters:
    ///   - sealer: the store's.
    ///   - earlier: what earlier transactions of the same import did.
    ///   - retention: how many lost values stay listed; nil where the body finds none.
    ///   - relations: what happens to the records that are marked at the end.
    ///   - db: in the transaction of ``StoreFile/importing(attaching:_:)``.
    ///   - body: applies what comes in, and moves the state on.
    /// - Returns: what the transaction did, with what the earlier ones did.
    /// - Throws: what the body throws, GRDB's errors, and what an election throws. The transaction must be rolled back then.
    static func perform(
        _ sealer: Sealer, after earlier: Outcome = Outcome(), retention: ConflictRetention? = nil, relations: Relations, _ db: Database,
        _ body: (ImportTransaction) throws -> Void
    ) throws -> Outcome {
        try sealer.seal(db)
        Waypoint.importSealed.pass()
        return try Capture.suspended(db) {
            let transaction = try ImportTransaction(sealer, db)
            transaction.outcome = earlier
            try body(transaction)
            try transaction.finish(retention, relations)
            return transaction.outcome
        }
    }

    /// Finds out what marked records show.
    ///
    /// - Parameter relations: whether equal records become one.
    /// - Throws: GRDB's errors, what an election throws, and `UbiquitousStoreError` with `malformed` where a record cannot be shown.
    func resolve(_ relations: Relations) throws {
        guard let related else { return }
        switch relations {
        case .leave: break
        case .postpone:
            outcome.isResolved = try sealer.resolve(related, peers: peers, state: &state, notice: &outcome.notice, unites: false, db)
        case .unite(let batches):
            outcome.isResolved = try sealer.resolve(related, peers: peers, state: &state, notice: &outcome.notice, batches: batches, db)
        }
    }

    private func finish(_ retention: ConflictRetention?, _ relations: Relations) throws {
        try resolve(relations)
        try state.update(db)
        outcome.conflicts += conflicts.count
        if let retention, conflicts.count > 0 { try ConflictHistory(db).prune(retention, now: sealer.now()) }
        outcome.broken += try broken()
        for shape in shapes where outcome.notice.touches(shape.name) || outcome.wholeTables.contains(shape.name) {
            try db.notifyChanges(in: Table(shape.name))
        }
    }

    /// Looks at the rows that have changed, with the app's CHECKs on.
    private func broken() throws -> [BrokenRecord] {
        var broken: [BrokenRecord] = []
        var isChecking = false
        // As they were for the whole transaction: more may come in with it.
        defer { if isChecking { try? db.execute(sql: "PRAGMA ignore_check_constraints = 1") } }
        let changed = outcome.notice.inserted.union(outcome.notice.updated).union(outcome.notice.deleted)
        for shape in shapes {
            let isWhole = outcome.wholeTables.contains(shape.name)
            guard isWhole || outcome.notice.touches(shape.name), let inspector = try CheckInspector(shape, db) else { continue }
            if !isChecking { try db.execute(sql: "PRAGMA ignore_check_constraints = 0") }
            isChecking = true
            if isWhole { broken += try inspector.inspectAll() }
            for record in changed where record.table == shape.name { if let found = try inspector.inspect(record) { broken.append(found) } }
        }
        return broken
    }
}

/// The triggers that note what the app writes.
enum Capture {
    /// What `ubiquity_import.active` says of the writes of a connection.
    enum Mode: Int {
        /// The app writes: the triggers note it.
        case noting = 0
        /// An import or a seeding writes: nothing is noted.
        case importing = 1
        /// A column's policy puts a value back into a row that the app has written: nothing is noted.
        case puttingBack = 2
    }

    /// Says what is written from here on.
    static func set(_ mode: Mode, _ db: Database) throws { try db.execute(sql: statement(mode)) }

    /// The statement that says what is written from here on, for a trigger too.
    static func statement(_ mode: Mode) -> String { "UPDATE ubiquity_import SET active = \(mode.rawValue)" }

    /// Does something of which they note nothing.
    ///
    /// After an error the transaction must be rolled back.
    static func suspended<Result>(_ db: Database, _ body: () throws -> Result) throws -> Result {
        try set(.importing, db)
        let result = try body()
        try set(.noting, db)
        return result
    }
}
