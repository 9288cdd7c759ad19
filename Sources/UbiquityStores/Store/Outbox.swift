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
}
