internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Publishes a store's logs, and joins those of others.
struct LogExchange {
    let context: ExchangeContext
    let peer: PeerIdentifier
    let epoch: Int64

    init(_ context: ExchangeContext, _ peer: PeerIdentifier, _ epoch: Int64) { (self.context, self.peer, self.epoch) = (context, peer, epoch) }

    init(_ context: ExchangeContext, _ state: StoreState) { self.init(context, state.peer, state.epoch) }

    private var file: StoreFile { context.file }
    private var layout: ContentLayout { context.layout }
    private var baselines: BaselineExchange { BaselineExchange(context, peer, epoch) }

    var planner: ImportPlanner {
        ImportPlanner(
            reader: LogReader(
                layout: layout, contentName: context.contentName, epoch: epoch, shapes: file.shapes, files: context.files,
                migrations: file.migrations))
    }

    func importer(_ reader: LogReader) -> LogImporter {
        LogImporter(
            shapes: file.shapes, sealer: context.sealer, conflictRetention: context.conflictRetention, values: reader.largeValues, reader: reader)
    }

    // MARK: Publishing

    /// Whether anything is noted or waits for more, and whether anything can go out.
    func outbox() throws -> ExchangeOutcome {
        try file.pool.read { db in
            let hasWork =
                try context.sealer.hasNotes(db) || Outbox.open(db).count > 0 || RelatedTables.hasUnresolved(file.shapes, db)
                || Retirements.areUntold(db)
            return .outbox(hasWork: hasWork, hasLogs: try hasWork || !Outbox.isEmpty(db))
        }
    }

    /// Seals what is noted, and lets go what is due; whether logs wait for more.
    func seal(isDue: Bool) throws -> Bool {
        let limit = context.coalescing?.maximumSize ?? 0
        if file.shapes.contains(where: \.isRelated) {
            try file.pool.write { db in _ = try context.sealer.seal(db) }
            try file.resolve(by: context.sealer)
        }
        return try file.pool.write { db in
            try context.sealer.seal(db)
            // It goes out before anything is passed over because of it: a log with both would be waited for by itself.
            let hasTold = try Retirements.tell(by: context.sealer, db)
            let open = try Outbox.open(db)
            guard isDue || hasTold || open.bytes >= limit else { return open.count > 0 }
            if open.count > 0 { try Outbox.close(maximumSize: limit, db) }
            return false
        }
    }

    // MARK: Listing

    /// Lists what is there.
    func list(_ content: inout KnownContent, _ shelf: inout BaselineShelf) throws {
        shelf.relist()
        let inventory = try file.pool.read { db in
            try ContentInventory(listing: layout, epoch: epoch, register: LogRegister(own: peer, db), files: context.files)
        }
        context.log.detail("listed \(counted(inventory.count, "new log")) and \(counted(inventory.baselines.count, "baseline"))")
        try note(inventory.faults, &shelf)
        content.inventory = inventory
    }

    /// Looks again at the directories of peers that could not be listed: nothing need tell that they can be now.
    func listFaulty(_ content: inout KnownContent, _ shelf: inout BaselineShelf) throws {
        var current = content.inventory
        guard !current.faults.isEmpty else { return }
        try file.pool.read { db in try current.listFaulty(context.folders, epoch: epoch, LogRegister(own: peer, db)) }
        try note(current.faults, &shelf)
        content.inventory = current
    }

    /// Puts directories that cannot be listed on the list of what cannot be used, and takes off it what can be.
    private func note(_ faults: [PeerIdentifier: [PeerFault]], _ shelf: inout BaselineShelf) throws {
        let faulty = faults.flatMap { peer, faults in
            faults.map { QuarantinedLog($0, of: peer, in: layout, epoch: epoch, since: context.now()) }
        }
        try context.quarantine(faulty)
        try forgetQuarantined(besides: Set(faulty.map { [$0.peer, $0.file] }), &shelf)
    }

