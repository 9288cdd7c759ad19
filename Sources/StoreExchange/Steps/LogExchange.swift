internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Publishes a store's logs, and joins logs of others.
struct LogExchange {
    let scope: ExchangeScope

    var reader: LogReader {
        LogReader(
            layout: scope.layout, contentName: scope.context.contentName, epoch: scope.epoch, shapes: scope.file.shapes, files: scope.files,
            migrations: scope.file.migrations, container: scope.context.scope?.container)
    }

    func planner(_ proof: LogProof? = nil) -> ImportPlanner { ImportPlanner(reader: reader, rights: proof) }

    func importer(_ reader: LogReader, _ proof: LogProof? = nil) -> LogImporter {
        var importer = LogImporter(
            shapes: scope.file.shapes, sealer: scope.context.sealer, conflictRetention: scope.context.conflictRetention, values: reader.largeValues,
            reader: reader)
        importer.gate = proof?.gate(own: scope.peer)
        return importer
    }

    // MARK: Publishing

    /// Returns whether changes are captured or logs wait for more saves, and whether any log can be published.
    func outbox() throws -> ExchangeOutcome { try scope.file.pool.read { db in try Self.outbox(scope.context, db) } }

    /// Returns whether changes are captured or logs wait for more saves, and whether any log can be published, in a
    /// transaction.
    static func outbox(_ context: ExchangeContext, _ db: Database) throws -> ExchangeOutcome {
        let hasWork =
            try context.sealer.hasNotes(db) || Outbox.open(db).count > 0 || RelatedTables.hasUnresolved(context.file.shapes, db)
            || Retirements.areUntold(db)
        return .outbox(hasWork: hasWork, hasLogs: try hasWork || !Outbox.isEmpty(db))
    }

    /// Seals captured changes, releases due logs, and returns whether logs still wait for more saves.
    func seal(isDue: Bool) throws -> Bool {
        let limit = scope.context.coalescing?.maximumSize ?? 0
        if scope.file.shapes.contains(where: \.isRelated) {
            try scope.file.pool.write { db in _ = try scope.context.sealer.seal(db) }
            try scope.file.resolve(by: scope.context.sealer)
        }
        return try scope.file.pool.write { db in
            try scope.context.sealer.seal(db)
            // It is published before anything is passed over because of it: a log with both would wait for itself.
            let hasTold = try Retirements.tell(by: scope.context.sealer, db)
            let open = try Outbox.open(db)
            guard isDue || hasTold || open.bytes >= limit else { return open.count > 0 }
            if open.count > 0 { try Outbox.close(maximumSize: limit, db) }
            return false
        }
    }

    // MARK: Listing

    /// Lists the files of the content.
    func list(_ content: inout KnownContent, _ shelf: inout BaselineShelf) throws {
        if let keeper = ScopeKeeper(context: scope.context) {
            try keeper.refresh(&content)
            try PlaceReader(keeper: keeper)?.read(&content)
        }
        shelf.relist()
        // A watcher that has lost events does not report them later.
        content.published = []
        // In a container with a scope nobody need have written yet.
        let isEmpty = try scope.context.scope != nil && scope.files.kind(of: scope.layout.directory) == nil
        let inventory =
            try isEmpty
            ? ContentInventory()
            : scope.file.pool.read { db in
                try ContentInventory(listing: scope.layout, epoch: scope.epoch, register: LogRegister(own: scope.peer, db), files: scope.files)
            }
        scope.context.log.detail("listed \(counted(inventory.count, "new log")) and \(counted(inventory.baselines.count, "baseline"))")
        try note(inventory.faults, &shelf)
        content.inventory = inventory
    }

    /// Lists again the directories of peers that could not be listed, because no event reports that they can be now.
    func listFaulty(_ content: inout KnownContent, _ shelf: inout BaselineShelf) throws {
        var current = content.inventory
        guard !current.faults.isEmpty else { return }
        try scope.file.pool.read { db in try current.listFaulty(scope.context.folders, epoch: scope.epoch, LogRegister(own: scope.peer, db)) }
        try note(current.faults, &shelf)
        content.inventory = current
    }

    /// Adds unlistable directories to the quarantine, and removes those that can be listed now.
    private func note(_ faults: [PeerIdentifier: [PeerFault]], _ shelf: inout BaselineShelf) throws {
        let faulty = faults.flatMap { peer, faults in
            faults.map { QuarantinedLog($0, of: peer, in: scope.layout, epoch: scope.epoch, since: scope.context.now()) }
        }
        try scope.context.quarantine(faulty)
        try forgetQuarantined(besides: Set(faulty.map { [$0.peer, $0.file] }), &shelf)
    }

