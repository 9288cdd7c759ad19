internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

extension StoreEngine {
    func publish(all: Bool) throws {
        // With nothing to write there is no waiting for another process that writes.
        let (hasWork, hasLogs) = try file.pool.read { db in
            let hasWork =
                try sealer.hasNotes(db) || Outbox.open(db).count > 0 || RelatedTables.hasUnresolved(file.shapes, db) || Retirements.areUntold(db)
            return (hasWork, try hasWork || !Outbox.isEmpty(db))
        }
        guard hasLogs || closing != nil else { return }
        closing = try hasWork && seal(all: all) ? closing ?? .now + coalescing!.maximumDelay : nil
        Waypoint.publishCoalesced.pass()
        try publishSealed()
    }

    /// Publishes what may go out, and gives way between two batches.
    private func publishSealed() throws {
        try publisher.publish(from: file.pool) { bytes in
            looseBytes += bytes
            try giveWay()
        }
    }

    /// Seals what is noted, and lets go what is due; whether logs wait for more.
    private func seal(all: Bool) throws -> Bool {
        let isDue = all || coalescing == nil || closing.map { $0 <= .now } == true
        let limit = coalescing?.maximumSize ?? 0
        if file.shapes.contains(where: \.isRelated) {
            try file.pool.write { db in _ = try sealer.seal(db) }
            try file.resolve(by: sealer)
        }
        return try file.pool.write { db in
            try sealer.seal(db)
            // It goes out before anything is passed over because of it: a log with both would be waited for by itself.
            let hasTold = try Retirements.tell(by: sealer, db)
            let open = try Outbox.open(db)
            guard isDue || hasTold || open.bytes >= limit else { return open.count > 0 }
            if open.count > 0 { try Outbox.close(maximumSize: limit, db) }
            return false
        }
    }

    /// Joins what is ready, and baselines.
    ///
    /// - Parameter isEager: whether a baseline is joined at once that holds a little more than what is here.
    /// - Throws: `Errno`, or GRDB's errors.
    func importAll(isEager: Bool) throws {
        let planner = ImportPlanner(
            reader: LogReader(
                layout: layout, contentName: contentName, epoch: epoch, shapes: file.shapes, files: files, migrations: file.migrations))
        let importer = LogImporter(
            shapes: file.shapes, sealer: sealer, conflictRetention: conflictRetention, values: planner.reader.largeValues, reader: planner.reader)
        var isFull = true
        var isFirst = true
        // Whether logs at which their author was retired are passed over: only where nothing else helps, and until that has helped.
        var isPassing = false
        defer { progress.update { $0.isImporting = false } }
        while isFull {
            // An error on the way lists anew: what had been planned is no longer in the inventory.
            var current = try inventory ?? listed()
            inventory = nil
            if isFirst {
                isFirst = false
                waiting = []
                if try joinBaseline(current, isFirst: true, isEager: isEager) { current = try listed() }
            }
            let plan = try file.pool.read { db in try planner.plan(&current, isPassing: isPassing, db) }
            waiting = plan.waiting
            for peer in waiting { log.detail("waits: \(peer)") }
            isFull = plan.isFull || isPassing && !plan.ready.isEmpty
            let hasPassed = isPassing
            isPassing = false
            try quarantine(plan.quarantined.map { QuarantinedLog($0.name.description, of: $0.peer, $0.fault, since: now()) })
            if !plan.ready.isEmpty {
                progress.update { $0.begin(plan.ready, here: current.count) }
                Waypoint.importPlanned.pass()
                let began = ContinuousClock.now
                let outcome = try join(plan.ready, by: importer)
                for ready in plan.ready.prefix(outcome.joined) { log.detail("took in \(ready.name) of \(ready.peer), \(ready.size) bytes") }
                log.exchange("took in \(counted(outcome.joined, "log")) in \(began.elapsed)")
                progress.update { $0.finish(plan.ready.prefix(outcome.joined)) }
                Waypoint.importCommitted.pass()
                looseBytes += plan.ready.prefix(outcome.joined).reduce(0) { $0 + $1.size }
                post(outcome.imported)
                for log in plan.ready.dropFirst(outcome.joined) { current.insert(log.name, of: log.peer) }
                if let (log, refusal) = outcome.refused {
                    current.set(.faulty, log.name, of: log.peer)
                    try quarantine([
                        QuarantinedLog(
                            peer: log.peer.description, file: log.name.description, kind: .refused, reason: refusal.reason,
                            record: refusal.record?.text, since: now())
                    ])
                    isFull = true
                }
            }
            inventory = current
            if plan.isForked {
                try takeNewIdentifier()
                isFull = true
            } else if !isFull, try joinBaseline(current, isFirst: false, isEager: isEager) {
                inventory = try listed()
                isFull = true
            } else if !isFull, !hasPassed, !waiting.isEmpty, later.values.allSatisfy({ $0 == nil }),
                try file.pool.read({ db in try Holes(db).arePossible })
            {
                (isPassing, isFull) = (true, true)
            }
            if isFull, !isPassing { try giveWay() }
        }
        // What is equal in the midst of an import need not be so at its end: a baseline holds what a later log changes. So a device that joins late finds
        // no more records equal than those that were there.
        post(try file.resolve(by: sealer))
        // An import seals foreign writes: out with them.
        try publishSealed()
    }

