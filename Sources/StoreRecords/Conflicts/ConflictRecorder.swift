internal import Foundation
internal import GRDB
package import StoreFormat
internal import UbiquityContainers

/// Finds the values that lose in an import, and lists them as conflicts.
///
/// Two writes conflict if neither author had seen the other's write. An author has seen the logs that its own logs
/// name. `ubiquity_seen` therefore stores, for each author, the highest stamp of each peer that it has seen. A losing
/// value that arrives was not seen by any author whose write is already here: a log that had seen it would have waited
/// for it.
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
    /// The first stamp of another file's saves, while those are joined.
    private var elsewhere: HybridTime?
    /// The highest stamp of each peer that was known here before a baseline.
    ///
    /// Nil for a log, which is entirely new.
    private var known: [PeerNumber: HybridTime]?
    /// The number of conflicts that have been listed.
    private(set) var count = 0

    init(now: Date, _ db: Database) throws {
        self.db = db
        self.now = now
        insert = try RawStatement(
            "INSERT INTO ubiquity_conflict (noticed, name, key, reason, author, written, winner, lost, others) VALUES (?,?,?,?,?,?,?,?,?)", db)
        see = try RawStatement("INSERT OR REPLACE INTO ubiquity_seen VALUES (?,?,?)", db)
    }

    /// Prepares for the changes of a log: reads which stamps its author had seen.
    ///
    /// - Parameters:
    ///   - log: the log to be joined.
    ///   - peers: the numbers of the peers.
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

    /// Prepares for saves from a former file of this store.
    ///
    /// - Parameters:
    ///   - author: the peer that wrote the saves of the file.
    ///   - seen: for each peer, the highest stamp that was seen there.
    package func begin(_ author: PeerNumber, seen: [PeerNumber: HybridTime]) { (self.author, authorSees) = (author, seen) }

    /// Prepares for saves from another file of this store, which had seen no other saves.
    ///
    /// - Parameters:
    ///   - author: the peer of this store, under which the saves are published.
    ///   - time: the first stamp given in that file. Writes of this peer in the present file are older.
    package func begin(_ author: PeerNumber, since time: HybridTime) { (self.author, authorSees, elsewhere) = (author, [:], time) }

    /// Prepares for the records of a baseline: reads which stamps its writer had seen.
    ///
    /// The author of a value in the baseline had seen less than that. A value here that loses to a value of the
    /// baseline is listed if not even the baseline's writer had seen it.
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
            // Branches of one peer have not seen each other, so only the logs before the fork count as seen. More
            // conflicts may be listed then, which is harmless.
            let (theirs, own) = (Logs(table: "\(schema).log", peer: number), Logs(table: "ubiquity_log", peer: here.rawValue))
            // A peer without logs here may still have writes here: this store's own, from before it found that its
            // identifier was taken.
            authorSees[here] = known![here] == nil ? .least : try shared(theirs, with: own)
            known![here] = try shared(own, with: theirs)
        }
    }

    /// Returns whether a baseline's logs of a peer and the logs here lie on one branch.
    private func isOneBranch(
        _ theirs: Set<Knowledge.Position>, _ ours: Set<Knowledge.Position>, _ number: Int64, _ here: PeerNumber, _ schema: String
    ) throws -> Bool {
        guard theirs.count == 1, ours.count == 1, let their = theirs.first, let our = ours.first else { return false }
        if try StoreKnowledge.time(of: here, their, db) != nil { return true }
        return try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM \(schema).log WHERE peer = ? AND sequence = ? AND hash = ?)",
            arguments: [number, our.sequence, Data(our.hash.bytes)])!
    }

    /// The logs of a peer in a table of logs.
    private struct Logs {
        var table: String
        var peer: Int64
    }

    /// Returns the highest stamp in the logs before the first log that only the other side has.
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

    /// Returns whether an arriving write is new here.
    func isNews(_ stamp: Stamp) -> Bool {
        guard let known else { return true }
        return stamp.time > known[stamp.peer] ?? .least
    }

    /// Returns the highest stamp that all branches of an author share.
    ///
    /// Nil if the author has one branch.
    ///
    /// Above this stamp, the branches have not seen each other. A branch's later write over its own value may then be
    /// listed too, which is harmless.
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

    /// Returns whether the author of the current log had seen a write.
    func hasSeen(_ stamp: Stamp) -> Bool {
        if stamp.time == .least { return true }
        if let elsewhere { return stamp.peer == author && stamp.time >= elsewhere }
        guard let time = authorSees[stamp.peer] else { return stamp.peer == author }
        return stamp.time <= time
    }

    /// Returns the columns of a living record whose writes the author of the current log had not seen.
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
