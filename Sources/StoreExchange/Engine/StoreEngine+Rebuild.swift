internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

extension StoreEngine {
    /// Makes the store's tables anew from the content, as a first import would.
    ///
    /// It is one transaction: until it is done every reader, in whichever process, sees what was there; where it fails, or the process ends, that stays.
    /// Saves wait meanwhile. The store keeps its identifier, its lists, and the columns that stay on the device.
    ///
    /// - Throws: `UbiquitousStoreError` with `contentIncomplete` where the content does not hold all that the store does, and with `suspended` where there is
    ///   none; the store is as it was.
    package func rebuild() throws {
        try settle()
        let began = ContinuousClock.now
        var isDone = false
        try leased { _ in
            // What has been sealed since is in the container before it is taken from there.
            try publish(all: true)
            defer { progress.update { $0.isImporting = false } }
            while try !rebuildFromReadable() {}
            Waypoint.rebuildCommitted.pass()
            (inventory, lastReceipt) = (nil, nil)
            log.transition("made anew from the content in \(began.elapsed)")
            post(.didFill(Set(file.shapes.map(\.name))))
            isDone = true
        }
        guard isDone else { throw suspension }
        try settle()
    }

    /// Makes the tables from all that can be read now; false where this store cannot hold one of the baselines.
    private func rebuildFromReadable() throws -> Bool {
        var content = try file.pool.read { db in
            try ContentInventory(listing: layout, epoch: epoch, register: LogRegister(own: peer, db), files: files, isWhole: true)
        }
        let readable = try readableBaselines(content)
        let limit = try file.attachmentLimit()
        guard readable.count <= limit else {
            throw UbiquitousStoreError(
                .contentIncomplete,
                "The content is held by \(readable.count) baselines that lack each other's logs, and SQLite reads \(limit) together: have a device that has read all write one (`rollBaseline()`), and try again. The store is as it was.",
                path: layout.directory)
        }
        do {
            try file.importing(attaching: readable.map { layout.baseline($0.id, epoch: epoch) }) { db in try rebuild(&content, from: readable, db) }
            return true
        } catch let unholdable as UnholdableBaseline {
            try refuse(unholdable.id, unholdable.reason)
            return false
        }
    }

    /// A baseline that is whole, and says what this store cannot hold.
    private struct UnholdableBaseline: Error {
        var id: BaselineID
        var reason: String
    }

    /// Whether the content holds all that the store does, so that its file could be made anew from it.
    ///
    /// Nothing is exchanged.
    ///
    /// - Returns: false also where the container is not there.
    /// - Throws: `Errno`, or GRDB's errors.
    package func isHeldByContent() throws -> Bool {
        let (state, logs, register) = try file.pool.read { db in
            let state = try StoreState.read(db)
            let peers = try StoreKnowledge.peers(db)
            let logs = try Row.fetchAll(db, sql: "SELECT peer, sequence, hash FROM ubiquity_log").map { row in
                guard let peer = peers[PeerNumber(rawValue: row["peer"])], let hash = ContentHash(bytes: row["hash"] as Data) else {
                    throw UbiquitousStoreError(.malformed, "A log in the store's list of logs is malformed.", path: file.path)
                }
                return (peer: peer, position: Knowledge.Position(sequence: row["sequence"], hash: hash))
            }
            return (state, logs, try LogRegister(own: state.peer, db))
        }
        guard state.attached, attachment(state) == .attached, try EpochMarks(of: layout, files: files).present <= state.epoch else { return false }
        let content = try ContentInventory(listing: layout, epoch: state.epoch, register: register, files: files, isWhole: true)
        // What no baseline holds lies in files; so may another log of a number that one does hold. What these follow is here too, for this store has read it.
        var loose = logs
        for (id, header) in try readableBaselines(content) where !loose.isEmpty { loose = try reader.lacking(loose, id, header) }
        let logReader = LogReader(layout: layout, contentName: contentName, epoch: state.epoch, shapes: file.shapes, files: files)
        return try loose.allSatisfy { log in
            try isWhole(
                LogFileName(sequence: log.position.sequence, hash: log.position.hash), of: log.peer, clock: max(state.clock, .latest), logReader)
        }
    }

