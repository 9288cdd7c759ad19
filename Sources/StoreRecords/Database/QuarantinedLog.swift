public import Foundation
package import GRDB
package import StoreFormat
internal import SystemPackage
package import UbiquityContainers

/// A log, baseline or directory of another peer that could not be used, with the reason.
public struct QuarantinedLog: Sendable, Hashable, Codable {
    package static let table = "ubiquity_quarantine"

    /// The kind of fault.
    public enum Kind: String, Sendable, Codable {
        /// The bytes of the file do not match its name, or cannot be valid.
        case damaged
        /// A newer version of this package wrote it.
        case newer
        /// This store cannot hold the content: its schema rejects it, or no correct writer produced it.
        case refused
        /// The file or directory cannot be read, or something else is in the place of a directory: nothing in it can be
        /// read.
        case unreadable
    }

    /// The peer in whose directory the file lies.
    public var peer: String
    /// The file's name, or a directory's path in the peer's directory of the epoch, with `.` for that one itself.
    public var file: String
    /// The kind of fault.
    public var kind: Kind
    /// The reason in words.
    public var reason: String
    /// The record that was refused, if there is one: `table/key`.
    public var record: String?
    /// The time at which the fault was found first.
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

    /// The log that another peer could supply, by a baseline that contains it.
    ///
    /// It is nil if the file is no log, or a log that would be refused again.
    package var awaited: AwaitedFile? {
        guard kind == .damaged, let name = LogFileName(file) else { return nil }
        return AwaitedFile(peer: peer, sequence: name.sequence, hash: name.hash.description, isDamaged: true)
    }

    /// Returns the files on a store's list.
    package static func list(_ db: Database) throws -> [QuarantinedLog] {
        try Row.fetchAll(db.cachedStatement(sql: "SELECT * FROM ubiquity_quarantine ORDER BY peer, file")).map(QuarantinedLog.init)
    }

    /// Adds the file to the list; returns whether it was missing there.
    package func enter(_ db: Database) throws -> Bool {
        try db.cachedStatement(
            sql: "INSERT INTO ubiquity_quarantine (peer, file, kind, reason, record, since) VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING"
        ).execute(arguments: [peer, file, kind.rawValue, reason, record, since.timeIntervalSince1970])
        return db.changesCount > 0
    }

    /// Removes the file from the list.
    package func remove(_ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM ubiquity_quarantine WHERE peer = ? AND file = ?").execute(arguments: [peer, file])
    }
}
