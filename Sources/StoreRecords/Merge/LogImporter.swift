internal import Foundation
package import GRDB
package import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Joins logs into the store, inside the caller's transaction.
package struct LogImporter {
    package let shapes: [TableShape]
    package let sealer: Sealer
    package let conflictRetention: ConflictRetention
    /// Reads large values from the container.
    ///
    /// Nil if the values are in the store file.
    package var values: (any LargeValueSource)?
    /// Reads logs that are not in memory again.
    package var reader: (any LogSource)?
    /// Decides which changes have an effect.
    ///
    /// Nil in a store without a scope, in which all have.
    package var gate: ImportGate?
    /// The parts of the store whose changes are joined.
    ///
    /// Nil for all.
    package var parts: [any RecordPart]?
    /// Whether joined logs become known; false if logs that are known are joined again.
    package var takesKnowledge = true
    /// The largest life that a record can have; nil for the limit that follows from the store's knowledge.
    package var lives: LifeLimit?

    package init(
        shapes: [TableShape], sealer: Sealer, conflictRetention: ConflictRetention, values: (any LargeValueSource)?, reader: (any LogSource)? = nil
    ) {
        self.shapes = shapes
        self.sealer = sealer
        self.conflictRetention = conflictRetention
        self.values = values
        self.reader = reader
    }

    /// The outcome of a transaction.
    package struct Outcome {
        package var imported = ImportTransaction.Outcome()
        /// The number of logs that have been joined.
        package var joined = 0
        /// The log that this store cannot hold.
        ///
        /// No log after it was joined.
        package var refused: (log: ReadyLog, refusal: Refusal)?
    }

    /// Joins logs in the given order, in which each is the next of its author.
    ///
    /// The logs of one save are joined together or not at all.
    ///
    /// Equal records stay marked; see ``StoreFile/resolve(by:)``. Captured changes are sealed first, so that another
    /// connection's write never counts as older than the import.
    ///
    /// The store may refuse a log because of a constraint, or because no correct writer wrote it. With `isolating`,
    /// each save has a savepoint, and only the refused one is undone. Without it, ``Refusal`` is thrown and everything
    /// must be rolled back. A savepoint makes SQLite keep a copy of each page that the save touches, which doubles the
    /// cost, and refusals are rare.
    package func join(_ logs: [ReadyLog], isolating: Bool, _ db: Database) throws -> Outcome {
        var outcome = Outcome()
        // Relations are resolved once for all logs, because a later log may name the record that blocks an earlier one.
        outcome.imported = try ImportTransaction.perform(sealer, .sync, retention: conflictRetention, relations: .postpone, db) { transaction in
            var importers: [LogBody.Table: TableImporter] = [:]
            // Peers get their numbers outside the savepoints, so that they stay known when a log is undone; and before any
            // importer keeps their table, because a copy of it at each log costs as much as all peers there are.
            for peer in logs.flatMap({ [$0.peer] + $0.others }) { _ = try StoreKnowledge.number(of: peer, in: &transaction.peers, db) }
            let holes = try Holes(db)
            var lives = try self.lives ?? LifeLimit(try StoreKnowledge.all(transaction.state, db))
            var rest = logs[...]
            while let first = rest.first {
                let save = Self.save(at: rest)
                rest = rest[save.endIndex...]
                let before = isolating ? transaction.outcome.changes : RecordChanges()
                let rejected = transaction.outcome.rejected
                var joining = first
                var joinings: [Joining] = []
                let refusal = try refusal {
                    func joinAll() throws {
                        for ready in save {
                            joining = ready
                            lives.add(1)
                            try transaction.conflicts.begin(ready, peers: transaction.peers)
                            joinings.append(try join(try loaded(ready), lives, &importers, transaction))
                        }
                    }
                    guard isolating else { return try joinAll() }
                    try db.inSavepoint {
                        try joinAll()
                        return .commit
                    }
                }
                if let refusal {
                    guard isolating else { throw refusal }
                    (transaction.outcome.changes, transaction.outcome.rejected) = (before, rejected)
                    outcome.refused = (joining, refusal)
                    break
                }
                outcome.joined += save.count
                for (ready, joining) in zip(save, joinings) {
                    transaction.state.clock = max(transaction.state.clock, joining.time)
                    if gate != nil { try settle(joining, of: ready, db) }
                    if takesKnowledge { try take(ready, transaction.peers, holes, db) }
                }
            }
        }
        Waypoint.importApplied.pass()
        return outcome
    }

    /// Returns the first log and the logs that hold the rest of its last save.
    package static func save(at logs: ArraySlice<ReadyLog>) -> ArraySlice<ReadyLog> {
        var end = logs.startIndex + 1
        while end < logs.endIndex, logs[end - 1].log.header.goesOn, logs[end].peer == logs[end - 1].peer,
            logs[end].log.header.predecessor == logs[end - 1].name.hash
        { end += 1 }
        return logs[logs.startIndex..<end]
    }

    /// What has become of the changes of one log.
    package struct Joining {
        /// The highest stamp that moves the store's clock.
        var time: HybridTime
        /// The highest stamp of a change with an effect in a table that role holders write.
        var curatedTime = HybridTime.least
        /// The number of changes with an effect.
        var accepted: Int64 = 0
        /// The number of changes without an effect.
        var rejected: Int64 = 0
        /// The first change without an effect.
        var first: RejectedChange?
    }

    /// Moves the clock of curated tables, and lists the log if any of its changes has no effect.
    private func settle(_ joining: Joining, of ready: ReadyLog, _ db: Database) throws {
        if joining.curatedTime > .least, try ScopeState.exists(db) {
            var position = try ScopeState.read(db)
            if position.clock < joining.curatedTime {
                position.clock = joining.curatedTime
                try position.update(db)
            }
        }
        // What is rejected once stays so: statements only take away.
        guard let first = joining.first, try ScopeState.exists(db) else { return }
        try RejectedLog(
            peer: ready.peer.description, sequence: ready.name.sequence, hash: ready.name.hash.description, changes: joining.rejected,
            record: joining.accepted > 0 || joining.rejected == 1 ? first.record.text : nil, reason: first.reason.description, since: sealer.now()
        ).enter(db)
    }

    /// Adds a joined log to the store's knowledge.
    private func take(_ ready: ReadyLog, _ peers: PeerTable, _ holes: Holes, _ db: Database) throws {
        try holes.note(ready.log.header, peers)
        try StoreKnowledge.take(
            ready.name.position, after: ready.log.header.previous, of: peers[ready.peer]!, time: ready.time, holes, db)
        for (peer, fact) in ready.contents.retired where gate?.retires(peer, author(of: ready)) ?? true {
            try Retirements.enter(fact, of: peers[peer]!, db)
        }
        try db.cachedStatement(sql: "DELETE FROM ubiquity_quarantine WHERE peer = ? AND file = ?")
            .execute(arguments: [ready.peer.description, ready.name.description])
    }

    /// Returns the author of a log's group, for the gate.
    private func author(of ready: ReadyLog, _ group: LogBody.Group? = nil) -> ImportGate.Author {
        ImportGate.Author(peer: ready.peer, writer: group?.peer, log: ready.name, rights: ready.log.header.rights)
    }

    /// Reads the changes of a log, which was intact when the import was planned.
    private func loaded(_ ready: ReadyLog) throws -> ReadyLog {
        guard ready.isLight, let reader else { return ready }
        do {
            return try reader.read(ready.name, of: ready.peer, clock: .latest)
        } catch is LogFault {
            throw Errno.noSuchFileOrDirectory
        }
    }

    /// Reads a large value again, which was intact when the import was planned.
    private func value(_ value: LargeValue, of peers: [PeerIdentifier], _ db: Database) throws -> RecordValue {
        if let values {
            guard let bytes = try values.whole(value, of: peers) else { throw Errno.noSuchFileOrDirectory }
            return value.value(bytes)
        }
        return try LargeValues(limit: 0, db).value(value)
    }

    /// The reason why this store cannot hold a log.
    package struct Refusal: Error {
        package var reason: String
        /// The record at which the reason was found.
        package var record: ObjectID?
    }

    /// Runs a body, and returns the reason if the store refuses its changes.
    private func refusal(_ body: () throws -> Void) throws -> Refusal? {
        do {
            try body()
            return nil
        } catch let refusal as Refusal {
            return refusal
        } catch let fault as LogFault {
            return Refusal(reason: fault.description)
        }
    }

    /// Adds the record to an error, if the error is a refusal.
    private func named(_ error: any Error, _ table: String, _ key: [RecordValue]) -> any Error {
        guard let reason = ImportFault.refusal(error) else { return error }
        return Refusal(reason: reason, record: ObjectID(table: table, key: key.map(\.detached)))
    }

    /// Joins the changes of one log, without changing the store's knowledge.
    ///
    /// - Returns: what has become of the changes.
    @discardableResult
    package func join(
        _ ready: ReadyLog, _ lives: LifeLimit?, _ importers: inout [LogBody.Table: TableImporter], _ transaction: ImportTransaction
    ) throws -> Joining {
        let (peers, db) = (transaction.peers, transaction.db)
        var joining = Joining(time: gate == nil ? ready.time : .least)
        for group in ready.contents.groups {
            let author = peers[group.peer ?? ready.peer]!
            let stamp = group.time == .least ? .least : Stamp(group.time, author)
            transaction.outcome.changes.begin(by: Stamp(group.time, author))
            let decide = gate?.decision(self.author(of: ready, group))
            for rows in group.rows {
                let table = ready.contents.tables[rows.table]
                guard let mapping = try mapping(of: table, in: ready) else { continue }
                let importer =
                    try importers[table]
                    ?? TableImporter(
                        mapping, peers: peers, conflicts: transaction.conflicts, related: transaction.related, deadRecords: transaction.deadRecords,
                        db)
                importers[table] = importer
                (importer.peers, importer.lives) = (peers, lives)
                try rows.forEach(in: table, values: { try value($0, of: ready.authors(of: group), db) }) { change in
                    if let parts, !parts.contains(where: { $0.contains(change.key, in: mapping.shape) }) { return }
                    if let gate, let decide {
                        if let reason = decide(mapping.shape, change.key) {
                            guard reason != .held else { return }
                            let record = ObjectID(table: mapping.shape.name, key: change.key.map(\.detached))
                            let rejected = RejectedChange(record: record, peer: ready.peer, reason: reason)
                            transaction.outcome.rejected.add(rejected)
                            joining.rejected += 1
                            joining.first = joining.first ?? rejected
                            return
                        }
                        joining.accepted += 1
                        if gate.movesClock(mapping.shape, change.key) { joining.time = max(joining.time, group.time) }
                        if mapping.shape.isCurated { joining.curatedTime = max(joining.curatedTime, group.time) }
                    }
                    do {
                        let kind = try importer.join(&change, stamp: stamp)
                        let name = importer.shape.name
                        for key in importer.removedRows { transaction.outcome.changes.add(.delete, ObjectID(table: name, key: key)) }
                        importer.removedRows = []
                        if let kind { transaction.outcome.changes.add(kind, ObjectID(table: name, key: change.key.map(\.detached))) }
                    } catch {
                        // A trigger may have rolled back the whole transaction
                        // (sqlite.org/lang_createtrigger.html#raise).
                        throw db.isInsideTransaction ? named(error, table.name, change.key) : error
                    }
                }
            }
            if let related = transaction.related { try enter(group.same, of: ready, decide, lives, related, &transaction.outcome.rejected) }
        }
        return joining
    }

    /// Returns the mapping of a log's table, or nil if the table no longer syncs.
    private func mapping(of table: LogBody.Table, in log: ReadyLog) throws -> LogTableMapping? {
        switch LogTableMapping.find(table, isOlder: log.isOlder, among: shapes) {
        case .mapped(let mapping): return mapping
        case .gone: return nil
        case .unknown(let obstacle): throw LogFault.damaged(obstacle)
        }
    }

    /// Enters same-as facts that another peer found.
    private func enter(
        _ same: [LogBody.Same], of log: ReadyLog, _ decide: ImportGate.Decision?, _ lives: LifeLimit?, _ related: RelatedTables,
        _ rejected: inout RejectedChanges
    ) throws {
        for entry in same {
            if let lives, !lives.allows(max(entry.fact.first.life, entry.fact.second.life), after: 0) { throw LifeLimit.fault }
            guard let mapping = try mapping(of: log.contents.tables[entry.table], in: log) else { continue }
            if let decide, let change = RejectedChange(entry.fact, of: mapping.shape, by: log.peer, decide) {
                rejected.add(change)
                continue
            }
            let index = shapes.firstIndex { $0.name == mapping.shape.name }!
            let table = try related[index]
            guard try table.enter(entry.fact, since: sealer.now().timeIntervalSince1970) else { continue }
            for node in [entry.fact.first, entry.fact.second] { try table.markUnresolved(node.key) }
        }
    }
}
