internal import Foundation
package import GRDB
package import StoreFormat
package import UbiquityContainers

/// Reads and writes the tables of peers and of knowledge.
package enum StoreKnowledge {
    package static func peers(_ db: Database) throws -> PeerTable {
        let rows = try RawStatement("SELECT number, name FROM ubiquity_peer", db)
        defer { rows.reset() }
        return try table(rows)
    }

    private static func table(_ rows: RawStatement) throws -> PeerTable {
        var table = PeerTable()
        while try rows.step() {
            if let peer = rows.text(1).flatMap({ PeerIdentifier($0) }) { table.insert(peer, as: PeerNumber(rawValue: rows.integer(0))) }
        }
        return table
    }

    /// Returns the peers of which a log has been taken in or published, by one look each.
    ///
    /// A reader of a public place knows the names of all contributors, and has taken in no log of theirs.
    package static func authors(_ db: Database) throws -> PeerTable {
        let rows = try RawStatement(
            """
            WITH RECURSIVE author(peer) AS (
            SELECT min(peer) FROM ubiquity_log UNION ALL SELECT (SELECT min(peer) FROM ubiquity_log l WHERE l.peer > author.peer) FROM author
            WHERE peer IS NOT NULL) SELECT number, name FROM author JOIN ubiquity_peer ON number = author.peer
            """, db)
        defer { rows.reset() }
        return try table(rows)
    }

    /// Returns a peer's number, and assigns one if the peer has none.
    package static func number(of peer: PeerIdentifier, in peers: inout PeerTable, _ db: Database) throws -> PeerNumber {
        if let number = peers[peer] { return number }
        let number = try number(of: peer, db)
        peers.insert(peer, as: number)
        return number
    }

    /// Returns a peer's number from the store file, and assigns one if the peer has none.
    package static func number(of peer: PeerIdentifier, _ db: Database) throws -> PeerNumber {
        let statement = try RawStatement("SELECT number FROM ubiquity_peer WHERE name = ?", db)
        statement.bind(1, .text(peer.description))
        defer { statement.reset() }
        if try statement.step() { return PeerNumber(rawValue: statement.integer(0)) }
        try db.cachedStatement(sql: "INSERT INTO ubiquity_peer (name) VALUES (?)").execute(arguments: [peer.description])
        return PeerNumber(rawValue: db.lastInsertedRowID)
    }

    /// Enters the peers of an attached baseline, and returns their numbers here by those in the baseline.
    ///
    /// A public place has a peer for each contributor, so one statement enters all. A store without peers takes over the
    /// numbers of the baseline.
    static func enter(_ entered: [Int64: PeerIdentifier], from schema: String, in peers: inout PeerTable, _ db: Database) throws -> [Int64: Int64] {
        peers.reserveCapacity(peers.count + entered.count)
        let takesNumbers = peers.isEmpty
        func highest() throws -> Int64 { try Int64.fetchOne(db, sql: "SELECT max(number) FROM main.ubiquity_peer") ?? 0 }
        var last = try highest()
        try db.execute(
            sql: takesNumbers
                ? "INSERT INTO main.ubiquity_peer SELECT number, name FROM \(schema).peer"
                : "INSERT OR IGNORE INTO main.ubiquity_peer (name) SELECT name FROM \(schema).peer ORDER BY number")
        var numbers: [Int64: Int64] = [:]
        numbers.reserveCapacity(entered.count)
        for (number, peer) in takesNumbers ? Array(entered) : entered.sorted(by: { $0.key < $1.key }) {
            if let known = peers[peer] {
                numbers[number] = known.rawValue
                continue
            }
            // SQLite numbers new rows one after the other.
            last = takesNumbers ? number : last + 1
            numbers[number] = last
            peers.insert(peer, as: PeerNumber(rawValue: last))
        }
        let isCounted = try takesNumbers || last == highest()
        precondition(isCounted, "SQLite has numbered the peers otherwise")
        return numbers
    }

    /// Returns the knowledge of other peers' logs.
    ///
    /// `told` selects the logs that one of this peer's own logs has reported, or those that none has; nil selects all.
    package static func others(_ db: Database, told: Bool? = nil) throws -> Knowledge {
        let rows = try RawStatement(
            "SELECT name, sequence, hash FROM ubiquity_knowledge JOIN ubiquity_peer ON number = peer\(told.map { " WHERE told = \($0 ? 1 : 0)" } ?? "")",
            db)
        defer { rows.reset() }
        var knowledge = Knowledge()
        while try rows.step() {
            if let peer = rows.text(0).flatMap({ PeerIdentifier($0) }), let hash = ContentHash(bytes: rows.bytes(2)) {
                knowledge.insert(.init(sequence: rows.integer(1), hash: hash), of: peer)
            }
        }
        return knowledge
    }

    /// Returns everything that has been taken in, including this peer's own logs that are in the container.
    package static func all(_ state: StoreState, _ db: Database) throws -> Knowledge {
        var knowledge = try others(db)
        if let own = try Outbox.published(state, db) { knowledge.insert(own, of: state.peer) }
        for (peer, position) in try Holes.all(db) { knowledge.insertHole(position, of: peer) }
        return knowledge
    }

    /// Takes in a log in this transaction, as `Knowledge.take` does for a value.
    static func take(
        _ position: Knowledge.Position, after previous: Knowledge.Position?, of peer: PeerNumber, time: HybridTime, _ holes: Holes, _ db: Database
    ) throws {
        if let previous {
            try db.cachedStatement(sql: "DELETE FROM ubiquity_knowledge WHERE peer = ? AND sequence = ? AND hash = ?")
                .execute(arguments: [peer.rawValue, previous.sequence, Data(previous.hash.bytes)])
        }
        if try !holes.close(position, of: peer) { try setHead(position, of: peer, told: false, db) }
        let statement = try RawStatement("INSERT OR IGNORE INTO ubiquity_log VALUES (?,?,?,?)", db)
        statement.bind(1, peer.rawValue)
        statement.bind(2, position.sequence)
        statement.bind(3, position.hash.bytes)
        statement.bind(4, time.rawValue)
        try statement.run()
    }

    /// Takes in the knowledge of an attached baseline.
    ///
    /// - Parameters:
    ///   - knowledge: the heads of the baseline's branches.
    ///   - schema: the name under which the baseline is attached.
    ///   - numbers: the peers' numbers in this store.
    ///   - own: this store's peer, whose logs never count as another peer's.
    ///   - db: a transaction.
    /// - Throws: GRDB's errors.
    static func join(_ knowledge: Knowledge, from schema: String, numbers: PeerNumbers, own: PeerIdentifier?, _ db: Database) throws {
        let peers = try peers(db)
        let holes = try Holes(db)
        try numbers.withFunctions(db) { here, _ in
            let passed = try RawStatement(
                "SELECT 1 FROM \(schema).log WHERE \(here("peer")) = ? AND sequence = ? AND hash = ?", db)
            for (peer, position) in try others(db).entries where knowledge.heads[peer]?.contains(position) != true {
                passed.bind(1, peers[peer]!.rawValue)
                passed.bind(2, position.sequence)
                passed.bind(3, position.hash.bytes)
                defer { passed.reset() }
                guard try passed.step() else { continue }
                try db.cachedStatement(sql: "DELETE FROM ubiquity_knowledge WHERE peer = ? AND sequence = ? AND hash = ?").execute(arguments: [
                    peers[peer]!.rawValue, position.sequence, Data(position.hash.bytes),
                ])
            }
            // A head that is already known is a head here too, or a later log of its branch is.
            for (peer, position) in knowledge.entries where peer != own {
                guard try time(of: peers[peer]!, position, db) == nil, try !holes.isFollowed(position, of: peers[peer]!) else { continue }
                try setHead(position, of: peers[peer]!, told: false, db)
            }
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO ubiquity_log SELECT \(here("peer")), sequence, hash, time FROM \(schema).log ORDER BY rowid;
                    INSERT INTO ubiquity_seen SELECT \(here("author")), \(here("peer")), time
                    FROM \(schema).seen WHERE true
                    ON CONFLICT (author, peer) DO UPDATE SET time = max(time, excluded.time);
                    INSERT INTO ubiquity_retired SELECT \(here("peer")), receipt, sequence, 1 FROM \(schema).retired WHERE true
                    \(Retirements.taken);
                    INSERT INTO ubiquity_hole SELECT \(here("peer")), sequence, hash, followed FROM \(schema).hole WHERE true
                    ON CONFLICT DO UPDATE SET followed = max(followed, excluded.followed);
                    DELETE FROM ubiquity_knowledge WHERE (peer, sequence, hash) IN (SELECT peer, sequence, hash FROM ubiquity_hole WHERE followed);
                    DELETE FROM ubiquity_hole WHERE (peer, sequence, hash) IN (SELECT peer, sequence, hash FROM ubiquity_log)
                    OR peer = (SELECT number FROM ubiquity_peer, ubiquity_state WHERE name = ubiquity_state.peer);
                    """
            )
        }
        for log in try QuarantinedLog.list(db) {
            guard let peer = PeerIdentifier(log.peer), let name = LogFileName(log.file), let number = peers[peer],
                try time(of: number, name.position, db) != nil
            else { continue }
            try db.cachedStatement(sql: "DELETE FROM ubiquity_quarantine WHERE peer = ? AND file = ?").execute(arguments: [log.peer, log.file])
        }
    }

    /// Forgets joined logs of a peer, whose effects are no longer in the tables.
    ///
    /// They are joined again when they are found. A log before one that stays is missing then (``Holes``), and not the head
    /// of a branch.
    ///
    /// - Parameters:
    ///   - logs: the positions of the logs.
    ///   - peer: their author, which is not this store's own peer.
    ///   - db: a transaction.
    /// - Throws: GRDB's errors.
    package static func forget(_ logs: Set<Knowledge.Position>, of peer: PeerIdentifier, _ db: Database) throws {
        let number = try number(of: peer, db)
        for table in ["ubiquity_log", "ubiquity_knowledge"] {
            let delete = try db.makeStatement(sql: "DELETE FROM \(table) WHERE peer = ? AND sequence = ? AND hash = ?")
            for log in logs { try delete.execute(arguments: [number.rawValue, log.sequence, Data(log.hash.bytes)]) }
        }
        let stays = try db.makeStatement(sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_log WHERE peer = ? AND sequence = ?)")
        let hole = try db.makeStatement(sql: "INSERT OR REPLACE INTO ubiquity_hole VALUES (?,?,?,1)")
        for log in logs where try Bool.fetchOne(stays, arguments: [number.rawValue, log.sequence + 1])! {
            try hole.execute(arguments: [number.rawValue, log.sequence, Data(log.hash.bytes)])
        }
        guard try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_knowledge WHERE peer = ?)", arguments: [number.rawValue])! else {
            return
        }
        // The last logs that stay are the heads now.
        try db.execute(
            sql: """
                INSERT INTO ubiquity_knowledge SELECT peer, sequence, hash, 0 FROM ubiquity_log
                WHERE peer = ?1 AND sequence = (SELECT max(sequence) FROM ubiquity_log WHERE peer = ?1)
                """, arguments: [number.rawValue])
    }

    /// Returns the logs of a peer behind a sequence that have been joined, or published, in the order of their sequences.
    package static func logs(of peer: PeerIdentifier, after sequence: Int64 = 0, _ db: Database) throws -> [LogFileName] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT sequence, hash FROM ubiquity_log WHERE peer = (SELECT number FROM ubiquity_peer WHERE name = ?) AND sequence > ?
                ORDER BY sequence, hash
                """)
        return try Row.fetchAll(statement, arguments: [peer.description, sequence]).compactMap { row in
            ContentHash(bytes: row["hash"] as Data).map { LogFileName(sequence: row["sequence"], hash: $0) }
        }
    }

    package static func setHead(_ position: Knowledge.Position, of peer: PeerNumber, told: Bool, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO ubiquity_knowledge VALUES (?,?,?,?)")
            .execute(arguments: [peer.rawValue, position.sequence, Data(position.hash.bytes), told])
    }

    /// Makes the next log report all knowledge, as the first log of a new identifier must.
    static func markUntold(_ db: Database) throws { try db.cachedStatement(sql: "UPDATE ubiquity_knowledge SET told = 0").execute() }

    static func markTold(_ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE ubiquity_knowledge SET told = 1 WHERE told = 0").execute()
    }

    /// Returns the highest stamp in a log that has been taken in or published; nil for any other log.
    static func time(of peer: PeerNumber, _ position: Knowledge.Position, _ db: Database) throws -> HybridTime? {
        let statement = try RawStatement("SELECT time FROM ubiquity_log WHERE peer = ? AND sequence = ? AND hash = ?", db)
        statement.bind(1, peer.rawValue)
        statement.bind(2, position.sequence)
        statement.bind(3, position.hash.bytes)
        defer { statement.reset() }
        return try statement.step() ? HybridTime(rawValue: statement.integer(0)) : nil
    }
}

