internal import Foundation
package import GRDB
package import StoreFormat
package import UbiquityContainers

/// The sealed logs that are not in the container yet: `ubiquity_outbox`.
package enum Outbox {
    /// A sealed log.
    package struct Entry {
        package var name: LogFileName
        package var bytes: [UInt8]
        /// Whether its last save goes on in the next.
        package var goesOn: Bool
    }

    /// Puts a log behind those that wait.
    ///
    /// - Returns: the hash of its bytes, which the next log names.
    package static func append(_ header: LogHeader, body: [UInt8], time: HybridTime, isOpen: Bool = false, _ db: Database) throws -> ContentHash {
        let bytes = LogFile.encode(header, body: body)
        let hash = ContentHash(of: bytes)
        let statement = try RawStatement("INSERT INTO ubiquity_outbox VALUES (?,?,?,?,?)", db)
        statement.bind(1, header.sequence)
        statement.bind(2, hash.bytes)
        statement.bind(3, time.rawValue)
        statement.bind(4, isOpen ? 1 : 0)
        statement.bind(5, bytes)
        try statement.run()
        return hash
    }

    /// The oldest logs that may go out.
    ///
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - last: the log behind which they begin.
    ///   - bytes: how many bytes at most they have together; the first is returned whatever it has.
    ///   - db: at one moment.
    /// - Returns: the logs; none where there are none.
    /// - Throws: GRDB's errors, or `UbiquitousStoreError` where one is damaged.
    package static func first(_ limit: Int, after last: Int64 = 0, bytes: Int, _ db: Database) throws -> [Entry] {
        // Those that wait for more are the last.
        let rows = try RawStatement(
            """
            SELECT sequence, hash, bytes FROM ubiquity_outbox
            WHERE sequence > ? AND sequence <= (SELECT sequence FROM ubiquity_outbox WHERE NOT open ORDER BY sequence DESC LIMIT 1)
            ORDER BY sequence LIMIT ?
            """, db)
        rows.bind(1, last)
        rows.bind(2, Int64(limit))
        defer { rows.reset() }
        var (entries, size): ([Entry], Int) = ([], 0)
        while try rows.step() {
            size += rows.size(2)
            guard entries.isEmpty || size <= bytes else { break }
            guard let hash = ContentHash(bytes: rows.bytes(1)) else {
                throw UbiquitousStoreError(.malformed, "A sealed log in the store file is damaged.")
            }
            let log = Array(rows.bytes(2))
            entries.append(
                Entry(name: LogFileName(sequence: rows.integer(0), hash: hash), bytes: log, goesOn: try LogFile(decoding: log).header.goesOn))
        }
        return entries
    }

    /// Enters the logs up to a sequence, which are in the container, among the published.
    package static func clear(through sequence: Int64, of peer: PeerIdentifier, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO ubiquity_log SELECT ?, sequence, hash, time FROM ubiquity_outbox WHERE sequence <= ?
                """, arguments: [try StoreKnowledge.number(of: peer, db).rawValue, sequence])
        try db.execute(sql: "DELETE FROM ubiquity_outbox WHERE sequence <= ?", arguments: [sequence])
    }

    package static func isEmpty(_ db: Database) throws -> Bool {
        let statement = try RawStatement("SELECT 1 FROM ubiquity_outbox LIMIT 1", db)
        defer { statement.reset() }
        return try !statement.step()
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
    package static func published(_ state: StoreState, _ db: Database) throws -> Knowledge.Position? {
        if let first = try Int64.fetchOne(db, sql: "SELECT min(sequence) FROM ubiquity_outbox") {
            // The first log that is not out names the one before it.
            return try log(first, db).log.header.previous
        }
        return state.predecessor.map { .init(sequence: state.sequence, hash: $0) }
    }

    /// The last of some logs, in order, with which a save ends: what of a save lies in the container is nothing without the rest.
    package static func lastWhole(of names: some BidirectionalCollection<LogFileName>, _ db: Database) throws -> LogFileName? {
        try names.reversed().first { try !log($0.sequence, db).log.header.goesOn }
    }

    /// The bytes of a sealed log.
    package static func bytes(_ sequence: Int64, _ db: Database) throws -> [UInt8] {
        [UInt8](try Data.fetchOne(db, sql: "SELECT bytes FROM ubiquity_outbox WHERE sequence = ?", arguments: [sequence])!)
    }

    /// The hash of a sealed log.
    package static func hash(of sequence: Int64, _ db: Database) throws -> ContentHash {
        let bytes = try Data.fetchOne(db, sql: "SELECT hash FROM ubiquity_outbox WHERE sequence = ?", arguments: [sequence])
        guard let hash = bytes.flatMap({ ContentHash(bytes: $0) }) else {
            throw UbiquitousStoreError(.malformed, "A sealed log in the store file is damaged.")
        }
        return hash
    }

    /// The names of all, oldest first.
    package static func names(_ db: Database) throws -> [LogFileName] {
        try Row.fetchAll(db, sql: "SELECT sequence, hash FROM ubiquity_outbox ORDER BY sequence").compactMap { row in
            ContentHash(bytes: row["hash"] as Data).map { LogFileName(sequence: row["sequence"], hash: $0) }
        }
    }
}

extension Outbox {
    /// Writes the sealed logs anew for a store that has taken a new identifier, one at a time: what they hold keeps its stamps.
    ///
    /// The first says what had been said before by the logs under the old identifier, and names the last of these.
    package static func reissue(from old: PeerIdentifier, as state: inout StoreState, _ db: Database) throws {
        let names = try names(db)
        // Nothing has been said under the new identifier: the next log, or the first of these, says all.
        guard !names.isEmpty else { return try StoreKnowledge.markUntold(db) }
        var news = try StoreKnowledge.others(db, told: true)
        for name in names.dropFirst() {
            for entry in try log(name.sequence, db).log.header.news.entries { news.remove(entry.position, of: entry.peer) }
        }
        for name in names {
            let (log, time) = try log(name.sequence, db)
            var contents = try LogBody.decode(log)
            for index in contents.groups.indices where contents.groups[index].peer == nil { contents.groups[index].peer = old }
            var header = log.header
            header.peer = state.peer
            header.epoch = state.epoch
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

    /// A sealed log and the highest stamp in it.
    package static func log(_ sequence: Int64, _ db: Database) throws -> (log: LogFile, time: HybridTime) {
        let row = try Row.fetchOne(db, sql: "SELECT bytes, time FROM ubiquity_outbox WHERE sequence = ?", arguments: [sequence])!
        return (try LogFile(decoding: [UInt8](row["bytes"] as Data)), HybridTime(rawValue: row["time"]))
    }
}
