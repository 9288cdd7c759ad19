internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Publishes a store's logs, and joins logs of others.
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

    /// Returns whether changes are captured or logs wait for more saves, and whether any log can be published.
    func outbox() throws -> ExchangeOutcome {
        try file.pool.read { db in
            let hasWork =
                try context.sealer.hasNotes(db) || Outbox.open(db).count > 0 || RelatedTables.hasUnresolved(file.shapes, db)
                || Retirements.areUntold(db)
            return .outbox(hasWork: hasWork, hasLogs: try hasWork || !Outbox.isEmpty(db))
        }
    }

    /// Seals captured changes, releases due logs, and returns whether logs still wait for more saves.
    func seal(isDue: Bool) throws -> Bool {
        let limit = context.coalescing?.maximumSize ?? 0
        if file.shapes.contains(where: \.isRelated) {
            try file.pool.write { db in _ = try context.sealer.seal(db) }
            try file.resolve(by: context.sealer)
        }
        return try file.pool.write { db in
            try context.sealer.seal(db)
            // It is published before anything is passed over because of it: a log with both would wait for itself.
            let hasTold = try Retirements.tell(by: context.sealer, db)
            let open = try Outbox.open(db)
            guard isDue || hasTold || open.bytes >= limit else { return open.count > 0 }
            if open.count > 0 { try Outbox.close(maximumSize: limit, db) }
            return false
        }
    }

    // MARK: Listing

    /// Lists the files of the content.
    func list(_ content: inout KnownContent, _ shelf: inout BaselineShelf) throws {
        shelf.relist()
        let inventory = try file.pool.read { db in
            try ContentInventory(listing: layout, epoch: epoch, register: LogRegister(own: peer, db), files: context.files)
        }
        context.log.detail("listed \(counted(inventory.count, "new log")) and \(counted(inventory.baselines.count, "baseline"))")
        try note(inventory.faults, &shelf)
        content.inventory = inventory
    }

    /// Lists again the directories of peers that could not be listed, because no event reports that they can be now.
    func listFaulty(_ content: inout KnownContent, _ shelf: inout BaselineShelf) throws {
        var current = content.inventory
        guard !current.faults.isEmpty else { return }
        try file.pool.read { db in try current.listFaulty(context.folders, epoch: epoch, LogRegister(own: peer, db)) }
        try note(current.faults, &shelf)
        content.inventory = current
    }

    /// Adds unlistable directories to the quarantine, and removes those that can be listed now.
    private func note(_ faults: [PeerIdentifier: [PeerFault]], _ shelf: inout BaselineShelf) throws {
        let faulty = faults.flatMap { peer, faults in
            faults.map { QuarantinedLog($0, of: peer, in: layout, epoch: epoch, since: context.now()) }
        }
        try context.quarantine(faulty)
        try forgetQuarantined(besides: Set(faulty.map { [$0.peer, $0.file] }), &shelf)
    }

    /// Removes from the quarantine files that are gone, baselines that are complete now, and directories that can be
    /// listed.
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

    /// Returns whether there is an entry at a path, or that cannot be determined.
    private func isThere(_ path: FilePath) -> Bool {
        do { return try context.files.kind(of: path) != nil } catch { return true }
    }

    // MARK: Joining

    /// Plans the logs to join next.
    func plan(_ content: inout KnownContent, isPassing: Bool) throws -> ExchangeOutcome {
        let plan = try file.pool.read { db in try planner.plan(&content.inventory, isPassing: isPassing, db) }
        for peer in plan.waiting { context.log.detail("waits: \(peer)") }
        try context.quarantine(plan.quarantined.map { QuarantinedLog($0.name.description, of: $0.peer, $0.fault, since: context.now()) })
        content.plan = plan
        return .plan(ready: plan.ready.count, isFull: plan.isFull, isForked: plan.isForked, waiting: plan.waiting)
    }

    /// Joins the planned logs, and returns whether one has been refused.
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

    /// Joins logs in one transaction; if one is refused, joins each again in its own transaction.
    private func join(_ logs: [ReadyLog], by importer: LogImporter) throws -> LogImporter.Outcome {
        do {
            return try file.mendingDerived { try file.importing { db in try importer.join(logs, isolating: false, db) } }
        } catch is LogImporter.Refusal {
            return try file.importing { db in try importer.join(logs, isolating: true, db) }
        }
    }

    /// Resolves the records that an import has marked.
    ///
    /// Records that are equal during an import may differ at its end, because a later log can change the content of a
    /// baseline. Resolving at the end ensures that a device that joins late finds no more equal records than the other
    /// devices did.
    func unite() throws { context.post(try file.resolve(by: context.sealer)) }

    /// Removes records that a save has repaired from the list of broken records.
    func recheck() throws {
        guard try file.pool.read({ db in try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_broken)")! }) else { return }
        // Foreign keys are off, as in all examinations of a copy of a row: SQLite would look for the parent beside the
        // copy.
        try file.importing { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = 0")
            for broken in try CheckInspector.list(db) {
                guard let shape = file.shapes.first(where: { $0.name == broken.record.table }) else { continue }
                _ = try CheckInspector(shape, db)?.inspect(broken.record)
            }
        }
    }
}
