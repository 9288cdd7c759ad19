internal import Foundation
internal import GRDB
package import StoreFormat
internal import UbiquityContainers

/// Finds out what loses in an import, and lists it.
///
/// Two writes are in conflict where neither author had seen the other's. An author has seen what was in the logs that its own logs name,
/// so for each author the highest stamp of each peer that it has seen is kept: `ubiquity_seen`. What arrives and loses was seen by
/// nobody whose write is here already, for a log that had seen it would have waited for it.
package final class ConflictRecorder {
    static let statement = """
        CREATE TABLE ubiquity_seen (author INTEGER NOT NULL, peer INTEGER NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (author, peer)) WITHOUT ROWID
        """

    private let db: Database
    private let now: Date
    private let insert: RawStatement
    private let see: RawStatement
    private var seen: [PeerNumber: [PeerNumber: HybridTime]] = [:]
    private var author = PeerNumber.nobody
    private var authorSees: [PeerNumber: HybridTime] = [:]
    /// Of another file's saves: the first of them.
    private var elsewhere: HybridTime?
    /// Of a baseline: for each peer the highest stamp that was known here before it; nil of a log, all of which is new.
    private var known: [PeerNumber: HybridTime]?
    /// How many conflicts have been listed.
    private(set) var count = 0

    init(now: Date, _ db: Database) throws {
        self.db = db
        self.now = now
        insert = try RawStatement(
            "INSERT INTO ubiquity_conflict (noticed, name, key, reason, author, written, winner, lost, others) VALUES (?,?,?,?,?,?,?,?,?)", db)
        see = try RawStatement("INSERT OR REPLACE INTO ubiquity_seen VALUES (?,?,?)", db)
    }

    /// Takes note of what a log's author had seen; the log's changes follow.
    ///
    /// - Parameters:
    ///   - log: the log that is to be joined.
    ///   - peers: the peers' numbers.
    /// - Throws: GRDB's errors.
    func begin(_ log: ReadyLog, peers: PeerTable) throws {
        let author = peers[log.peer]!
        if seen[author] == nil {
            let statement = try db.cachedStatement(sql: "SELECT peer, time FROM ubiquity_seen WHERE author = ?")
            let rows = try Row.fetchAll(statement, arguments: [author.rawValue])
            seen[author] = Dictionary(
                uniqueKeysWithValues: rows.map { (PeerNumber(rawValue: $0["peer"]), HybridTime(rawValue: $0["time"])) })
        }
        for (peer, position) in log.log.header.news.entries {
            guard let number = peers[peer], let time = try StoreKnowledge.time(of: number, position, db) else { continue }
            guard time > seen[author]![number] ?? .least else { continue }
            seen[author]![number] = time
            see.bind(1, author.rawValue)
            see.bind(2, number.rawValue)
            see.bind(3, time.rawValue)
            try see.run()
        }
        self.author = author
        authorSees = seen[author]!
        if let fork = try fork(of: author, at: log.name.sequence) { authorSees[author] = fork }
    }

    /// Takes note that what follows was saved in a former file of this store.
    ///
    /// - Parameters:
    ///   - author: the peer that the file's saves are of.
    ///   - seen: for each peer the highest stamp that was seen there.
    package func begin(_ author: PeerNumber, seen: [PeerNumber: HybridTime]) { (self.author, authorSees) = (author, seen) }

    /// Takes note that what follows was saved in another file of this store, where nothing was seen but that.
    ///
    /// - Parameters:
    ///   - author: this store's peer, under which it is said.
    ///   - time: the first stamp that was given there: what this peer had written here is older.
    package func begin(_ author: PeerNumber, since time: HybridTime) { (self.author, authorSees, elsewhere) = (author, [:], time) }

    /// Takes note of what the writer of a baseline had seen; what the baseline holds follows.
    ///
    /// Who wrote a value in it had seen less than that: a value here that loses to one is listed if not even the baseline's writer had seen it.
    func begin(_ baseline: BaselineHeader, attachedAs schema: String, peers: PeerTable) throws {
        author = peers[baseline.peer]!
        let ours = try StoreKnowledge.all(StoreState.read(db), db)
        func times(_ table: String) throws -> [Int64: HybridTime] {
            let rows = try Row.fetchAll(db, sql: "SELECT peer, max(time) AS time FROM \(table) GROUP BY peer")
            return Dictionary(uniqueKeysWithValues: rows.map { ($0["peer"], HybridTime(rawValue: $0["time"])) })
        }
        known = Dictionary(uniqueKeysWithValues: try times("ubiquity_log").map { (PeerNumber(rawValue: $0.key), $0.value) })
        authorSees = [:]
        for (number, time) in try times("\(schema).log") {
            guard let peer = baseline.peers[number], let here = peers[peer] else { continue }
            guard try !isOneBranch(baseline.knowledge.heads[peer] ?? [], ours.heads[peer] ?? [], number, here, schema) else {
                authorSees[here] = time
                continue
            }
            // Branches of one identifier have not seen each other: what both sides have counts, up to where they part. More may be listed then, which is no loss.
            let (theirs, own) = (Logs(table: "\(schema).log", peer: number), Logs(table: "ubiquity_log", peer: here.rawValue))
            // Of a peer of which no log is here there may still be writes: this store's own, which it made before it found its identifier taken.
            authorSees[here] = known![here] == nil ? .least : try shared(theirs, with: own)
            known![here] = try shared(own, with: theirs)
        }
    }

    /// Whether a baseline's logs of a peer and those here are one after the other.
    private func isOneBranch(
        _ theirs: Set<Knowledge.Position>, _ ours: Set<Knowledge.Position>, _ number: Int64, _ here: PeerNumber, _ schema: String
    ) throws -> Bool {
        guard theirs.count == 1, ours.count == 1, let their = theirs.first, let our = ours.first else { return false }
        if try StoreKnowledge.time(of: here, their, db) != nil { return true }
        return try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM \(schema).log WHERE peer = ? AND sequence = ? AND hash = ?)",
            arguments: [number, our.sequence, Data(our.hash.bytes)])!
    }

    /// A peer's logs in a table of logs.
    private struct Logs {
        var table: String
        var peer: Int64
    }

    /// The highest stamp in logs before the first that only the other side has.
    private func shared(_ logs: Logs, with other: Logs) throws -> HybridTime {
        let time = try Int64.fetchOne(
            db,
            sql: """
                SELECT max(time) FROM \(logs.table) WHERE peer = ?1 AND sequence < coalesce((SELECT min(sequence) FROM (
                SELECT sequence, hash FROM \(other.table) WHERE peer = ?2 EXCEPT SELECT sequence, hash FROM \(logs.table) WHERE peer = ?1
                )), 9223372036854775807)
                """, arguments: [logs.peer, other.peer])
        return time.map { HybridTime(rawValue: $0) } ?? .least
    }

    /// Whether an arriving write was not known before.
    func isNews(_ stamp: Stamp) -> Bool {
        guard let known else { return true }
        return stamp.time > known[stamp.peer] ?? .least
    }

    /// The highest stamp that all branches of an author share; nil where it has one branch.
    ///
    /// Above it, the branches have not seen each other. What one of them wrote after itself may be listed then too: too much is no loss.
    private func fork(of author: PeerNumber, at sequence: Int64) throws -> HybridTime? {
        let branches = try RawStatement(
            "SELECT (SELECT count(*) FROM ubiquity_knowledge WHERE peer = ?1) > 1 OR (SELECT max(sequence) FROM ubiquity_log WHERE peer = ?1) >= ?2",
            db)
        branches.bind(1, author.rawValue)
        branches.bind(2, sequence)
        defer { branches.reset() }
        guard try branches.step(), branches.integer(0) == 1 else { return nil }
        let shared = try RawStatement(
            """
            SELECT max(time) FROM ubiquity_log WHERE peer = ?1 AND sequence < min(?2, coalesce(
            (SELECT min(sequence) FROM (SELECT sequence FROM ubiquity_log WHERE peer = ?1 GROUP BY sequence HAVING count(*) > 1)), ?2))
            """, db)
        shared.bind(1, author.rawValue)
        shared.bind(2, sequence)
        defer { shared.reset() }
        return try shared.step() && !shared.isNull(0) ? HybridTime(rawValue: shared.integer(0)) : .least
    }

    /// Whether the author of the present log had seen a write.
    func hasSeen(_ stamp: Stamp) -> Bool {
        if stamp.time == .least { return true }
        if let elsewhere { return stamp.peer == author && stamp.time >= elsewhere }
        guard let time = authorSees[stamp.peer] else { return stamp.peer == author }
        return stamp.time <= time
    }

    /// Columns of a living record whose writes the author of the present log had not seen.
    func unseen(_ clock: RecordClock, among columns: ColumnSet) -> ColumnSet {
        if clock.others.isEmpty { return hasSeen(clock.stamp) ? [] : columns.intersection(clock.columns) }
        return columns.numbers.reduce(into: ColumnSet()) { unseen, column in
            if !hasSeen(clock.stamp(of: column)) { unseen.insert(ColumnSet(column: column)) }
        }
    }

    /// Lists values that lost.
    func record(
        _ record: ObjectID, _ reason: Conflict.Reason, lost: [Conflict.Field], written: Stamp, winner: PeerNumber?, others: [Conflict.Field]
    ) throws {
        insert.bind(1, .real(now.timeIntervalSince1970.bitPattern))
        insert.bind(2, .text(record.table))
        insert.bind(3, ConflictHistory.packed(record.key.map { Conflict.Field(column: "", value: $0) }))
        insert.bind(4, reason.rawValue)
        insert.bind(5, written.peer.rawValue)
        insert.bind(6, written.time.rawValue)
        insert.bind(7, winner.map { .integer($0.rawValue) } ?? .null)
        insert.bind(8, ConflictHistory.packed(lost))
        insert.bind(9, ConflictHistory.packed(others))
        try insert.run()
        count += 1
    }
}
