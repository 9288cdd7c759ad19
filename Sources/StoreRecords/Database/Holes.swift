internal import Foundation
package import GRDB
internal import StoreFormat
internal import UbiquityContainers

/// The table `ubiquity_hole`: logs that are missing, that joined logs name, and that were passed over.
///
/// A log is passed over when its author is retired at it. A hole closes when its log, or a baseline that contains it,
/// is joined. `followed` says that the author's next log has been joined, so that the hole is not the head of a branch.
package struct Holes {
    static let statement = """
        CREATE TABLE ubiquity_hole (peer INTEGER NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL, followed INTEGER NOT NULL,
        PRIMARY KEY (peer, sequence, hash)) WITHOUT ROWID
        """

    private let db: Database
    /// This store's own number; it lacks none of its own logs.
    private let own: PeerNumber?
    /// Whether holes exist or can come to exist; if not, no other query is needed.
    package let arePossible: Bool

    package init(_ db: Database) throws {
        self.db = db
        own = try Int64.fetchOne(db.cachedStatement(sql: "SELECT number FROM ubiquity_peer, ubiquity_state WHERE name = ubiquity_state.peer")).map(
            PeerNumber.init)
        arePossible = try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_hole) OR EXISTS (SELECT 1 FROM ubiquity_retired WHERE told AND sequence > 0)"))!
    }

    static func all(_ db: Database) throws -> [(peer: PeerIdentifier, position: Knowledge.Position)] {
        let sql = "SELECT name, sequence, hash FROM ubiquity_hole JOIN ubiquity_peer ON number = peer"
        return try Row.fetchAll(db.cachedStatement(sql: sql)).compactMap { row in
            guard let peer = PeerIdentifier(row["name"] as String), let hash = ContentHash(bytes: row["hash"] as Data) else { return nil }
            return (peer, .init(sequence: row["sequence"], hash: hash))
        }
    }

    /// Stores the missing logs that a log names, before the log is joined.
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

    /// Closes the hole of a log.
    ///
    /// - Returns: whether the author's next log has been joined.
    func close(_ position: Knowledge.Position, of peer: PeerNumber) throws -> Bool {
        guard arePossible else { return false }
        let isFollowed = try isFollowed(position, of: peer)
        try db.cachedStatement(sql: "DELETE FROM ubiquity_hole WHERE peer = ? AND sequence = ? AND hash = ?")
            .execute(arguments: [peer.rawValue, position.sequence, Data(position.hash.bytes)])
        return isFollowed
    }

    /// Returns whether a log has left a hole and its author's next log has been joined.
    func isFollowed(_ position: Knowledge.Position, of peer: PeerNumber) throws -> Bool {
        guard arePossible else { return false }
        return try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT followed FROM ubiquity_hole WHERE peer = ? AND sequence = ? AND hash = ?"),
            arguments: [peer.rawValue, position.sequence, Data(position.hash.bytes)]) ?? false
    }
}