    /// Takes files off the list of the unusable that are no longer there, baselines that have arrived whole since,
    /// and directories that can be listed.
    private func forgetQuarantined(besides faulty: Set<[String]>, _ shelf: inout BaselineShelf) throws {
        for entry in try file.pool.read({ db in try QuarantinedLog.list(db) }) {
            let name = entry.file
            guard let identifier = PeerIdentifier(entry.peer) else { continue }
            if let baseline = BaselineName(name) {
                let id = BaselineID(peer: identifier, name: baseline)
                if isThere(layout.baseline(id, epoch: epoch)) {
                    guard !shelf.refused.contains(id), let header = try baselines.header(of: id, &shelf),
                        try baselines.verify(id, header, &shelf)
                    else { continue }
                }
            } else if entry.kind == .unreadable {
                if faulty.contains([entry.peer, name]) { continue }
            } else if isThere(layout.logs(of: identifier, epoch: epoch).appending(name)) {
                continue
            }
            context.log.exchange("\(name) of \(entry.peer) is no longer in the way")
            try file.pool.write { db in
                try db.execute(sql: "DELETE FROM ubiquity_quarantine WHERE peer = ? AND file = ?", arguments: [entry.peer, name])
            }
        }
    }

    /// Whether something is at a path, or nobody can tell.
    private func isThere(_ path: FilePath) -> Bool {
        do { return try context.files.kind(of: path) != nil } catch { return true }
    }

    // MARK: Joining

    /// Plans what is joined next.
    func plan(_ content: inout KnownContent, isPassing: Bool) throws -> ExchangeOutcome {
        let plan = try file.pool.read { db in try planner.plan(&content.inventory, isPassing: isPassing, db) }
        for peer in plan.waiting { context.log.detail("waits: \(peer)") }
        try context.quarantine(plan.quarantined.map { QuarantinedLog($0.name.description, of: $0.peer, $0.fault, since: context.now()) })
        content.plan = plan
        return .plan(ready: plan.ready.count, isFull: plan.isFull, isForked: plan.isForked, waiting: plan.waiting)
    }

    /// Joins what is planned; whether a log has been refused.
    func join(_ content: inout KnownContent, _ shelf: inout BaselineShelf) throws -> Bool {
        let (log, progress) = (context.log, context.progress)
        let ready = content.plan.ready
        content.plan = ImportPlan()
        progress.update { $0.begin(ready, here: content.inventory.count) }
        Waypoint.importPlanned.pass()
        let began = ContinuousClock.now
        let outcome = try join(ready, by: importer(planner.reader))
        for ready in ready.prefix(outcome.joined) { log.detail("took in \(ready.name) of \(ready.peer), \(ready.size) bytes") }
        log.exchange("took in \(counted(outcome.joined, "log")) in \(began.elapsed)")
        progress.update { $0.finish(ready.prefix(outcome.joined)) }
        Waypoint.importCommitted.pass()
        shelf.looseBytes += ready.prefix(outcome.joined).reduce(0) { $0 + $1.size }
        context.post(outcome.imported)
        for log in ready.dropFirst(outcome.joined) { content.inventory.insert(log.name, of: log.peer) }
        guard let (refused, refusal) = outcome.refused else { return false }
        content.inventory.set(.faulty, refused.name, of: refused.peer)
        try context.quarantine([
            QuarantinedLog(
                peer: refused.peer.description, file: refused.name.description, kind: .refused, reason: refusal.reason,
                record: refusal.record?.text, since: context.now())
        ])
        return true
    }

    /// Joins logs in one transaction; where one is refused, once more with each by itself.
    private func join(_ logs: [ReadyLog], by importer: LogImporter) throws -> LogImporter.Outcome {
        do {
            return try file.mendingDerived { try file.importing { db in try importer.join(logs, isolating: false, db) } }
        } catch is LogImporter.Refusal {
            return try file.importing { db in try importer.join(logs, isolating: true, db) }
        }
    }

    /// Resolves what an import has marked.
    ///
    /// What is equal in the midst of an import need not be so at its end: a baseline holds what a later log changes.
    /// So a device that joins late finds
    /// no more records equal than those that were there.
    func unite() throws { context.post(try file.resolve(by: context.sealer)) }

    /// Takes records off the list of the broken that a save has put right.
    func recheck() throws {
        guard try file.pool.read({ db in try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_broken)")! }) else { return }
        // With foreign keys off, as all that looks at a copy of a row: SQLite would look for its parent beside the copy.
        try file.importing { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = 0")
            for broken in try CheckInspector.list(db) {
                guard let shape = file.shapes.first(where: { $0.name == broken.record.table }) else { continue }
                _ = try CheckInspector(shape, db)?.inspect(broken.record)
            }
        }
    }
}
