internal import Foundation
internal import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Joins the saves of one file of a store into another of its files: each save becomes a log of the other file, with
/// its time.
///
/// The progress commits with the rows, so the join continues after a crash and takes in nothing twice. The source is
/// emptied at the end, after everything joined from it is on the disk.
struct StoreJoin {
    /// The limits of one transaction: a number of logs, or their size in bytes.
    private static let logsPerBatch = 1_000
    private static let bytesPerBatch = 8 << 20

    let source: StoreBase
    let destination: StoreBase
    let conflictRetention: ConflictRetention
    /// The peer that the local file is given to; nil to join only what was given before.
    ///
    /// If another process has joined the file, and new saves were made since, the file is given again.
    var recipient: PeerIdentifier?
    /// Returns whether the recipient's account is signed in now: saves that are made after its sign-out are not given
    /// to it.
    var isRecipientHere: @Sendable () throws -> Bool = { true }

    /// Another process has joined and emptied the source, and the saves since then are given to no account.
    private struct WasFaster: Error {}

    /// Returns whether a file holds saves to join, or rows to adopt first.
    static func isNeeded(from source: StoreBase) async throws -> Bool {
        try await source.pool.read { db in try isNeeded(from: source, db) }
    }

    private static func isNeeded(from source: StoreBase, _ db: Database) throws -> Bool {
        try !Outbox.isEmpty(db) || source.sealer.hasNotes(db) || Adopter.isPending(db) || given(db) != nil
    }

    /// Returns the peer that a file has been given to; nil if there is none.
    static func given(_ db: Database) throws -> PeerIdentifier? {
        try String.fetchOne(db, sql: "SELECT given FROM ubiquity_state").flatMap { PeerIdentifier($0) }
    }

    /// Returns whether a local file may be given to an account.
    static func isFree(_ local: StoreBase, for account: AccountName) async throws -> Bool {
        try await local.pool.read { db in try given(db).map { $0.account == account.description } ?? true }
    }

    /// Notes that the source is given to ``recipient``, before any of it is joined: it is joined nowhere else.
    func give() throws {
        guard let recipient else { return }
        try source.pool.write { db in
            try db.execute(sql: "UPDATE ubiquity_state SET given = ? WHERE given IS NULL", arguments: [recipient.description])
            try Self.check(db, isGivenTo: recipient.account)
        }
        try source.syncWriteAheadLog()
        Waypoint.lifeGiven.pass()
    }

    /// Checks that a file is joined only into the account that it belongs to.
    private static func check(_ db: Database, isGivenTo account: String) throws {
        let owner = try StoreState.read(db).place == .local ? given(db)?.account : StoreState.read(db).account
        guard let owner else { throw WasFaster() }
        guard owner != account else { return }
        throw UbiquitousStoreError(
            .foreignStore, "These saves have been given to the account \(owner), and are not joined into a file of \(account).")
    }

    /// Joins the present saves, while other programs go on saving to the source.
    ///
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors; the part that was joined stays joined.
    func advance() throws {
        try sealAll()
        while try goingOn({ try source.pool.read { origin in try joinBatch(origin) } }) {}
    }

    /// Does a part of the join; repeats it if another process emptied the source, and the new saves can be given to the
    /// recipient.
    ///
    /// - Returns: whether there is more to do.
    private func goingOn(_ part: () throws -> Bool) throws -> Bool {
        do {
            return try part()
        } catch is WasFaster {
            guard recipient != nil, try isRecipientHere() else { return false }
            try give()
            return true
        }
    }

    /// Seals everything in the source into logs, in committed transactions.
    ///
    /// After a crash a joined save must exist again, under its number.
    private func sealAll() throws {
        let adopter = Adopter(sealer: source.sealer)
        var isAdopting = try source.pool.read(Adopter.isPending)
        while isAdopting {
            isAdopting = try source.pool.write { db in try Adopter.isPending(db) && !adopter.adoptBatch(db).isDone }
            Waypoint.adoptBatch.pass()
        }
        try source.pool.write { db in _ = try source.sealer.seal(db) }
        try source.file.resolve(by: source.sealer)
    }

