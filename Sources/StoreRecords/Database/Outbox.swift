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
        /// Whether its last save continues in the next log.
        package var goesOn: Bool
    }

    /// Appends a log to the waiting ones.
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

    /// Returns the oldest logs that may be published.
    ///
    /// - Parameters:
    ///   - limit: the largest number of logs.
    ///   - last: the log after which they begin.
    ///   - bytes: the largest total size in bytes; the first log is returned even if it is larger.
    ///   - db: a transaction.
    /// - Returns: the logs, which may be none.
    /// - Throws: GRDB's errors, or `UbiquitousStoreError` if a log is damaged.
    package static func first(_ limit: Int, after last: Int64 = 0, bytes: Int, _ db: Database) throws -> [Entry] {
        // The logs that wait for more saves are the last ones.
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
                Entry(name: LogFileName(sequence: rows.integer(0), hash: hash), bytes: log, goesOn: try LogFile(unsigned: log).header.goesOn))
        }
        return entries
    }

    /// Moves the logs up to a sequence, which are in the container, to the table of published logs.
    package static func clear(through sequence: Int64, of peer: PeerIdentifier, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO ubiquity_log SELECT ?, sequence, hash, time FROM ubiquity_outbox WHERE sequence <= ?
                """
        ).execute(arguments: [try StoreKnowledge.number(of: peer, db).rawValue, sequence])
        try db.cachedStatement(sql: "DELETE FROM ubiquity_outbox WHERE sequence <= ?").execute(arguments: [sequence])
    }

    package static func isEmpty(_ db: Database) throws -> Bool {
        let statement = try RawStatement("SELECT 1 FROM ubiquity_outbox LIMIT 1", db)
        defer { statement.reset() }
        return try !statement.step()
    }

    /// Returns the number of logs.
    package static func count(_ db: Database) throws -> Int { try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM ubiquity_outbox"))! }

    /// Returns whether exactly this log waits.
    static func contains(_ position: Knowledge.Position, _ db: Database) throws -> Bool {
        let statement = try RawStatement("SELECT 1 FROM ubiquity_outbox WHERE sequence = ? AND hash = ?", db)
        statement.bind(1, position.sequence)
        statement.bind(2, position.hash.bytes)
        defer { statement.reset() }
        return try statement.step()
    }

    /// Returns this peer's last log that is in the container, or nil if there is none.
    package static func published(_ state: StoreState, _ db: Database) throws -> Knowledge.Position? {
        if let first = try Int64.fetchOne(db.cachedStatement(sql: "SELECT min(sequence) FROM ubiquity_outbox")) {
            // The first log that is not published names the one before it.
            return try log(first, db).log.header.previous
        }
        return state.predecessor.map { .init(sequence: state.sequence, hash: $0) }
    }

    /// Returns the last of some logs, in order, with which a save ends.
    ///
    /// A part of a save in the container has no effect without the rest.
    package static func lastWhole(of names: some BidirectionalCollection<LogFileName>, _ db: Database) throws -> LogFileName? {
        try names.reversed().first { try !log($0.sequence, db).log.header.goesOn }
    }

    /// Returns the bytes of a sealed log.
    package static func bytes(_ sequence: Int64, _ db: Database) throws -> [UInt8] {
        [UInt8](try Data.fetchOne(db.cachedStatement(sql: "SELECT bytes FROM ubiquity_outbox WHERE sequence = ?"), arguments: [sequence])!)
    }

    /// Returns the hash of a sealed log.
    package static func hash(of sequence: Int64, _ db: Database) throws -> ContentHash {
        let bytes = try Data.fetchOne(db.cachedStatement(sql: "SELECT hash FROM ubiquity_outbox WHERE sequence = ?"), arguments: [sequence])
        guard let hash = bytes.flatMap({ ContentHash(bytes: $0) }) else {
            throw UbiquitousStoreError(.malformed, "A sealed log in the store file is damaged.")
        }
        return hash
    }

    /// Returns the names of all logs, oldest first.
    package static func names(_ db: Database) throws -> [LogFileName] {
        try Row.fetchAll(db.cachedStatement(sql: "SELECT sequence, hash FROM ubiquity_outbox ORDER BY sequence")).compactMap { row in
            ContentHash(bytes: row["hash"] as Data).map { LogFileName(sequence: row["sequence"], hash: $0) }
        }
    }
}

extension Outbox {
    /// Rewrites the sealed logs for a store that has taken a new identifier, one at a time; their changes keep their stamps.
    ///
    /// Changes under a signature are the new identifier's, others stay the old one's.
    ///
    /// The first log repeats the news that the logs under the old identifier had stated, and names the last of those
    /// logs.
    package static func reissue(from old: PeerIdentifier, as state: inout StoreState, _ db: Database) throws {
        let names = try names(db)
        // No log has stated news under the new identifier: the next log, or the first one rewritten here, states all of
        // it.
        guard !names.isEmpty else { return try StoreKnowledge.markUntold(db) }
        var news = try StoreKnowledge.others(db, told: true)
        for name in names.dropFirst() {
            for entry in try log(name.sequence, db).log.header.news.entries { news.remove(entry.position, of: entry.peer) }
        }
        for name in names {
            let (log, time) = try log(name.sequence, db)
            var contents = try LogBody.decode(log)
            var header = log.header
            // Who signs a log answers for every change in it.
            if header.rights == nil {
                for index in contents.groups.indices where contents.groups[index].peer == nil { contents.groups[index].peer = old }
            }
            header.peer = state.peer
            header.epoch = state.epoch
            header.sequence = state.sequence + 1
            header.predecessor = state.predecessor
            for entry in header.news.entries { news.insert(entry.position, of: entry.peer) }
            header.news = news
            if header.rights != nil { header.rights = try ScopeState.rights(db) }
            news = Knowledge()
            // A new sequence is never above the old one, so the row is free.
            try db.cachedStatement(sql: "DELETE FROM ubiquity_outbox WHERE sequence = ?").execute(arguments: [name.sequence])
            state.predecessor = try append(header, body: contents.encoded(), time: time, db)
            state.sequence = header.sequence
        }
    }

    /// Replaces the changes of sealed logs, none of which is in the container, and numbers the logs after them again.
    ///
    /// A save of which nothing remains is removed with its logs. What they have said of joined logs, the next log says.
    ///
    /// - Parameters:
    ///   - remains: what remains of a log, by its name; other logs stay whole.
    ///   - db: the store, in a transaction.
    /// - Throws: GRDB's errors, or `UbiquitousStoreError` if a log is damaged.
    package static func replace(_ remains: [LogFileName: LogBody.Contents], _ db: Database) throws {
        let names = try names(db)
        guard let start = names.firstIndex(where: { remains[$0] != nil }) else { return }
        var state = try StoreState.read(db)
        (state.sequence, state.predecessor) = (names[start].sequence - 1, try log(names[start].sequence, db).log.header.predecessor)
        let removed = try removable(names[start...], remains, db)
        var news = Knowledge()
        for name in names[start...] {
            let (log, time) = try log(name.sequence, db)
            let isOpen = try Bool.fetchOne(
                db.cachedStatement(sql: "SELECT open FROM ubiquity_outbox WHERE sequence = ?"), arguments: [name.sequence])!
            var header = log.header
            for entry in header.news.entries { news.insert(entry.position, of: entry.peer) }
            // A new sequence is never above the old one, so the row is free.
            try db.cachedStatement(sql: "DELETE FROM ubiquity_outbox WHERE sequence = ?").execute(arguments: [name.sequence])
            if removed.contains(name) { continue }
            (header.sequence, header.predecessor, header.news) = (state.sequence + 1, state.predecessor, news)
            news = Knowledge()
            if let contents = remains[name] { header.changes = contents.changes }
            state.predecessor = try append(header, body: remains[name]?.encoded() ?? Array(log.body), time: time, isOpen: isOpen, db)
            state.sequence = header.sequence
        }
        if !news.isEmpty { try StoreKnowledge.markUntold(db) }
        try state.update(db)
    }

    /// Returns the logs of the saves of which nothing remains.
    private static func removable(
        _ names: ArraySlice<LogFileName>, _ remains: [LogFileName: LogBody.Contents], _ db: Database
    ) throws -> Set<LogFileName> {
        var (removed, save): (Set<LogFileName>, [LogFileName]) = ([], [])
        // Of a save whose first part is in the container, no part may be missing.
        var isWhole = true
        for name in names {
            let header = try log(name.sequence, db).log.header
            if save.isEmpty { isWhole = header.part == 0 }
            save.append(name)
            if header.goesOn { continue }
            if isWhole, save.allSatisfy({ remains[$0]?.isEmpty == true }) { removed.formUnion(save) }
            save = []
        }
        return removed
    }

    /// Returns a sealed log and the highest stamp in it.
    package static func log(_ sequence: Int64, _ db: Database) throws -> (log: LogFile, time: HybridTime) {
        let row = try Row.fetchOne(db.cachedStatement(sql: "SELECT bytes, time FROM ubiquity_outbox WHERE sequence = ?"), arguments: [sequence])!
        return (try LogFile(unsigned: [UInt8](row["bytes"] as Data)), HybridTime(rawValue: row["time"]))
    }
}