/// Tells whether one exact log is known, at one moment of the store file.
package struct LogRegister {
    /// This store's own identifier, whose sealed logs count as known.
    package let own: PeerIdentifier
    /// The peers of which any log is known.
    let peers: PeerTable
    private let db: Database

    package init(own: PeerIdentifier, _ db: Database) throws {
        self.own = own
        self.db = db
        peers = try StoreKnowledge.authors(db)
    }

    /// Returns whether a log has been taken in, published or sealed.
    package func contains(_ position: Knowledge.Position, of peer: PeerIdentifier) throws -> Bool {
        if let number = peers[peer], try StoreKnowledge.time(of: number, position, db) != nil { return true }
        return try peer == own && Outbox.contains(position, db)
    }

    /// Returns the logs of a list that are not known, in order.
    ///
    /// The list and the table are read side by side: one query for each log would cost ten times as much as a listing.
    package func unknown(among names: [LogFileName], of peer: PeerIdentifier) throws -> [LogFileName] {
        var unknown = names.sorted()
        if let number = peers[peer] { unknown = try without(entered: number, unknown) }
        return try peer == own ? unknown.filter { try !Outbox.contains($0.position, db) } : unknown
    }

    private func without(entered peer: PeerNumber, _ sorted: [LogFileName]) throws -> [LogFileName] {
        guard let first = sorted.first, let last = sorted.last else { return [] }
        let statement = try RawStatement(
            "SELECT sequence, hash FROM ubiquity_log WHERE peer = ? AND sequence BETWEEN ? AND ? ORDER BY sequence, hash", db)
        statement.bind(1, peer.rawValue)
        statement.bind(2, first.sequence)
        statement.bind(3, last.sequence)
        defer { statement.reset() }
        func next() throws -> LogFileName? {
            while try statement.step() {
                if let hash = ContentHash(bytes: statement.bytes(1)) { return LogFileName(sequence: statement.integer(0), hash: hash) }
            }
            return nil
        }
        var entered = try next()
        return try sorted.filter { name in
            while let passed = entered, passed < name { entered = try next() }
            return entered != name
        }
    }
}