    /// Returns whether everything in the source is sealed.
    private func isSealed(_ origin: Database) throws -> Bool {
        try !Adopter.isPending(origin) && !source.sealer.hasNotes(origin) && !RelatedTables.hasUnresolved(source.file.shapes, origin)
    }

    /// Joins the rest while nobody saves to the source, and empties it.
    ///
    /// If another process has emptied it, and the saves since then cannot be given to the recipient, these stay.
    ///
    /// - Parameter body: called between the two steps, when the joined saves are on the disk in the destination.
    /// - Throws: an error of joining, before the body is called; or GRDB's errors after it, and the source is emptied
    ///   another time.
    func finish(_ body: () -> Void = {}) throws {
        if try endWithoutRecords(body) { return Waypoint.lifeDone.pass() }
        var isEmptied = false
        repeat {
            try advance()
        } while try goingOn {
            // Another program may have written since: its changes are sealed first.
            try source.file.importing { origin in
                guard try isSealed(origin) else { return true }
                try empty(origin, body)
                isEmptied = true
                return false
            }
        }
        if !isEmptied { source.pool.writeWithoutTransaction { _ in body() } }
        Waypoint.lifeDone.pass()
    }

    /// Calls the body while nobody saves to the source, if the source holds nothing that could be joined or removed.
    ///
    /// - Returns: whether the body has been called.
    private func endWithoutRecords(_ body: () -> Void) throws -> Bool {
        guard try source.pool.read(hasNoRecords) else { return false }
        return try source.pool.write { origin in
            guard try hasNoRecords(origin) else { return false }
            body()
            return true
        }
    }

    private func hasNoRecords(_ origin: Database) throws -> Bool {
        guard try !Self.isNeeded(from: source, origin), try !RelatedTables.hasUnresolved(source.file.shapes, origin) else { return false }
        let tables = source.file.shapes.map(\.name.quotedIdentifier) + ["ubiquity_conflict", "ubiquity_rebirth", "ubiquity_value"]
        return try tables.allSatisfy { try Bool.fetchOne(origin, sql: "SELECT NOT EXISTS (SELECT 1 FROM main.\($0))")! }
    }

    /// Joins the last logs, and empties the source, in the source's transaction.
    private func empty(_ origin: Database, _ body: () -> Void) throws {
        while try joinBatch(origin) {}
        // The destination must be on the disk before the source commits that it is empty.
        try destination.syncWriteAheadLog()
        Waypoint.lifeSynced.pass()
        body()
        Waypoint.lifeSwapped.pass()
        try source.file.empty(source.sealer, origin)
        try origin.execute(sql: "UPDATE ubiquity_state SET given = NULL")
        Waypoint.lifeEmptied.pass()
    }

    /// Joins some of the source's logs; returns false if none is left.
    private func joinBatch(_ origin: Database) throws -> Bool {
        let peer = try StoreState.read(origin).peer
        let (token, account) = try destination.pool.read { db in (try Self.joined(of: peer, db), try StoreState.read(db).account) }
        try Self.check(origin, isGivenTo: account)
        let (sequence, conflict) = try Self.isKnown(token, origin) ? (token.sequence, token.conflict) : (0, 0)
        let logs = try Self.logs(after: sequence, origin)
        let conflicts = try Row.fetchAll(origin, sql: "SELECT * FROM ubiquity_conflict WHERE number > ? ORDER BY number", arguments: [conflict])
        guard let last = logs.last?.sequence ?? (conflicts.isEmpty ? nil : sequence) else { return false }
        // A joined log must survive a power failure: otherwise the next log would get its number.
        try source.syncWriteAheadLog()
        try destination.file.importing { db in
            // Another process may have joined these logs first.
            guard try Self.joined(of: peer, db) == token else { return }
            let importer = LogImporter(
                shapes: destination.file.shapes, sealer: destination.sealer, conflictRetention: conflictRetention, values: nil)
            try importer.replay(
                logs, from: Origin(origin), isOlder: { LogTableMapping.isOlder($0, than: destination.file.migrations) }, db)
            try copy(conflicts, origin, db)
            try db.execute(
                sql: "INSERT OR REPLACE INTO ubiquity_joined VALUES (?,?,?,?)",
                arguments: [peer.description, last, logs.last.map { Data($0.hash.bytes) } ?? token.hash, conflicts.last?["number"] ?? conflict])
        }
        Waypoint.lifeJoined.pass()
        return true
    }

