internal import Foundation
internal import GRDB
internal import UbiquityContainers

/// Reads and writes the tables of peers and of knowledge.
enum StoreKnowledge {
    static func peers(_ db: Database) throws -> PeerTable {
        var table = PeerTable()
        for row in try Row.fetchAll(db.cachedStatement(sql: "SELECT number, name FROM ubiquity_peer")) {
            if let peer = PeerIdentifier(row["name"] as String) { table.insert(peer, as: PeerNumber(rawValue: row["number"])) }
        }
        return table
    }

    /// A peer's number, given to it now if it has none.
    static func number(of peer: PeerIdentifier, in peers: inout PeerTable, _ db: Database) throws -> PeerNumber {
        if let number = peers[peer] { return number }
        let number = try number(of: peer, db)
        peers.insert(peer, as: number)
        return number
    }

    /// The same without a table of them.
    static func number(of peer: PeerIdentifier, _ db: Database) throws -> PeerNumber {
        let statement = try RawStatement("SELECT number FROM ubiquity_peer WHERE name = ?", db)
        statement.bind(1, .text(peer.description))
        defer { statement.reset() }
        if try statement.step() { return PeerNumber(rawValue: statement.integer(0)) }
        try db.execute(sql: "INSERT INTO ubiquity_peer (name) VALUES (?)", arguments: [peer.description])
        return PeerNumber(rawValue: db.lastInsertedRowID)
    }

    /// The knowledge of other peers' logs; with `untold`, only what no log of ours has said.
    static func others(_ db: Database, untold: Bool = false) throws -> Knowledge {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT name, sequence, hash FROM ubiquity_knowledge JOIN ubiquity_peer ON number = peer\(untold ? " WHERE told = 0" : "")"))
        var positions: [PeerIdentifier: Knowledge.Position] = [:]
        for row in rows {
            if let peer = PeerIdentifier(row["name"] as String), let hash = ContentHash(bytes: row["hash"] as Data) {
                positions[peer] = .init(sequence: row["sequence"], hash: hash)
            }
        }
        return Knowledge(positions)
    }

    static func set(_ position: Knowledge.Position, of number: PeerNumber, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql:
                "INSERT INTO ubiquity_knowledge VALUES (?,?,?,0) ON CONFLICT DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash, told = 0"
        )
        try statement.execute(arguments: [number.rawValue, position.sequence, Data(position.hash.bytes)])
    }

    static func markTold(_ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE ubiquity_knowledge SET told = 1 WHERE told = 0").execute()
    }

    /// The highest stamp in a log that has been taken in or published; nil for any other.
    static func time(of peer: PeerNumber, _ position: Knowledge.Position, _ db: Database) throws -> HybridTime? {
        let statement = try RawStatement("SELECT time FROM ubiquity_log WHERE peer = ? AND sequence = ? AND hash = ?", db)
        statement.bind(1, peer.rawValue)
        statement.bind(2, position.sequence)
        statement.bind(3, position.hash.bytes)
        defer { statement.reset() }
        return try statement.step() ? HybridTime(rawValue: statement.integer(0)) : nil
    }

    /// Enters a log that is joined in this transaction.
    static func enter(_ position: Knowledge.Position, of peer: PeerNumber, time: HybridTime, _ db: Database) throws {
        let statement = try RawStatement("INSERT OR IGNORE INTO ubiquity_log VALUES (?,?,?,?)", db)
        statement.bind(1, peer.rawValue)
        statement.bind(2, position.sequence)
        statement.bind(3, position.hash.bytes)
        statement.bind(4, time.rawValue)
        try statement.run()
    }
}
