internal import Foundation
internal import GRDB
internal import UbiquityContainers

/// Finds out what loses in an import, and lists it.
///
/// Two writes are in conflict where neither author had seen the other's. An author has seen what was in the logs that its own logs name,
/// so for each author the highest stamp of each peer that it has seen is kept: `ubiquity_seen`. What arrives and loses was seen by
/// nobody whose write is here already, for a log that had seen it would have waited for it.
final class ConflictRecorder {
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
    ///   - author: the log's author.
    ///   - news: the positions that the log names.
    ///   - peers: the peers' numbers.
    /// - Throws: GRDB's errors.
    func begin(_ author: PeerNumber, news: [(peer: PeerIdentifier, position: Knowledge.Position)], peers: PeerTable) throws {
        if seen[author] == nil {
            let rows = try Row.fetchAll(
                db.cachedStatement(sql: "SELECT peer, time FROM ubiquity_seen WHERE author = ?"), arguments: [author.rawValue])
            seen[author] = Dictionary(
                uniqueKeysWithValues: rows.map { (PeerNumber(rawValue: $0["peer"]), HybridTime(rawValue: $0["time"])) })
        }
        for (peer, position) in news {
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
    }

    /// Whether the author of the present log had seen a write.
    func hasSeen(_ stamp: Stamp) -> Bool {
        stamp.time == .least || stamp.peer == author || authorSees[stamp.peer].map { stamp.time <= $0 } ?? false
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
