internal import Foundation
internal import GRDB
internal import UbiquityContainers

/// Joins what was saved in one file of a store into another of its files, save by save: each becomes a log of the other, with its own stamp (DESIGN §6).
///
/// How far it has come commits with the rows, so that it goes on after a crash and takes in nothing twice. The first file is emptied at the end, once what has been
/// taken out of it is on the disk.
struct StoreJoin {
    static let statement =
        "CREATE TABLE ubiquity_joined (source TEXT PRIMARY KEY, sequence INTEGER NOT NULL, conflict INTEGER NOT NULL) WITHOUT ROWID"

    /// As many logs, or bytes of them, are one transaction.
    private static let logsPerBatch = 1_000
    private static let bytesPerBatch = 8 << 20

    let source: StoreBase
    let destination: StoreBase
    let conflictRetention: ConflictRetention

    /// Whether there is anything in a file that can be joined, or is to be taken over first.
    static func isNeeded(from source: StoreBase) async throws -> Bool {
        try await source.pool.read { db in
            try !Outbox.isEmpty(db) || source.sealer.hasNotes(db) || Adopter.isPending(db) || given(db) != nil
        }
    }

    /// The peer to whose file all that is in this one belongs; nil while nobody's.
    static func given(_ db: Database) throws -> PeerIdentifier? {
        try String.fetchOne(db, sql: "SELECT given FROM ubiquity_state").flatMap { PeerIdentifier($0) }
    }

    /// Notes to whom what is in the source belongs, before anything of it is joined there: it is joined nowhere else.
    func give(to peer: PeerIdentifier) async throws {
        try await source.pool.write { db in
            try db.execute(sql: "UPDATE ubiquity_state SET given = ? WHERE given IS NULL", arguments: [peer.description])
        }
        try await source.engine.sync()
        Waypoint.lifeGiven.pass()
    }

    /// Joins what is there, while others go on saving to the source.
    ///
    /// - Returns: what it did to the destination.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors; what has been joined by then stays so.
    func advance() throws -> LogImporter.Outcome {
        let adopter = Adopter(sealer: source.sealer)
        while try source.pool.write({ db in try Adopter.isPending(db) && !adopter.adoptBatch(db).isDone }) {}
        try source.pool.write { db in _ = try source.sealer.seal(db) }
        try source.file.resolve(by: source.sealer)
        var whole = LogImporter.Outcome()
        while let outcome = try source.pool.read({ origin in try joinBatch(origin) }) { whole.add(outcome) }
        return whole
    }

    /// Joins the rest while nobody saves to the source, and empties it.
    ///
    /// - Parameter body: is called between the two: what has been saved is on the disk, in the destination.
    /// - Returns: what it did to the destination.
    /// - Throws: what joining throws, before the body is called; or GRDB's errors after it, and the source is emptied another time.
    func finish(_ body: () -> Void) throws -> LogImporter.Outcome {
        var whole = LogImporter.Outcome()
        try source.file.importing { origin in
            let adopter = Adopter(sealer: source.sealer)
            while try Adopter.isPending(origin), try !adopter.adoptBatch(origin).isDone {}
            try source.sealer.seal(origin)
            try source.file.resolve(by: source.sealer, origin)
            while let outcome = try joinBatch(origin) { whole.add(outcome) }
            // No commit of the source may outlive what has been taken out of it.
            try Publisher(layout: destination.engine.layout, storeFile: destination.file.path, files: destination.engine.files).syncWriteAheadLog()
            Waypoint.lifeSynced.pass()
            body()
            Waypoint.lifeSwapped.pass()
            try source.file.empty(origin)
            try origin.execute(sql: "UPDATE ubiquity_state SET given = NULL")
            Waypoint.lifeEmptied.pass()
        }
        Waypoint.lifeDone.pass()
        return whole
    }