    /// Joins logs in one transaction; where one is refused, once more with each by itself.
    private func join(_ logs: [ReadyLog], by importer: LogImporter) throws -> LogImporter.Outcome {
        do {
            return try file.mendingDerived { try file.importing { db in try importer.join(logs, isolating: false, db) } }
        } catch is LogImporter.Refusal {
            return try file.importing { db in try importer.join(logs, isolating: true, db) }
        }
    }

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

    func listed() throws -> ContentInventory {
        // One that could not be used may be another file by now.
        headers = headers.filter { $0.value != nil }
        trimmed = 0
        let inventory = try file.pool.read { db in
            try ContentInventory(listing: layout, epoch: epoch, register: LogRegister(own: peer, db), files: files)
        }
        log.detail("listed \(counted(inventory.count, "new log")) and \(counted(inventory.baselines.count, "baseline"))")
        try note(inventory.faults)
        try forgetQuarantined(besides: inventory.faults)
        return inventory
    }

    var directories: PeerDirectories { PeerDirectories(layout: layout, files: files) }

    /// Looks again at the directories of peers that could not be listed: nothing need tell that they can be now.
    func listFaulty() throws {
        guard var current = inventory, !current.faults.isEmpty else { return }
        try file.pool.read { db in try current.listFaulty(directories, epoch: epoch, LogRegister(own: peer, db)) }
        try note(current.faults)
        try forgetQuarantined(besides: current.faults)
        inventory = current
    }

    /// Puts directories that cannot be listed on the list of what cannot be used.
    private func note(_ faults: [PeerIdentifier: [PeerFault]]) throws {
        try quarantine(
            faults.flatMap { peer, faults in
                faults.map { QuarantinedLog($0, of: peer, in: layout, epoch: epoch, since: now()) }
            })
    }

    func quarantine(_ logs: [QuarantinedLog]) throws {
        for log in logs where try file.pool.write({ db in try log.enter(db) }) { post(.didQuarantine(log)) }
    }

    /// Takes files off the list of the unusable that are no longer there, baselines that have arrived whole since, and directories that can be listed.
    private func forgetQuarantined(besides faults: [PeerIdentifier: [PeerFault]]) throws {
        let present = Set(
            faults.flatMap { peer, faults in
                faults.map { QuarantinedLog($0, of: peer, in: layout, epoch: epoch, since: now()) }.map { [$0.peer, $0.file] }
            })
        for entry in try file.pool.read({ db in try QuarantinedLog.list(db) }) {
            let name = entry.file
            guard let identifier = PeerIdentifier(entry.peer) else { continue }
            if let baseline = BaselineName(name) {
                let id = BaselineID(peer: identifier, name: baseline)
                if isThere(layout.baseline(id, epoch: epoch)) {
                    guard !refused.contains(id), let header = try header(of: id), try verify(id, header) else { continue }
                }
            } else if entry.kind == .unreadable {
                if present.contains([entry.peer, name]) { continue }
            } else if isThere(layout.logs(of: identifier, epoch: epoch).appending(name)) {
                continue
            }
            log.exchange("\(name) of \(entry.peer) is no longer in the way")
            try file.pool.write { db in
                try db.execute(sql: "DELETE FROM ubiquity_quarantine WHERE peer = ? AND file = ?", arguments: [entry.peer, name])
            }
        }
    }

    /// Whether something is at a path, or nobody can tell.
    private func isThere(_ path: FilePath) -> Bool {
        do { return try files.kind(of: path) != nil } catch { return true }
    }

    func publishReceipt() throws {
        let (state, knowledge, quarantined, fact) = try file.pool.read { db in
            let state = try StoreState.read(db)
            return (state, try StoreKnowledge.all(state, db), try QuarantinedLog.list(db), try Retirements.all(db)[state.peer])
        }
        let named = waiting.flatMap(\.awaited)
        // The last log of its author is named by none.
        let awaits = named + quarantined.compactMap(\.awaited).filter { file in !named.contains { ($0.peer, $0.hash) == (file.peer, file.hash) } }
        // Whoever has been retired is back with a greater number.
        let isRetired = fact?.isInForce(state.receipt) == true
        guard lastReceipt != knowledge || lastAwaits != awaits || isRetired else { return }
        let receipts = layout.receipts(of: peer, epoch: epoch)
        let there = try files.names(in: receipts).compactMap(Receipt.number(ofFile:)).max()
        if lastReceipt == nil, !isRetired, let there, let bytes = try? files.read(receipts.appending(String(there)), limit: 16 << 20),
            let receipt = Receipt(decoding: bytes), receipt.stated == knowledge, receipt.migrations == file.migrations, receipt.awaits ?? [] == awaits
        {
            (lastReceipt, lastAwaits) = (knowledge, awaits)
            return
        }
        try files.makeDirectory(receipts)
        let receipt = Receipt(peer: peer, epoch: epoch, knowledge: knowledge, awaits: awaits, migrations: file.migrations, time: now())
        var number = max(state.receipt, there ?? 0, fact?.receipt ?? 0) + 1
        while try !publish(receipt, number) { number += 1 }
        log.exchange("published receipt \(number): \(counted(knowledge.entries.count, "peer")) known, \(counted(awaits.count, "file")) awaited")
        (lastReceipt, lastAwaits) = (knowledge, awaits)
    }

    /// Publishes a receipt; false where another copy of this store has just used the number.
    private func publish(_ receipt: Receipt, _ number: Int64) throws -> Bool {
        try file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET receipt = ?", arguments: [number]) }
        Waypoint.receiptNumbered.pass()
        do {
            try publisher.publish(receipt, number: number, of: peer, epoch: epoch)
            return true
        } catch Errno.fileExists {
            return false
        }
    }
}
