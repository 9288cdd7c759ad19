internal import Foundation
package import GRDB
internal import StoreFormat
internal import UbiquityContainers

/// Logs that have been passed over, for their author was retired at them, and that logs which are here name: `ubiquity_hole`.
///
/// A hole closes when its log is joined, or a baseline that holds it. `followed`: the author's log behind it has been joined, so that it is the head of no branch.
package struct Holes {
    static let statement = """
        CREATE TABLE ubiquity_hole (peer INTEGER NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL, followed INTEGER NOT NULL,
        PRIMARY KEY (peer, sequence, hash)) WITHOUT ROWID
        """

    private let db: Database
    /// This store's own number: of its own logs it lacks none.
    private let own: PeerNumber?
    /// Whether there are any, or may come to be: else nobody need look.
    package let arePossible: Bool

    package init(_ db: Database) throws {
        self.db = db
        own = try Int64.fetchOne(db, sql: "SELECT number FROM ubiquity_peer, ubiquity_state WHERE name = ubiquity_state.peer").map(PeerNumber.init)
        arePossible = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_hole) OR EXISTS (SELECT 1 FROM ubiquity_retired WHERE told AND sequence > 0)")!
    }

    static func all(_ db: Database) throws -> [(peer: PeerIdentifier, position: Knowledge.Position)] {
        let sql = "SELECT name, sequence, hash FROM ubiquity_hole JOIN ubiquity_peer ON number = peer"
        return try Row.fetchAll(db.cachedStatement(sql: sql)).compactMap { row in
            guard let peer = PeerIdentifier(row["name"] as String), let hash = ContentHash(bytes: row["hash"] as Data) else { return nil }
            return (peer, .init(sequence: row["sequence"], hash: hash))
        }
    }

    /// Notes the logs that a log names and that are not here, before it is taken in.
    func note(_ header: LogHeader, _ peers: PeerTable) throws {
        guard arePossible else { return }
        if let previous = header.previous { try note(previous, of: peers[header.peer]!, isFollowed: true) }
        for (peer, position) in header.news.entries { try note(position, of: try StoreKnowledge.number(of: peer, db), isFollowed: false) }
    }

    private func note(_ position: Knowledge.Position, of peer: PeerNumber, isFollowed: Bool) throws {
        guard peer != own, try StoreKnowledge.time(of: peer, position, db) == nil else { return }
        try db.cachedStatement(
            sql: "INSERT INTO ubiquity_hole VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET followed = max(followed, excluded.followed)"
        ).execute(arguments: [peer.rawValue, position.sequence, Data(position.hash.bytes), isFollowed])
    }

    /// Closes the hole that a log has left.
    ///
    /// - Returns: whether the log behind it has been joined.
    func close(_ position: Knowledge.Position, of peer: PeerNumber) throws -> Bool {
        guard arePossible else { return false }
        let isFollowed = try isFollowed(position, of: peer)
        try db.cachedStatement(sql: "DELETE FROM ubiquity_hole WHERE peer = ? AND sequence = ? AND hash = ?")
            .execute(arguments: [peer.rawValue, position.sequence, Data(position.hash.bytes)])
        return isFollowed
    }

    /// Whether a log has left a hole, and the one behind it has been joined.
    func isFollowed(_ position: Knowledge.Position, of peer: PeerNumber) throws -> Bool {
        guard arePossible else { return false }
        return try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT followed FROM ubiquity_hole WHERE peer = ? AND sequence = ? AND hash = ?"),
            arguments: [peer.rawValue, position.sequence, Data(position.hash.bytes)]) ?? false
    }
}
