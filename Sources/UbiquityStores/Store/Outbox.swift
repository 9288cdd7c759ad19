internal import Foundation
internal import GRDB
internal import UbiquityContainers

/// The sealed logs that are not in the container yet: `ubiquity_outbox`.
enum Outbox {
    /// A sealed log.
    struct Entry {
        var name: LogFileName
        var bytes: [UInt8]
    }

    /// Puts a log behind those that wait.
    ///
    /// - Returns: the hash of its bytes, which the next log names.
    static func append(_ header: LogHeader, body: [UInt8], time: HybridTime, _ db: Database) throws -> ContentHash {
        let bytes = LogFile.encode(header, body: body)
        let hash = ContentHash(of: bytes)
        let statement = try RawStatement("INSERT INTO ubiquity_outbox VALUES (?,?,?,?)", db)
        statement.bind(1, header.sequence)
        statement.bind(2, hash.bytes)
        statement.bind(3, time.rawValue)
        statement.bind(4, bytes)
        try statement.run()
        return hash
    }

    /// The oldest logs.
    static func first(_ limit: Int, _ db: Database) throws -> [Entry] {
        try Row.fetchAll(db, sql: "SELECT sequence, hash, bytes FROM ubiquity_outbox ORDER BY sequence LIMIT ?", arguments: [limit]).map { row in
            guard let hash = ContentHash(bytes: row["hash"] as Data) else {
                throw UbiquitousStoreError(.malformed, "A sealed log in the store file is damaged.")
            }
            return Entry(name: LogFileName(sequence: row["sequence"], hash: hash), bytes: [UInt8](row["bytes"] as Data))
        }
    }

    /// Enters the logs up to a sequence, which are in the container, among the published.
    static func clear(through sequence: Int64, of peer: PeerIdentifier, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO ubiquity_log
                SELECT (SELECT number FROM ubiquity_peer WHERE name = ?), sequence, hash, time FROM ubiquity_outbox WHERE sequence <= ?
                """, arguments: [peer.description, sequence])
        try db.execute(sql: "DELETE FROM ubiquity_outbox WHERE sequence <= ?", arguments: [sequence])
    }

    /// Whether exactly this log waits.
    static func contains(_ position: Knowledge.Position, _ db: Database) throws -> Bool {
        let statement = try RawStatement("SELECT 1 FROM ubiquity_outbox WHERE sequence = ? AND hash = ?", db)
        statement.bind(1, position.sequence)
        statement.bind(2, position.hash.bytes)
        defer { statement.reset() }
        return try statement.step()
    }

    /// This peer's last log that is in the container; nil where none is.
    static func published(_ state: StoreState, _ db: Database) throws -> Knowledge.Position? {
        if let first = try first(1, db).first {
            // The first log that is not out names the one before it.
            guard let before = try LogFile(decoding: first.bytes).header.predecessor else { return nil }
            return .init(sequence: first.name.sequence - 1, hash: before)
        }
        return state.predecessor.map { .init(sequence: state.sequence, hash: $0) }
    }

    /// The names of all, oldest first.
    static func names(_ db: Database) throws -> [LogFileName] {
        try Row.fetchAll(db, sql: "SELECT sequence, hash FROM ubiquity_outbox ORDER BY sequence").compactMap { row in
            ContentHash(bytes: row["hash"] as Data).map { LogFileName(sequence: row["sequence"], hash: $0) }
        }
    }
}

extension Outbox {
    /// Writes the sealed logs anew for a store that has taken a new identifier, one at a time: what they hold keeps its stamps.
    ///
    /// The first says what had been said before by the logs under the old identifier, and names the last of these.
    static func reissue(from old: PeerIdentifier, as state: inout StoreState, _ db: Database) throws {
        let names = try names(db)
        // Nothing has been said under the new identifier: the next log, or the first of these, says all.
        guard !names.isEmpty else { return try StoreKnowledge.markUntold(db) }
        var news = try StoreKnowledge.others(db, told: true)
        for name in names.dropFirst() {
            for entry in try log(name, db).log.header.news.entries { news.remove(entry.position, of: entry.peer) }
        }
        for name in names {
            let (log, time) = try log(name, db)
            var contents = try LogBody.decode(log)
            for index in contents.groups.indices where contents.groups[index].peer == nil { contents.groups[index].peer = old }
            var header = log.header
            header.peer = state.peer
            header.sequence = state.sequence + 1
            header.predecessor = state.predecessor
            for entry in header.news.entries { news.insert(entry.position, of: entry.peer) }
            header.news = news
            news = Knowledge()
            // New sequences are never above old ones: the row to be written is free.
            try db.execute(sql: "DELETE FROM ubiquity_outbox WHERE sequence = ?", arguments: [name.sequence])
            state.predecessor = try append(header, body: contents.encoded(), time: time, db)
            state.sequence = header.sequence
        }
    }

    private static func log(_ name: LogFileName, _ db: Database) throws -> (log: LogFile, time: HybridTime) {
        let row = try Row.fetchOne(db, sql: "SELECT bytes, time FROM ubiquity_outbox WHERE sequence = ?", arguments: [name.sequence])!
        return (try LogFile(decoding: [UInt8](row["bytes"] as Data)), HybridTime(rawValue: row["time"]))
    }
}
