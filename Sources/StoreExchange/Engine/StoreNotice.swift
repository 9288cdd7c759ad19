public import Foundation
internal import GRDB
public import SystemPackage
public import UbiquityContainers

/// What an observer of a store hears.
public enum StoreNotice: Sendable, Hashable {
    /// Changes of other peers have been committed to the store.
    case didImport(ImportNotice)
    /// These tables were empty and have been filled from a baseline, or were made anew from the content: read them again.
    case didFill(Set<String>)
    /// All that this store holds has been written down as a baseline of this number.
    case didRollBaseline(Int64)
    /// Another process of this device has written to the store: read again what you show.
    case didChangeInAnotherProcess
    /// The container or the store's content is gone. Nothing is deleted; reads and writes go on locally, and nothing goes out or in.
    case didSuspend(ContainerAttachment.Reason)
    /// What was gone is back, and so is the exchange.
    case didResume
    /// Another copy of this store uses its identifier: it goes on under this new one, and what it has not published goes out under it.
    case didTakeNewIdentifier(PeerIdentifier)
    /// So many of the rows that were in synced tables before these were synced have been taken over as insertions, or have been looked through for values
    /// that a migration has put into new columns.
    ///
    /// It comes while that goes on, and once at its end, when the two numbers are equal but for rows that came or went meanwhile.
    case didAdopt(Int, of: Int, isDone: Bool)
    /// The content has been removed, on this device or another: the store is empty, in a new epoch.
    case didRemoveContent(ContentRemoval)
    /// The store is about to change files; handlers of ``UbiquitousStore/onWillChange(_:)`` are waited for.
    case willChange(StoreTransition)
    /// The store has changed files: read again what you show. Observations of GRDB's do so by themselves.
    case didChange(StoreTransition)
    /// The account's file could not be read, and lies aside here; a new one is made from the container. What had not gone out from it is in it alone.
    case didSetAside(FilePath)
    /// A log cannot be used; other logs are not held up by it.
    case didQuarantine(QuarantinedLog)
    /// So many values lost to others that were written apart from them; `UbiquitousStore.conflicts()` lists them.
    case didFindConflicts(Int)
    /// Rows break a CHECK since columns were merged; they are shown all the same, and `StoreStatus` lists them until they are put right.
    case didBreakChecks([BrokenRecord])
}

/// The records that an import touched, never empty: reading these again brings an observer up to date.
public struct ImportNotice: Sendable, Hashable {
    /// Records that were not there before.
    public internal(set) var inserted: Set<ObjectID> = []
    /// Records some of whose columns changed.
    public internal(set) var updated: Set<ObjectID> = []
    /// Records that are no longer there.
    public internal(set) var deleted: Set<ObjectID> = []

    /// Whether the import changed nothing.
    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

extension ImportNotice {
    /// Adds one change to those before it, so that the three sets say what the import as a whole did.
    mutating func add(_ kind: Kind, _ id: ObjectID) {
        switch kind {
        case .insert:
            if deleted.remove(id) != nil { updated.insert(id) } else { inserted.insert(id) }
        case .update:
            if !inserted.contains(id) { updated.insert(id) }
        case .delete:
            updated.remove(id)
            if inserted.remove(id) == nil { deleted.insert(id) }
        }
    }

    enum Kind { case insert, update, delete }
}

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
}

extension QuarantinedLog {
    init(_ name: String, of peer: PeerIdentifier, _ fault: LogFault, since: Date) {
        let kind: Kind = if case .newer = fault { .newer } else { .damaged }
        self.init(peer: peer.description, file: name, kind: kind, reason: fault.description, record: nil, since: since)
    }

    init(_ row: Row) {
        self.init(
            peer: row["peer"], file: row["file"], kind: Kind(rawValue: row["kind"]) ?? .damaged, reason: row["reason"], record: row["record"],
            since: Date(timeIntervalSince1970: row["since"]))
    }

    /// The log that another peer could bring, by a baseline that holds it; nil of what is no log, and of one that would be refused again.
    var awaited: AwaitedFile? {
        guard kind == .damaged, let name = LogFileName(file) else { return nil }
        return AwaitedFile(peer: peer, sequence: name.sequence, hash: name.hash.description, isDamaged: true)
    }

    /// The files on a store's list.
    static func list(_ db: Database) throws -> [QuarantinedLog] {
        try Row.fetchAll(db, sql: "SELECT * FROM ubiquity_quarantine ORDER BY peer, file").map(QuarantinedLog.init)
    }

    /// Puts it on the list; whether it was not on it.
    func enter(_ db: Database) throws -> Bool {
        try db.execute(
            sql: "INSERT INTO ubiquity_quarantine (peer, file, kind, reason, record, since) VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING",
            arguments: [peer, file, kind.rawValue, reason, record, since.timeIntervalSince1970])
        return db.changesCount > 0
    }
}
