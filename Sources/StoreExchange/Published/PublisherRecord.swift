internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// What a publisher has published, in an SQLite file of its own beside the place's files.
///
/// Everything is entered with the number of the head that names it, before that head is written. After a crash, what was
/// entered for a head that was not written is removed.
struct PublisherRecord {
    private let queue: DatabaseQueue

    /// Opens the file, which only one process does at a time.
    ///
    /// - Throws: `UbiquitousStoreError` with `timedOut` if another process publishes.
    init(_ file: FilePath) throws {
        var configuration = Configuration()
        configuration.busyMode = .immediateError
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        }
        do {
            queue = try DatabaseQueue(path: file.string, configuration: configuration)
            try queue.write { db in for statement in Self.statements { try db.execute(sql: statement) } }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            throw UbiquitousStoreError(.timedOut, "Another process publishes to \(file.removingLastComponent()); try again later.", path: file)
        }
    }

    private static let statements = [
        "CREATE TABLE IF NOT EXISTS head (number INTEGER PRIMARY KEY, id BLOB NOT NULL, made INTEGER NOT NULL)",
        "CREATE TABLE IF NOT EXISTS statement (id BLOB PRIMARY KEY, head INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS log (peer TEXT NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL, head INTEGER NOT NULL, PRIMARY KEY (peer, sequence, hash)) WITHOUT ROWID",
        "CREATE INDEX IF NOT EXISTS log_by_head ON log (head)",
        // The base of a domain with the head: the account, or nothing for the roles.
        "CREATE TABLE IF NOT EXISTS base (account TEXT NOT NULL, head INTEGER NOT NULL, name TEXT, PRIMARY KEY (account, head)) WITHOUT ROWID",
        // Whether the records of an account are gone with the head, because the admission was closed.
        "CREATE TABLE IF NOT EXISTS shut (account TEXT NOT NULL, head INTEGER NOT NULL, isShut INTEGER NOT NULL, PRIMARY KEY (account, head)) WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS bundle (channel TEXT NOT NULL, after INTEGER NOT NULL, last INTEGER NOT NULL, hash BLOB NOT NULL, size INTEGER NOT NULL, PRIMARY KEY (channel, after, last)) WITHOUT ROWID",
        // For `rollBack(after:)`, which runs before each publication.
        "CREATE INDEX IF NOT EXISTS statement_by_head ON statement (head)",
        "CREATE INDEX IF NOT EXISTS bundle_by_last ON bundle (last)",
    ]

    func read<Result>(_ body: (Database) throws -> Result) throws -> Result { try queue.read(body) }
    func write<Result>(_ body: (Database) throws -> Result) throws -> Result { try queue.write(body) }

    /// Forgets what was entered for heads after one.
    func rollBack(after head: Int64) throws {
        try write { db in
            for table in ["head WHERE number", "statement WHERE head", "log WHERE head", "base WHERE head", "shut WHERE head", "bundle WHERE last"] {
                try db.execute(sql: "DELETE FROM \(table) > ?", arguments: [head])
            }
        }
    }

    /// Forgets everything, so that all is published again.
    func clear() throws { try rollBack(after: 0) }
}

extension PublisherRecord {
    /// The logs that a peer has published, as far as a look tells whether there are more.
    struct Count: Hashable {
        var logs: Int64
        var last: Int64
    }

    static func counts(_ db: Database) throws -> [String: Count] {
        try Row.fetchAll(db, sql: "SELECT peer, count(*) AS logs, max(sequence) AS last FROM log GROUP BY peer").reduce(into: [:]) {
            $0[$1["peer"] as String] = Count(logs: $1["logs"], last: $1["last"])
        }
    }

    static func logs(of peer: PeerIdentifier, _ db: Database) throws -> Set<LogFileName> {
        let rows = try Row.fetchAll(db, sql: "SELECT sequence, hash FROM log WHERE peer = ?", arguments: [peer.description])
        return Set(rows.compactMap { row in ContentHash(bytes: row["hash"] as Data).map { LogFileName(sequence: row["sequence"], hash: $0) } })
    }

