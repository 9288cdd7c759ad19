package import GRDB
package import StoreFormat
package import UbiquityContainers

/// The table `ubiquity_retired`: the peers that have been retired in this epoch, one row for each.
package enum Retirements {
    /// The table; `told` says whether a log contains the fact.
    static let statement =
        "CREATE TABLE ubiquity_retired (peer INTEGER PRIMARY KEY, receipt INTEGER NOT NULL, sequence INTEGER NOT NULL, told INTEGER NOT NULL)"

    package static func all(_ db: Database) throws -> [PeerIdentifier: Retirement] { try facts("SELECT * FROM ubiquity_retired", db) }

    static func facts(_ selection: String, _ db: Database) throws -> [PeerIdentifier: Retirement] {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT name, receipt, sequence FROM (\(selection)) JOIN ubiquity_peer ON number = peer"))
        return rows.reduce(into: [:]) { all, row in
            if let peer = PeerIdentifier(row["name"] as String) { all[peer] = Retirement(receipt: row["receipt"], sequence: row["sequence"]) }
        }
    }

    /// Joins a fact from a log.
    static func enter(_ fact: Retirement, of peer: PeerNumber, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO ubiquity_retired VALUES (?,?,?,1) \(taken)").execute(arguments: [
            peer.rawValue, fact.receipt, fact.sequence,
        ])
    }

    /// The clause that joins a fact from a log to a known fact, which counts as told if the log's fact covers it.
    static let taken = """
        ON CONFLICT (peer) DO UPDATE SET told = told OR excluded.receipt >= receipt AND excluded.sequence >= sequence,
        receipt = max(receipt, excluded.receipt), sequence = max(sequence, excluded.sequence)
        """

    /// Retires a peer; the next exchange writes the fact into a log.
    package static func retire(_ peer: PeerIdentifier, _ fact: Retirement, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO ubiquity_retired VALUES (?,?,?,0)
                ON CONFLICT (peer) DO UPDATE SET told = told AND receipt >= excluded.receipt AND sequence >= excluded.sequence,
                receipt = max(receipt, excluded.receipt), sequence = max(sequence, excluded.sequence)
                """
        ).execute(arguments: [try StoreKnowledge.number(of: peer, db).rawValue, fact.receipt, fact.sequence])
    }

    /// Returns whether a fact is not in a log yet.
    package static func areUntold(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_retired WHERE NOT told)"))!
    }

    /// Returns, for each peer, the last of its logs that can be passed over.
    ///
    /// Only facts in logs count, because the logs that pass over others must follow the log with the fact.
    package static func passable(_ db: Database) throws -> [PeerIdentifier: Int64] {
        try facts("SELECT * FROM ubiquity_retired WHERE told AND sequence > 0", db).mapValues(\.sequence)
    }
}
