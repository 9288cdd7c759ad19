public import Foundation
package import GRDB
internal import StoreFormat
internal import UbiquityContainers

/// A log of another account, or changes in it, that have no effect, because their author had no right to make them.
public struct RejectedLog: Sendable, Hashable, Codable {
    /// The author's peer.
    public var peer: String
    /// The number of the log.
    public var sequence: Int64
    /// The log's hash.
    public var hash: String
    /// The number of its changes that have no effect.
    public var changes: Int64
    /// The first of these records, as `table/key`; nil if the whole log has no effect.
    public var record: String?
    /// The reason in words.
    public var reason: String
    /// The time at which the log was taken in.
    public var since: Date

    package init(peer: String, sequence: Int64, hash: String, changes: Int64, record: String?, reason: String, since: Date) {
        (self.peer, self.sequence, self.hash, self.changes) = (peer, sequence, hash, changes)
        (self.record, self.reason, self.since) = (record, reason, since)
    }

    static let statement =
        "CREATE TABLE ubiquity_rejected (peer TEXT NOT NULL, sequence INTEGER NOT NULL, hash TEXT NOT NULL, changes INTEGER NOT NULL, record TEXT, reason TEXT NOT NULL, since REAL NOT NULL, PRIMARY KEY (peer, sequence, hash)) WITHOUT ROWID"
    /// The number of logs of a peer that are listed, so that nobody fills the list.
    static let limit = 1000
}

extension RejectedLog {
    /// Returns the logs on a store's list, by peer.
    package static func list(_ db: Database) throws -> [RejectedLog] {
        try Row.fetchAll(db, sql: "SELECT * FROM ubiquity_rejected ORDER BY peer, sequence, hash").map { row in
            RejectedLog(
                peer: row["peer"], sequence: row["sequence"], hash: row["hash"], changes: row["changes"], record: row["record"],
                reason: row["reason"], since: Date(timeIntervalSince1970: row["since"]))
        }
    }

    /// Adds the log to the list, or replaces its entry; the oldest entries of its author go above a limit.
    package func enter(_ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO ubiquity_rejected VALUES (?,?,?,?,?,?,?)")
            .execute(arguments: [peer, sequence, hash, changes, record, reason, since.timeIntervalSince1970])
        try db.cachedStatement(
            sql: """
                DELETE FROM ubiquity_rejected WHERE peer = ?1 AND sequence <=
                (SELECT sequence FROM ubiquity_rejected WHERE peer = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)
                """
        ).execute(arguments: [peer, Self.limit])
    }
}
