internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Rebuilds a store's tables from the content, as a first import would.
struct Rebuild {
    let scope: ExchangeScope

    private var sealer: Sealer { scope.context.sealer }
    private var progress: Broadcast<ImportProgress> { scope.context.progress }

    /// Rebuilds, after every sealed log is in the container.
    ///
    /// It is one transaction. Until it ends, every reader in any process sees the earlier state, which stays if the
    /// rebuild fails or the process ends. Saves wait meanwhile. The store keeps its identifier, its lists, and the
    /// columns that stay on the device.
    ///
    /// - Parameters:
    ///   - shelf: the known baselines.
    ///   - began: when the rebuild began.
    /// - Throws: `UbiquitousStoreError` with `contentIncomplete` if the content does not hold everything that the store
    ///   does. The store is unchanged then.
    func run(_ shelf: inout BaselineShelf, since began: ContinuousClock.Instant) throws {
        defer { progress.update { $0.isImporting = false } }
        while try !rebuildFromReadable(&shelf) {}
        Waypoint.rebuildCommitted.pass()
        scope.context.log.transition(
            "rebuilt from the content in \(began.elapsed)", [.event: "rebuilt", .milliseconds: "\(began.milliseconds)"])
        scope.context.post(.didFill(Set(scope.file.shapes.map(\.name))))
    }

    /// Builds the tables from all readable files; returns false if this store cannot hold one of the baselines.
    private func rebuildFromReadable(_ shelf: inout BaselineShelf) throws -> Bool {
        var content = try scope.file.pool.read { db in
            try ContentInventory(
                listing: scope.layout, epoch: scope.epoch, register: LogRegister(own: scope.peer, db), files: scope.files, isWhole: true)
        }
        let readable = try ReadableContent(scope: scope).baselines(content, &shelf)
        let limit = try scope.file.attachmentLimit()
        guard readable.count <= limit else {
            throw UbiquitousStoreError(
                .contentIncomplete,
                "The content is held by \(readable.count) baselines that lack each other's logs, and SQLite reads \(limit) together: have a device that has read all write one (`rollBaseline()`), and try again. The store is as it was.",
                path: scope.layout.directory)
        }
        do {
            if try copy(content, from: readable, &shelf) { return true }
            try scope.file.importing(attaching: readable.map { scope.layout.baseline($0.id, epoch: scope.epoch) }) { db in
                try sealer.seal(db)
                guard try Outbox.isEmpty(db) else {
                    throw UbiquitousStoreError(.timedOut, "Saves came in faster than they were published; try again.")
                }
                try db.execute(sql: "CREATE TEMP TABLE ubiquity_before AS SELECT peer, sequence, hash FROM ubiquity_log")
                let local = LocalColumns(scope.file.shapes)
                try local.keep(db)
                // The same-as facts stay: otherwise they would be found and published again.
                try Capture.suspended(db) { try StoreTables.clearContent(scope.file.shapes, keepingFacts: true, db) }
                try sealer.journal.append(whole: scope.file.shapes, .rebuild, now: scope.context.now(), db)
                Waypoint.rebuildEmptied.pass()
                try rebuild(&content, from: readable, isCopied: false, db)
                try local.putBack(db)
            }
            return true
        } catch let unholdable as UnholdableBaseline {
            try scope.baselines.refuse(unholdable.id, unholdable.reason, &shelf)
            return false
        }
    }

    /// A complete baseline whose content this store cannot hold.
    private struct UnholdableBaseline: Error {
        var id: BaselineID
        var reason: String
    }