    /// Removes from the quarantine files that are gone, baselines that are complete now, and directories that can be
    /// listed.
    private func forgetQuarantined(besides faulty: Set<[String]>, _ shelf: inout BaselineShelf) throws {
        for entry in try scope.file.pool.read({ db in try QuarantinedLog.list(db) }) {
            let name = entry.file
            guard let identifier = PeerIdentifier(entry.peer) else { continue }
            if let baseline = BaselineName(name) {
                let id = BaselineID(peer: identifier, name: baseline)
                if isThere(scope.layout.baseline(id, epoch: scope.epoch)) {
                    guard !shelf.refused.contains(id), let header = try scope.baselines.header(of: id, &shelf),
                        try scope.baselines.verify(id, header, &shelf)
                    else { continue }
                }
            } else if entry.kind == .unreadable {
                if faulty.contains([entry.peer, name]) { continue }
            } else if isThere(scope.layout.logs(of: identifier, epoch: scope.epoch).appending(name)) {
                continue
            }
            scope.context.log.exchange(
                "\(name) of \(entry.peer) is no longer in the way", [.event: "released", .log: name, .peer: entry.peer])
            try scope.file.pool.write { db in try entry.remove(db) }
        }
    }

    /// Returns whether there is an entry at a path, or that cannot be determined.
    private func isThere(_ path: FilePath) -> Bool {
        do { return try scope.files.kind(of: path) != nil } catch { return true }
    }

    // MARK: Joining

    /// Plans the logs to join next.
    func plan(_ content: inout KnownContent, isPassing: Bool) throws -> ExchangeOutcome {
        let plan = try scope.file.pool.read { db in try planner(content.proof).plan(&content.inventory, isPassing: isPassing, db) }
        for peer in plan.waiting { scope.context.log.detail("waits: \(peer)", [.event: "waits", .peer: peer.peer, .count: "\(peer.logs)"]) }
        try scope.context.quarantine(plan.quarantined.map { QuarantinedLog($0.name.description, of: $0.peer, $0.fault, since: scope.context.now()) })
        content.plan = plan
        return .plan(ready: plan.ready.count, isFull: plan.isFull, isForked: plan.isForked, waiting: plan.waiting)
    }

    /// Joins the planned logs, and returns whether one has been refused.
    func join(_ content: inout KnownContent, _ shelf: inout BaselineShelf) throws -> Bool {
        let (log, progress) = (scope.context.log, scope.context.progress)
        let (ready, isFull) = (content.plan.ready, content.plan.isFull)
        content.plan = ImportPlan()
        progress.update { $0.begin(ready, here: content.inventory.count) }
        Waypoint.importPlanned.pass()
        let began = ContinuousClock.now
        let outcome = try join(ready, by: importer(reader, content.proof), goesOn: isFull)
        scope.context.metrics.imported(ready.prefix(outcome.joined), since: began, at: scope.context.now())
        for ready in ready.prefix(outcome.joined) {
            log.detail(
                "took in \(ready.name) of \(ready.peer), \(ready.size) bytes",
                [.log: ready.name.description, .peer: ready.peer.description, .bytes: "\(ready.size)"])
        }
        log.exchange(
            "took in \(counted(outcome.joined, "log")) in \(began.elapsed)",
            [.event: "imported", .count: "\(outcome.joined)", .milliseconds: "\(began.milliseconds)"])
        progress.update { $0.finish(ready.prefix(outcome.joined)) }
        Waypoint.importCommitted.pass()
        shelf.looseBytes += ready.prefix(outcome.joined).reduce(0) { $0 + $1.size }
        scope.context.post(outcome.imported)
        for log in ready.dropFirst(outcome.joined) { content.inventory.insert(log.name, of: log.peer) }
        guard let (refused, refusal) = outcome.refused else { return false }
        content.inventory.set(.faulty, refused.name, of: refused.peer)
        try scope.context.quarantine([
            QuarantinedLog(
                peer: refused.peer.description, file: refused.name.description, kind: .refused, reason: refusal.reason,
                record: refusal.record?.text, since: scope.context.now())
        ])
        return true
    }

    /// Joins logs in one transaction; if one is refused, joins each again in its own transaction.
    private func join(_ logs: [ReadyLog], by importer: LogImporter, goesOn: Bool) throws -> LogImporter.Outcome {
        do {
            return try scope.file.mendingDerived {
                try scope.file.importing(goesOn: goesOn) { db in try importer.join(logs, isolating: false, db) }
            }
        } catch is LogImporter.Refusal {
            return try scope.file.importing(goesOn: goesOn) { db in try importer.join(logs, isolating: true, db) }
        }
    }

    /// Resolves the records that an import has marked.
    ///
    /// Records that are equal during an import may differ at its end, because a later log can change the content of a
    /// baseline. Resolving at the end ensures that a device that joins late finds no more equal records than the other
    /// devices did.
    func unite() throws { scope.context.post(try scope.file.resolve(by: scope.context.sealer)) }

    /// Removes records that a save has repaired from the list of broken records.
    func recheck() throws {
        guard try scope.file.pool.read({ db in try Bool.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_broken)"))! }) else {
            return
        }
        // Foreign keys are off, as in all examinations of a copy of a row: SQLite would look for the parent beside the
        // copy.
        try scope.file.importing { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = 0")
            for broken in try CheckInspector.list(db) {
                guard let shape = scope.file.shapes.first(where: { $0.name == broken.record.table }) else { continue }
                _ = try CheckInspector(shape, db)?.inspect(broken.record)
            }
        }
    }
}
