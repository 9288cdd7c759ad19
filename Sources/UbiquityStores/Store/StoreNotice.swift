public import Foundation
internal import GRDB
public import SystemPackage
public import UbiquityContainers

/// A notice to the observers of a store.
public enum StoreNotice: Sendable, Hashable {
    /// Changes of other peers have been committed to the store.
    case didImport(ImportNotice)
    /// These tables were empty and have been filled from a baseline, or have been rebuilt from the content: read them
    /// again.
    case didFill(Set<String>)
    /// Everything that this store holds has been written as a baseline with this number.
    case didRollBaseline(Int64)
    /// Another process of this device has written to the store: read again the data that you show.
    case didChangeInAnotherProcess
    /// The container or the store's content is gone.
    ///
    /// Nothing is deleted. Reads and writes go on locally, and the store exchanges nothing.
    case didSuspend(ContainerAttachment.Reason)
    /// The container and the content are back, and the store exchanges again.
    case didResume
    /// Another copy of this store uses its identifier, so this store continues under the new one in the notice.
    ///
    /// Unpublished saves are published under the new identifier.
    case didTakeNewIdentifier(PeerIdentifier)
    /// A number of rows has been adopted: rows that existed before their table was synced, or whose new columns a
    /// migration has filled.
    ///
    /// The store takes such rows over as insertions. The notice comes repeatedly during the work and once at its end.
    /// At the end the two numbers are equal, except for rows that were inserted or deleted during the work.
    case didAdopt(Int, of: Int, isDone: Bool)
    /// The content has been removed, on this device or another: the store is empty, in a new epoch.
    case didRemoveContent(ContentRemoval)
    /// The store is about to change files; it waits for the handlers of ``UbiquitousStore/onWillChange(_:)``.
    case willChange(StoreTransition)
    /// The store has changed files: read again the data that you show. GRDB's observations do so by themselves.
    case didChange(StoreTransition)
    /// The account's file could not be read, and is now at this path; a new file is made from the container.
    ///
    /// Unpublished saves of the old file exist only in it.
    case didSetAside(FilePath)
    /// A log cannot be used; it does not delay other logs.
    case didQuarantine(QuarantinedLog)
    /// This number of values has lost to concurrent writes; `UbiquitousStore.conflicts()` lists them.
    case didFindConflicts(Int)
    /// Rows break a CHECK since columns were merged; they are shown, and `StoreStatus` lists them until they are
    /// repaired.
    case didBreakChecks([BrokenRecord])
}

/// The records that an import touched, never empty; to read them again brings an observer up to date.
public struct ImportNotice: Sendable, Hashable {
    /// The records that were inserted.
    public internal(set) var inserted: Set<ObjectID> = []
    /// The records of which some columns changed.
    public internal(set) var updated: Set<ObjectID> = []
    /// The records that were deleted.
    public internal(set) var deleted: Set<ObjectID> = []

    /// Whether the import changed nothing.
    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

extension ImportNotice {
    /// Adds one change to the earlier ones, so that the three sets describe the import as a whole.
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

/// A log, baseline or directory of another peer that could not be used, with the reason.
public struct QuarantinedLog: Sendable, Hashable, Codable {
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
    /// The reason, in words.
    public var reason: String
    /// The record that was refused, if there is one: `table/key`.
    public var record: String?
    /// The time at which the fault was found first.
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

    /// The log that another peer could supply, by a baseline that contains it.
    ///
    /// It is nil if the file is no log, or a log that would be refused again.
    var awaited: AwaitedFile? {
        guard kind == .damaged, let name = LogFileName(file) else { return nil }
        return AwaitedFile(peer: peer, sequence: name.sequence, hash: name.hash.description, isDamaged: true)
    }

    /// Returns the files on a store's list.
    static func list(_ db: Database) throws -> [QuarantinedLog] {
        try Row.fetchAll(db, sql: "SELECT * FROM ubiquity_quarantine ORDER BY peer, file").map(QuarantinedLog.init)
    }

    /// Adds the file to the list; returns whether it was missing there.
    func enter(_ db: Database) throws -> Bool {
        try db.execute(
            sql: "INSERT INTO ubiquity_quarantine (peer, file, kind, reason, record, since) VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING",
            arguments: [peer, file, kind.rawValue, reason, record, since.timeIntervalSince1970])
        return db.changesCount > 0
    }
}