    /// Joins some of the source's logs; nil where none is left.
    private func joinBatch(_ origin: Database) throws -> LogImporter.Outcome? {
        let peer = try StoreState.read(origin).peer
        let (sequence, conflict) = try destination.pool.read { db in try Self.joined(of: peer, db) }
        let logs = try Self.logs(after: sequence, origin)
        let conflicts = try Row.fetchAll(origin, sql: "SELECT * FROM ubiquity_conflict WHERE number > ? ORDER BY number", arguments: [conflict])
        guard let last = logs.last?.name.sequence ?? (conflicts.isEmpty ? nil : sequence) else { return nil }
        let outcome = try destination.file.importing { db in
            // Another process may have been faster.
            guard try Self.joined(of: peer, db) == (sequence, conflict) else { return LogImporter.Outcome() }
            let importer = LogImporter(
                shapes: destination.file.shapes, sealer: destination.sealer, conflictRetention: conflictRetention, values: nil)
            try copyValues(of: logs, origin, db)
            let outcome = try importer.replay(
                logs, from: Origin(origin), isOlder: { LogTableMapping.isOlder($0, than: destination.file.migrations) }, db)
            try copy(conflicts, origin, db)
            try db.execute(
                sql: "INSERT OR REPLACE INTO ubiquity_joined VALUES (?,?,?)",
                arguments: [peer.description, last, conflicts.last?["number"] ?? conflict])
            return outcome
        }
        Waypoint.lifeJoined.pass()
        return outcome
    }

    private static func joined(of peer: PeerIdentifier, _ db: Database) throws -> (sequence: Int64, conflict: Int64) {
        let row = try Row.fetchOne(db, sql: "SELECT sequence, conflict FROM ubiquity_joined WHERE source = ?", arguments: [peer.description])
        return (row?["sequence"] ?? 0, row?["conflict"] ?? 0)
    }

    private static func logs(after sequence: Int64, _ db: Database) throws -> [(name: LogFileName, log: LogFile)] {
        var logs: [(name: LogFileName, log: LogFile)] = []
        var bytes = 0
        let rows = try Row.fetchCursor(
            db, sql: "SELECT sequence, hash, bytes FROM ubiquity_outbox WHERE sequence > ? ORDER BY sequence LIMIT ?",
            arguments: [sequence, logsPerBatch])
        while bytes < bytesPerBatch, let row = try rows.next() {
            guard let hash = ContentHash(bytes: row["hash"] as Data) else {
                throw UbiquitousStoreError(.malformed, "A sealed log in the store file is damaged.")
            }
            let log = [UInt8](row["bytes"] as Data)
            bytes += log.count
            logs.append((LogFileName(sequence: row["sequence"], hash: hash), try LogFile(decoding: log)))
        }
        return logs
    }

    /// Copies the large values that logs name.
    private func copyValues(of logs: [(name: LogFileName, log: LogFile)], _ origin: Database, _ db: Database) throws {
        guard try LargeValues.last(origin) > 0 else { return }
        let values = LargeValues(limit: 0, db)
        for (_, log) in logs {
            let contents = try LogBody.decode(log)
            for rows in contents.groups.flatMap(\.rows) {
                try rows.forEach(
                    in: contents.tables[rows.table],
                    values: { value in
                        if let bytes = try LargeValues.bytes(value.hash, origin) { try values.insert(bytes, value.hash) }
                        return .null
                    }
                ) { _ in }
            }
        }
    }

    /// Takes over what the source lists as lost.
    private func copy(_ conflicts: [Row], _ origin: Database, _ db: Database) throws {
        guard !conflicts.isEmpty else { return }
        let names = try StoreKnowledge.peers(origin)
        func number(_ value: Int64?) throws -> Int64? {
            guard let value else { return nil }
            guard let peer = names[PeerNumber(rawValue: value)] else { return PeerNumber.nobody.rawValue }
            return try StoreKnowledge.number(of: peer, db).rawValue
        }
        for row in conflicts {
            try db.execute(
                sql: "INSERT INTO ubiquity_conflict (noticed, name, key, reason, author, written, winner, lost, others) VALUES (?,?,?,?,?,?,?,?,?)",
                arguments: [
                    row["noticed"] as Double, row["name"] as String, row["key"] as Data, row["reason"] as Int64, try number(row["author"]),
                    row["written"] as Int64, try number(row["winner"]), row["lost"] as Data, row["others"] as Data,
                ])
        }
    }
}

/// Another file of a store, whose saves are joined.
private struct Origin {
    let peer: PeerIdentifier
    let db: Database
    /// Whether whoever saved there could see what the account's other devices had written: it is an account's file that is made anew.
    let sawContent: Bool
    /// What of it had been taken in there.
    let knowledge: Knowledge

    init(_ db: Database) throws {
        let state = try StoreState.read(db)
        (peer, self.db, sawContent) = (state.peer, db, state.place == .store)
        knowledge = sawContent ? try StoreKnowledge.all(state, db) : Knowledge()
    }

