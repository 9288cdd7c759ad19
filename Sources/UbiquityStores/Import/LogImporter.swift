internal import Foundation
internal import GRDB
internal import SystemPackage
internal import UbiquityContainers

/// Joins logs into the store, in the transaction that it is called in.
struct LogImporter {
    let shapes: [TableShape]
    let sealer: Sealer
    let conflictRetention: ConflictRetention
    /// Reads large values from the container; nil where they lie in the store file.
    let values: LargeValueReader?
    /// Reads logs again that are not in memory.
    var reader: LogReader?

    /// What a transaction did.
    struct Outcome {
        var imported = ImportTransaction.Outcome()
        /// How many logs have been joined.
        var joined = 0
        /// The log that this store cannot hold, after which none was joined.
        var refused: (log: ReadyLog, refusal: Refusal)?
    }

    /// Joins logs in the order given, each of which is next for its author; those of one save together or not at all.
    ///
    /// Records that are equal then stay marked, see ``StoreFile/resolve(by:)``.
    /// What is noted and not sealed is sealed first, so that a write of another connection is never taken for older than the import.
    /// A log that the store refuses, for a constraint or because no honest writer made it, is undone by itself; without `isolating` it throws
    /// ``Refusal`` and everything is to be undone. A savepoint a log makes SQLite keep a copy of each page that the log touches, which costs as
    /// much as all the rest, and refusals are rare.
    func join(_ logs: [ReadyLog], isolating: Bool, _ db: Database) throws -> Outcome {
        var outcome = Outcome()
        // Of all together: which of two records is in the way of the other may be said by the next log.
        outcome.imported = try ImportTransaction.perform(sealer, retention: conflictRetention, relations: .postpone, db) { transaction in
            var importers: [LogBody.Table: TableImporter] = [:]
            let holes = try Holes(db)
            var lives = LifeLimit(try StoreKnowledge.all(transaction.state, db))
            var rest = logs[...]
            while let first = rest.first {
                let save = Self.save(at: rest)
                rest = rest[save.endIndex...]
                // Numbers are given outside the savepoint: a log that is undone leaves its peers known.
                for peer in save.flatMap({ [$0.peer] + $0.others }) { _ = try StoreKnowledge.number(of: peer, in: &transaction.peers, db) }
                let before = isolating ? transaction.outcome.notice : ImportNotice()
                var joining = first
                let refusal = try refusal {
                    func joinAll() throws {
                        for ready in save {
                            joining = ready
                            lives.add(1)
                            try transaction.conflicts.begin(ready, peers: transaction.peers)
                            try join(try loaded(ready), lives, &importers, transaction)
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
                    transaction.outcome.notice = before
                    outcome.refused = (joining, refusal)
                    break
                }
                outcome.joined += save.count
                for ready in save { try take(ready, transaction.peers, holes, &transaction.state, db) }
            }
        }
        Waypoint.importApplied.pass()
        return outcome
    }

    /// The logs that hold the rest of the first one's last save, and that one.
    private static func save(at logs: ArraySlice<ReadyLog>) -> ArraySlice<ReadyLog> {
        var end = logs.startIndex + 1
        while end < logs.endIndex, logs[end - 1].log.header.goesOn, logs[end].peer == logs[end - 1].peer,
            logs[end].log.header.predecessor == logs[end - 1].name.hash
        { end += 1 }
        return logs[logs.startIndex..<end]
    }

    /// Enters a log that has been joined among those that are known.
    private func take(_ ready: ReadyLog, _ peers: PeerTable, _ holes: Holes, _ state: inout StoreState, _ db: Database) throws {
        state.clock = max(state.clock, ready.time)
        try holes.note(ready.log.header, peers)
        try StoreKnowledge.take(
            ready.name.position, after: ready.log.header.previous, of: peers[ready.peer]!, time: ready.time, holes, db)
        for (peer, fact) in ready.contents.retired { try Retirements.enter(fact, of: peers[peer]!, db) }
        try db.cachedStatement(sql: "DELETE FROM ubiquity_quarantine WHERE peer = ? AND file = ?")
            .execute(arguments: [ready.peer.description, ready.name.description])
    }

    /// A log with its changes, which was whole when the import was planned.
    private func loaded(_ ready: ReadyLog) throws -> ReadyLog {
        guard ready.isLight, let reader else { return ready }
        do {
            return try reader.read(ready.name, of: ready.peer, clock: .latest)
        } catch is LogFault {
            throw Errno.noSuchFileOrDirectory
        }
    }

    /// Reads a large value again, which was whole when the import was planned.
    private func value(_ value: LargeValue, of peers: [PeerIdentifier], _ db: Database) throws -> RecordValue {
        if let values {
            guard case .whole(let bytes) = try values.find(value, of: peers) else { throw Errno.noSuchFileOrDirectory }
            return value.value(bytes)
        }
        return try LargeValues(limit: 0, db).value(value)
    }

    /// Why a log cannot be held by this store.
    struct Refusal: Error {
        var reason: String
        /// The record at which it was found.
        var record: ObjectID?
    }

    /// What the store refuses of what a body does; nil where it takes all.
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

    /// What an error at a record comes to: a refusal that names it, if it is one.
    private func named(_ error: any Error, _ table: String, _ key: [RecordValue]) -> any Error {
        guard let reason = ImportFault.refusal(error) else { return error }
        return Refusal(reason: reason, record: ObjectID(table: table, key: key.map(\.detached)))
    }

    /// Joins one log's changes, and nothing of what is known of logs.
    func join(
        _ ready: ReadyLog, _ lives: LifeLimit?, _ importers: inout [LogBody.Table: TableImporter], _ transaction: ImportTransaction
    ) throws {
        let (peers, db) = (transaction.peers, transaction.db)
        for group in ready.contents.groups {
            let stamp = group.time == .least ? .least : Stamp(group.time, peers[group.peer ?? ready.peer]!)
            for rows in group.rows {
                let table = ready.contents.tables[rows.table]
                guard let mapping = try mapping(of: table, in: ready) else { continue }
                let importer =
                    try importers[table]
                    ?? TableImporter(mapping, peers: peers, conflicts: transaction.conflicts, related: transaction.related, db)
                importers[table] = importer
                (importer.peers, importer.lives) = (peers, lives)
                try rows.forEach(in: table, values: { try value($0, of: ready.authors(of: group), db) }) { change in
                    do {
                        let kind = try importer.join(&change, stamp: stamp)
                        let name = importer.shape.name
                        for key in importer.removedRows { transaction.outcome.notice.add(.delete, ObjectID(table: name, key: key)) }
                        importer.removedRows = []
                        if let kind { transaction.outcome.notice.add(kind, ObjectID(table: name, key: change.key.map(\.detached))) }
                    } catch {
                        // A trigger may have rolled back all there was (sqlite.org/lang_createtrigger.html#raise).
                        throw db.isInsideTransaction ? named(error, table.name, change.key) : error
                    }
                }
            }
            if let related = transaction.related { try enter(group.same, of: ready, lives, related) }
        }
    }

    /// Where a log's table belongs here; nil for one that no longer syncs.
    private func mapping(of table: LogBody.Table, in log: ReadyLog) throws -> LogTableMapping? {
        switch LogTableMapping.find(table, isOlder: log.isOlder, among: shapes) {
        case .mapped(let mapping): return mapping
        case .gone: return nil
        case .unknown(let obstacle): throw LogFault.damaged(obstacle)
        }
    }

    /// Enters which records another peer found to be one.
    private func enter(_ same: [LogBody.Same], of log: ReadyLog, _ lives: LifeLimit?, _ related: RelatedTables) throws {
        for entry in same {
            if let lives, !lives.allows(max(entry.fact.first.life, entry.fact.second.life), after: 0) { throw LifeLimit.fault }
            guard let mapping = try mapping(of: log.contents.tables[entry.table], in: log) else { continue }
            let index = shapes.firstIndex { $0.name == mapping.shape.name }!
            let table = try related[index]
            guard try table.enter(entry.fact, since: sealer.now().timeIntervalSince1970) else { continue }
            for node in [entry.fact.first, entry.fact.second] { try table.markUnresolved(node.key) }
        }
    }
}

extension ImportNotice {
    func touches(_ table: String) -> Bool {
        inserted.contains { $0.table == table } || updated.contains { $0.table == table } || deleted.contains { $0.table == table }
    }
}
