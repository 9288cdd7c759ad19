public import Foundation
package import GRDB
package import StoreFormat
internal import SystemPackage
package import UbiquityContainers

/// A log, a baseline or a directory of another peer that could not be used, and why.
public struct QuarantinedLog: Sendable, Hashable, Codable {
    /// What is the matter with a log.
    public enum Kind: String, Sendable, Codable {
        /// Its bytes are not what its name says, or cannot be.
        case damaged
        /// A newer version of this package wrote it.
        case newer
        /// This store cannot hold what it says: its schema refuses it, or no honest writer made it.
        case refused
        /// It may not be read, or, in the place of a directory, is none: nothing that lies there can be looked at.
        case unreadable
    }

    /// The peer in whose directory it lies.
    public var peer: String
    /// The file's name; of a directory its path in the peer's directory of the epoch, and `.` for that one.
    public var file: String
    /// What is the matter.
    public var kind: Kind
    /// Why, in words.
    public var reason: String
    /// The record that was refused, where it was one: `table/key`.
    public var record: String?
    /// When that was found first.
    public var since: Date

    package init(peer: String, file: String, kind: Kind, reason: String, record: String? = nil, since: Date) {
        self.peer = peer
        self.file = file
        self.kind = kind
        self.reason = reason
        self.record = record
        self.since = since
    }
}

extension QuarantinedLog {
    package init(_ name: String, of peer: PeerIdentifier, _ fault: LogFault, since: Date) {
        let kind: Kind = if case .newer = fault { .newer } else { .damaged }
        self.init(peer: peer.description, file: name, kind: kind, reason: fault.description, record: nil, since: since)
    }

    init(_ row: Row) {
        self.init(
            peer: row["peer"], file: row["file"], kind: Kind(rawValue: row["kind"]) ?? .damaged, reason: row["reason"], record: row["record"],
            since: Date(timeIntervalSince1970: row["since"]))
    }

    /// The log that another peer could bring, by a baseline that holds it; nil of what is no log, and of one that would be refused again.
    package var awaited: AwaitedFile? {
        guard kind == .damaged, let name = LogFileName(file) else { return nil }
        return AwaitedFile(peer: peer, sequence: name.sequence, hash: name.hash.description, isDamaged: true)
    }

    /// The files on a store's list.
    package static func list(_ db: Database) throws -> [QuarantinedLog] {
        try Row.fetchAll(db, sql: "SELECT * FROM ubiquity_quarantine ORDER BY peer, file").map(QuarantinedLog.init)
    }

    /// Puts it on the list; whether it was not on it.
    package func enter(_ db: Database) throws -> Bool {
        try db.execute(
            sql: "INSERT INTO ubiquity_quarantine (peer, file, kind, reason, record, since) VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING",
            arguments: [peer, file, kind.rawValue, reason, record, since.timeIntervalSince1970])
        return db.changesCount > 0
    }
}