    /// The highest stamp of each peer that had been taken in, by the numbers of the other file.
    func seen(_ peers: inout PeerTable, _ destination: Database) throws -> [PeerNumber: HybridTime] {
        guard sawContent else { return [:] }
        let names = try StoreKnowledge.peers(db)
        var seen: [PeerNumber: HybridTime] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT peer, max(time) AS time FROM ubiquity_log GROUP BY peer") {
            guard let name = names[PeerNumber(rawValue: row["peer"])] else { continue }
            seen[try StoreKnowledge.number(of: name, in: &peers, destination)] = HybridTime(rawValue: row["time"])
        }
        return seen
    }
}

extension LogImporter {
    /// Joins what was sealed in another file of the same store, and puts it behind this one's own logs.
    ///
    /// - Parameters:
    ///   - logs: the other file's logs, in their order.
    ///   - origin: the other file.
    ///   - isOlder: whether a schema is one that this store has left behind.
    ///   - db: in the transaction of ``StoreFile/importing(attaching:_:)``.
    /// - Returns: what came of it.
    /// - Throws: `UbiquitousStoreError` where a log cannot be held here, or GRDB's errors.
    fileprivate func replay(
        _ logs: [(name: LogFileName, log: LogFile)], from origin: Origin, isOlder: (String) -> Bool, _ db: Database
    ) throws -> Outcome {
        try sealer.seal(db)
        try db.execute(sql: "UPDATE ubiquity_import SET active = 1")
        var state = try StoreState.read(db)
        var peers = try StoreKnowledge.peers(db)
        var outcome = Outcome()
        let conflicts = try ConflictRecorder(now: sealer.now(), db)
        var importers: [LogBody.Table: TableImporter] = [:]
        let related = RelatedTables(shapes, db)
        let values = LargeValues(limit: sealer.largeValueSize, db)
        var seen = try origin.seen(&peers, db)
        var rebirths = origin.sawContent ? nil : try Rebirths(of: origin.peer, shapes, origin: origin.db, db)
        var news = origin.knowledge
        for (name, log) in logs {
            var contents = try LogBody.decode(log)
            for index in contents.groups.indices where contents.groups[index].peer == nil { contents.groups[index].peer = origin.peer }
            // What was saved there before had been seen by who saved there again.
            for peer in [origin.peer] + contents.groups.compactMap(\.peer) {
                seen[try StoreKnowledge.number(of: peer, in: &peers, db)] = HybridTime(rawValue: .max)
            }
            try rebirths?.apply(to: &contents, values)
            let ready = ReadyLog(peer: origin.peer, name: name, log: log, contents: contents, isOlder: isOlder(log.header.schema))
            conflicts.begin(peers[origin.peer]!, seen: seen)
            do {
                try join(ready, peers: peers, conflicts, related, &importers, &outcome.notice, db)
            } catch let refusal as Refusal {
                throw UbiquitousStoreError(
                    .unsupported,
                    "What was saved in another file of this store cannot be joined\(refusal.record.map { " at \($0)" } ?? ""): \(refusal.reason). It stays there."
                )
            }
            var header = log.header
            (header.peer, header.epoch, header.sequence, header.predecessor) = (state.peer, state.epoch, state.sequence + 1, state.predecessor)
            (header.news, news) = (news.without(state.peer), Knowledge())
            state.predecessor = try Outbox.append(header, body: contents.encoded(), time: ready.time, isOpen: sealer.coalesces, db)
            state.sequence = header.sequence
            state.clock = max(state.clock, ready.time)
            outcome.joined += 1
        }
        if let related { try sealer.resolve(related, peers: peers, state: &state, notice: &outcome.notice, db) }
        try state.update(db)
        outcome.conflicts = conflicts.count
        if conflicts.count > 0 { try ConflictHistory(db).prune(conflictRetention, now: sealer.now()) }
        outcome.broken = try broken(outcome.notice, db)
        try db.execute(sql: "UPDATE ubiquity_import SET active = 0")
        for shape in shapes where outcome.notice.touches(shape.name) { try db.notifyChanges(in: Table(shape.name)) }
        return outcome
    }
}

extension LogImporter.Outcome {
    /// Adds what another transaction did after it.
    fileprivate mutating func add(_ other: Self) {
        for record in other.notice.inserted { notice.add(.insert, record) }
        for record in other.notice.updated { notice.add(.update, record) }
        for record in other.notice.deleted { notice.add(.delete, record) }
        conflicts += other.conflicts
        broken += other.broken
        joined += other.joined
    }
}