    /// The progress of joining a file.
    private struct Token: Equatable {
        var sequence: Int64 = 0
        /// The hash of the log with that number.
        var hash: Data?
        var conflict: Int64 = 0
    }

    private static func joined(of peer: PeerIdentifier, _ db: Database) throws -> Token {
        let row = try Row.fetchOne(db, sql: "SELECT sequence, hash, conflict FROM ubiquity_joined WHERE source = ?", arguments: [peer.description])
        return row.map { Token(sequence: $0["sequence"], hash: $0["hash"], conflict: $0["conflict"]) } ?? Token()
    }

    /// Returns whether a file is the joined one, and not an older copy of it that has diverged; such a copy is joined
    /// completely.
    private static func isKnown(_ token: Token, _ origin: Database) throws -> Bool {
        guard try StoreState.read(origin).sequence >= token.sequence else { return false }
        let hash = try Data.fetchOne(origin, sql: "SELECT hash FROM ubiquity_outbox WHERE sequence = ?", arguments: [token.sequence])
        return hash == nil || hash == token.hash
    }

    /// Returns the next logs: whole saves, within the limits of a transaction.
    private static func logs(after sequence: Int64, _ db: Database) throws -> [LogFileName] {
        var logs: [LogFileName] = []
        var bytes = 0
        var goesOn = false
        let rows = try RawStatement("SELECT sequence, hash, bytes FROM ubiquity_outbox WHERE sequence > ? ORDER BY sequence", db)
        rows.bind(1, sequence)
        defer { rows.reset() }
        while goesOn || bytes < bytesPerBatch && logs.count < logsPerBatch, try rows.step() {
            guard let hash = ContentHash(bytes: rows.bytes(1)) else {
                throw UbiquitousStoreError(.malformed, "A sealed log in the store file is damaged.")
            }
            bytes += rows.size(2)
            goesOn = try LogFile(decoding: Array(rows.bytes(2))).header.goesOn
            logs.append(LogFileName(sequence: rows.integer(0), hash: hash))
        }
        return logs
    }

    /// Copies the source's list of conflicts.
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
    /// Whether saves there could take the logs of the account's other devices into account: it is an account's former
    /// file.
    let sawContent: Bool
    /// The knowledge of that file.
    let knowledge: Knowledge

    init(_ db: Database) throws {
        let state = try StoreState.read(db)
        (peer, self.db, sawContent) = (state.peer, db, state.place == .store)
        knowledge = sawContent ? try StoreKnowledge.all(state, db) : Knowledge()
    }

    /// Returns the highest stamp of each peer that was taken in there, by the peer numbers of the destination.
    func seen(_ peers: inout PeerTable, _ destination: Database) throws -> [PeerNumber: HybridTime] {
        let names = try StoreKnowledge.peers(db)
        var seen: [PeerNumber: HybridTime] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT peer, max(time) AS time FROM ubiquity_log GROUP BY peer") {
            guard let name = names[PeerNumber(rawValue: row["peer"])] else { continue }
            seen[try StoreKnowledge.number(of: name, in: &peers, destination)] = HybridTime(rawValue: row["time"])
        }
        // The last saves there have been published nowhere.
        seen[try StoreKnowledge.number(of: peer, in: &peers, destination)] = HybridTime(rawValue: .max)
        return seen
    }

    /// Returns the first stamp that was assigned there.
    func beginning() throws -> HybridTime {
        try Int64.fetchOne(db, sql: "SELECT min(time) FROM ubiquity_outbox WHERE time > 0").map { HybridTime(rawValue: $0) } ?? .least
    }
}

extension LogImporter {
    /// Joins logs that were sealed in another file of the store, and appends them to this store's own logs.
    ///
    /// - Parameters:
    ///   - logs: the other file's logs, in order.
    ///   - origin: the other file.
    ///   - isOlder: returns whether a schema version is older than this store's.
    ///   - db: in the transaction of ``StoreFile/importing(attaching:_:)``.
    /// - Throws: `UbiquitousStoreError` if this store cannot hold a log, or GRDB's errors.
    fileprivate func replay(
        _ logs: [LogFileName], from origin: Origin, isOlder: (String) -> Bool, _ db: Database
    ) throws {
        _ = try ImportTransaction.perform(sealer, .join, retention: conflictRetention, relations: .unite(batches: .max), db) { transaction in
            try replay(logs, from: origin, isOlder: isOlder, transaction)
        }
    }