    /// Rebuilds the tables from the pages of the largest baseline, and from the other files; returns false if this store
    /// cannot use the pages.
    private func copy(_ content: ContentInventory, from baselines: [BaselineShelf.Usable], _ shelf: inout BaselineShelf) throws -> Bool {
        guard let first = baselines.first else { return false }
        let shapes = scope.file.shapes
        return try scope.baselines.copying(first.id, first.header, &shelf) { draft, verify in
            try draft.importing(
                attaching: baselines.dropFirst().map { scope.layout.baseline($0.id, epoch: scope.epoch) },
                replacing: StoreTables.content(shapes, keepingFacts: true),
                if: { store, db in
                    // A save that is not published yet would be lost.
                    try (shapes.map(\.captureTable) + ["ubiquity_outbox", "ubiquity_adoption"]).allSatisfy {
                        try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(store).\($0))")!
                    }
                }, verify: verify
            ) { db in
                try db.execute(
                    sql: """
                        CREATE TEMP TABLE ubiquity_before AS
                        SELECT \(BaselineDraft.peer("peer")) AS peer, sequence, hash FROM \(BaselineDraft.store).ubiquity_log
                        """)
                Waypoint.rebuildEmptied.pass()
                var content = content
                try rebuild(&content, from: baselines, isCopied: true, db)
                return true
            }
        } ?? false
    }

    /// Joins the files of the content into empty tables, and checks that nothing is missing then.
    ///
    /// - Parameters:
    ///   - content: the files.
    ///   - baselines: those of them that are attached, in this order.
    ///   - isCopied: whether the tables already hold the rows of the first baseline.
    ///   - db: in a transaction, with the logs that the store has held in `ubiquity_before`.
    /// - Throws: `UbiquitousStoreError` with `contentIncomplete`, ``UnholdableBaseline``, `Errno`, or GRDB's errors.
    private func rebuild(
        _ content: inout ContentInventory, from baselines: [BaselineShelf.Usable], isCopied: Bool, _ db: Database
    ) throws {
        defer { try? db.execute(sql: "DROP TABLE temp.ubiquity_before") }
        for (place, baseline) in baselines.enumerated() {
            var joiner = scope.baselines.joiner
            joiner.place = place
            joiner.isCopied = isCopied && place == 0
            do {
                _ = try joiner.join(baseline.header, isRebuilding: true, db)
            } catch {
                guard let reason = ImportFault.refusal(error) else { throw error }
                throw UnholdableBaseline(id: baseline.id, reason: reason)
            }
        }
        let exchange = LogExchange(scope: scope)
        let planner = exchange.planner()
        let importer = exchange.importer(planner.reader)
        var isPassing = false
        while true {
            let plan = try planner.plan(&content, isPassing: isPassing, db)
            guard !plan.ready.isEmpty else {
                if isPassing { break }
                isPassing = true
                continue
            }
            isPassing = false
            progress.update { $0.begin(plan.ready, here: content.count) }
            let outcome = try importer.join(plan.ready, isolating: true, db)
            progress.update { $0.finish(plan.ready.prefix(outcome.joined)) }
            for log in plan.ready.dropFirst(outcome.joined) { content.insert(log.name, of: log.peer) }
            if let (log, _) = outcome.refused {
                content.set(.faulty, log.name, of: log.peer)
            }
        }
        let missing = try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM temp.ubiquity_before b
                WHERE NOT EXISTS (SELECT 1 FROM ubiquity_log l WHERE (l.peer, l.sequence, l.hash) = (b.peer, b.sequence, b.hash))
                """)!
        guard missing == 0 else {
            throw UbiquitousStoreError(
                .contentIncomplete,
                "The content lacks \(missing) \(missing == 1 ? "log" : "logs") that this store holds, or cannot use them: a rebuilt store would have less. The store is as it was; `ubwatch verify` lists what is wrong with the content.",
                path: scope.layout.directory)
        }
        _ = try scope.file.resolveBatch(by: sealer, batches: .max, db)
        // The table of knowledge names other peers only.
        if let number = try StoreKnowledge.peers(db)[StoreState.read(db).peer] {
            try db.execute(sql: "DELETE FROM ubiquity_knowledge WHERE peer = ?", arguments: [number.rawValue])
        }
        for shape in scope.file.shapes { try db.notifyChanges(in: Table(shape.name)) }
        Waypoint.rebuildJoined.pass()
    }
}