    /// Whether a log lies in the container as it was written, with the large values that it names.
    private func isWhole(_ name: LogFileName, of peer: PeerIdentifier, clock: HybridTime, _ reader: LogReader) throws -> Bool {
        do {
            let log = try reader.read(name, of: peer, clock: clock)
            return try log.values.allSatisfy { value, peers in
                if case .whole = try reader.largeValues.find(value, of: peers) { true } else { false }
            }
        } catch is LogFault {
            return false
        } catch let error as Errno where !error.isOfProcess {
            return false
        }
    }

    private func rebuild(_ content: inout ContentInventory, from baselines: [(id: BaselineID, header: BaselineHeader)], _ db: Database) throws {
        try sealer.seal(db)
        guard try Outbox.isEmpty(db) else { throw UbiquitousStoreError(.timedOut, "Saves came in faster than they were published; try again.") }
        try db.execute(sql: "CREATE TEMP TABLE ubiquity_before AS SELECT peer, sequence, hash FROM ubiquity_log")
        defer { try? db.execute(sql: "DROP TABLE temp.ubiquity_before") }
        try keepLocalColumns(db)
        // Which records are one stays known: it would be found out anew, and told anew.
        try Capture.suspended(db) { try StoreTables.clearContent(file.shapes, keepingFacts: true, db) }
        Waypoint.rebuildEmptied.pass()
        for (place, baseline) in baselines.enumerated() {
            var joiner = joiner
            joiner.place = place
            do {
                _ = try joiner.join(baseline.header, isRebuilding: true, db)
            } catch {
                guard let reason = BaselineJoiner.refusal(error) else { throw error }
                throw UnholdableBaseline(id: baseline.id, reason: reason)
            }
        }
        let planner = ImportPlanner(
            reader: LogReader(
                layout: layout, contentName: contentName, epoch: epoch, shapes: file.shapes, files: files, migrations: file.migrations))
        let importer = LogImporter(
            shapes: file.shapes, sealer: sealer, conflictRetention: conflictRetention, values: planner.reader.largeValues, reader: planner.reader)
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
                path: layout.directory)
        }
        _ = try file.resolveBatch(by: sealer, batches: .max, db)
        // Its own logs are no other's.
        if let number = try StoreKnowledge.peers(db)[StoreState.read(db).peer] {
            try db.execute(sql: "DELETE FROM ubiquity_knowledge WHERE peer = ?", arguments: [number.rawValue])
        }
        try putBackLocalColumns(db)
        for shape in file.shapes { try db.notifyChanges(in: Table(shape.name)) }
        Waypoint.rebuildJoined.pass()
    }

    private func keepLocalColumns(_ db: Database) throws {
        for shape in file.shapes where !shape.localColumns.isEmpty {
            let columns = (shape.keyColumns + shape.localColumns).map(\.quotedIdentifier).joined(separator: ", ")
            try db.execute(sql: "CREATE TEMP TABLE ubiquity_local_\(shape.number) AS SELECT \(columns) FROM main.\(shape.name.quotedIdentifier)")
        }
    }

    private func putBackLocalColumns(_ db: Database) throws {
        for shape in file.shapes where !shape.localColumns.isEmpty {
            let (table, kept) = (shape.name.quotedIdentifier, "temp.ubiquity_local_\(shape.number)")
            let local = shape.localColumns.map(\.quotedIdentifier)
            let isSame = shape.keyColumns.map { "main.\(table).\($0.quotedIdentifier) = kept.\($0.quotedIdentifier)" }.joined(separator: " AND ")
            try Capture.suspended(db) {
                try db.execute(
                    sql: """
                        UPDATE main.\(table) SET \(local.map { "\($0) = kept.\($0)" }.joined(separator: ", ")) FROM \(kept) kept
                        WHERE \(isSame);
                        DROP TABLE \(kept);
                        """)
            }
        }
    }
}