    private func replay(
        _ logs: [LogFileName], from origin: Origin, isOlder: (String) -> Bool, _ transaction: ImportTransaction
    ) throws {
        let db = transaction.db
        var importers: [LogBody.Table: TableImporter] = [:]
        let values = sealer.values(db)
        // The content of a local or fallback file counts as written by the peer that publishes it: its logs show other
        // peers who has seen that content.
        let author = origin.sawContent ? origin.peer : transaction.state.peer
        let number = try StoreKnowledge.number(of: author, in: &transaction.peers, db)
        if origin.sawContent {
            transaction.conflicts.begin(number, seen: try origin.seen(&transaction.peers, db))
        } else {
            transaction.conflicts.begin(number, since: try origin.beginning())
        }
        var rebirths =
            origin.sawContent
            ? nil
            : try Rebirths(
                of: origin.peer, shapes, origin: origin.db, db,
                joined: try Int64.fetchOne(
                    origin.db, sql: "SELECT coalesce(max(sequence), 0) FROM ubiquity_outbox WHERE sequence < ?",
                    arguments: [logs.first?.sequence ?? 0])!)
        let wall = HybridTime(sealer.now())
        var joined = !origin.sawContent && transaction.state.clock > wall ? JoinedSave(shapes, origin: origin.db, db, wall: wall) : nil
        var news = origin.knowledge
        let hasValues = try LargeValues.last(origin.db) > 0
        for name in logs {
            // One log at a time is in memory.
            let log = try Outbox.log(name.sequence, origin.db).log
            if hasValues {
                for value in try log.largeValues.keys {
                    if let bytes = try LargeValues.bytes(value.hash, origin.db) { try values.insert(bytes, value.hash) }
                }
            }
            var contents = try LogBody.decode(log)
            for index in contents.groups.indices where origin.sawContent && contents.groups[index].peer == nil {
                contents.groups[index].peer = origin.peer
            }
            for peer in contents.groups.compactMap(\.peer) { _ = try StoreKnowledge.number(of: peer, in: &transaction.peers, db) }
            try rebirths?.apply(to: &contents, values)
            try joined?.note(contents)
            let ready = ReadyLog(peer: author, name: name, log: log, contents: contents, isOlder: isOlder(log.header.schema))
            do {
                try join(ready, nil, &importers, transaction)
            } catch let refusal as Refusal {
                throw UbiquitousStoreError(
                    .unsupported,
                    "Saves in another file of this store cannot be joined\(refusal.record.map { " at \($0)" } ?? ""): \(refusal.reason). They stay there."
                )
            }
            var header = log.header
            var state = transaction.state
            (header.peer, header.epoch, header.sequence, header.predecessor) = (state.peer, state.epoch, state.sequence + 1, state.predecessor)
            (header.news, news) = (news.without(state.peer), Knowledge())
            state.predecessor = try Outbox.append(header, body: contents.encoded(), time: ready.time, isOpen: sealer.coalesces, db)
            state.sequence = header.sequence
            state.clock = max(state.clock, ready.time)
            transaction.state = state
        }
        if let joined, let last = logs.last {
            try transaction.resolve(.unite(batches: .max))
            let time = HybridTime.next(after: transaction.state.clock, wall: wall)
            let save = SaveWriter(sealer, at: time, transaction.state, db)
            var contents = LogBody.Contents(groups: [LogBody.Group(time: time, peer: nil, rows: [])])
            for section in try joined.sections(values) {
                try save.add(section.shape.logTable, count: section.count, rows: section.rows)
                contents.groups[0].rows.append(
                    LogBody.Rows(table: contents.tables.count, count: section.count, bytes: section.rows.bytes[...]))
                contents.tables.append(section.shape.logTable)
            }
            if let saved = try save.finish() {
                transaction.state = saved
                let log = try Outbox.log(last.sequence, origin.db).log
                let ready = ReadyLog(peer: author, name: last, log: log, contents: contents, isOlder: false)
                try join(ready, nil, &importers, transaction)
            }
        }
    }
}