    static func enter(_ log: LogFileName, of peer: PeerIdentifier, head: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO log VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET head = excluded.head")
            .execute(arguments: [peer.description, log.sequence, Data(log.hash.bytes), head])
    }

    /// Returns the statements that have been published, each with the head of its first publication.
    static func statements(_ db: Database) throws -> [ContentHash: Int64] {
        try Row.fetchAll(db, sql: "SELECT id, head FROM statement").reduce(into: [:]) {
            if let id = ContentHash(bytes: $1["id"] as Data) { $0[id] = $1["head"] }
        }
    }

    static func enter(_ statement: ContentHash, head: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO statement VALUES (?,?)").execute(arguments: [Data(statement.bytes), head])
    }

    /// Returns the base of a domain that was in effect at the last head.
    static func base(of account: String, _ db: Database) throws -> String? {
        try String.fetchOne(db, sql: "SELECT name FROM base WHERE account = ? ORDER BY head DESC LIMIT 1", arguments: [account])
    }

    /// Returns the accounts whose records were gone at the last head, because the admission was closed.
    static func shutAccounts(_ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db, sql: "SELECT account FROM shut AS last WHERE isShut AND head = (SELECT max(head) FROM shut WHERE account = last.account)")
    }

    static func enter(shut isShut: Bool, _ account: String, head: Int64, _ db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO shut VALUES (?,?,?)", arguments: [account, head, isShut])
    }

    static func enter(base: String?, of account: String, head: Int64, _ db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO base VALUES (?,?,?)", arguments: [account, head, base])
    }

    /// Returns the channels that have ever had a bundle, by one look each, however many bundles there are.
    static func channels(_ db: Database) throws -> Set<PublishedHead.Channel> {
        let saved = try String.fetchAll(
            db,
            sql: """
                WITH RECURSIVE found(channel) AS (
                SELECT min(channel) FROM bundle UNION ALL SELECT (SELECT min(channel) FROM bundle b WHERE b.channel > found.channel) FROM found
                WHERE channel IS NOT NULL) SELECT channel FROM found WHERE channel IS NOT NULL
                """)
        return Set(saved.compactMap(PublishedHead.Channel.init(saved:)))
    }

    /// Returns the bundles of some ranges of a channel.
    static func bundles(
        _ channel: PublishedHead.Channel, of ranges: some Sequence<HeadRange>, _ db: Database
    ) throws -> [HeadRange: PublishedFile] {
        let find = try db.cachedStatement(sql: "SELECT hash, size FROM bundle WHERE channel = ? AND after = ? AND last = ?")
        return try ranges.reduce(into: [:]) { found, range in
            guard let row = try Row.fetchOne(find, arguments: [channel.saved, range.after, range.last]),
                let hash = ContentHash(bytes: row["hash"] as Data)
            else { return }
            found[range] = PublishedFile(hash: hash, size: row["size"])
        }
    }

    /// Returns the size of a channel's bundles behind a head, and the number of heads behind it with a bundle.
    static func bundled(_ channel: PublishedHead.Channel, after head: Int64, _ db: Database) throws -> (size: Int64, heads: Int64) {
        let row = try Row.fetchOne(
            db, sql: "SELECT coalesce(sum(size), 0) AS size, count(*) AS heads FROM bundle WHERE channel = ? AND after >= ? AND last = after + 1",
            arguments: [channel.saved, head])!
        return (row["size"], row["heads"])
    }

    static func enter(_ file: PublishedFile, _ channel: PublishedHead.Channel, _ range: HeadRange, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO bundle VALUES (?,?,?,?,?)",
            arguments: [channel.saved, range.after, range.last, Data(file.hash.bytes), file.size])
    }
}

extension PublishedHead.Channel {
    fileprivate var saved: String {
        switch self {
        case .accounts: "accounts"
        case .table(let name): "table \(name)"
        }
    }

    fileprivate init?(saved: String) {
        if saved == "accounts" {
            self = .accounts
        } else if saved.hasPrefix("table ") {
            self = .table(String(saved.dropFirst(6)))
        } else {
            return nil
        }
    }
}
