public import GRDB
internal import StoreExchange
internal import StoreFormat
public import StoreRecords
internal import Synchronization
internal import UbiquityContainers

extension UbiquitousStore {
    /// The position after the last change that the store has taken in.
    ///
    /// An app that begins to follow the changes takes this token first, and reads all records then. The changes since the
    /// token may then repeat what it has read, and lack nothing.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the store keeps no history; GRDB's errors.
    public var currentChangeToken: ChangeToken {
        get async throws { try await read { db in try ChangeHistory(db).currentToken } }
    }

    /// Returns the changes after a token, in the order in which the store took them in.
    ///
    /// They are the saves of this process and of other processes of this device, imports from other peers, and whatever
    /// else has changed rows of synced tables. A large change names its tables instead of their records. Every change is
    /// listed in the transaction that makes it, except for writes by GRDB's own methods and by other programs: those are
    /// listed once they are sealed, which this method does first. Saves of a store that has never had its place in a
    /// container are listed once it has one.
    ///
    /// ```swift
    /// do {
    ///     let changes = try await store.changes(since: token)
    ///     for change in changes.changes { … }  // read the records again, or remove them
    ///     token = changes.token
    /// } catch let error as UbiquitousStoreError where [.tokenExpired, .foreignToken].contains(error.code) {
    ///     token = try await store.currentChangeToken
    ///     …  // read all records
    /// }
    /// ```
    ///
    /// <doc:ChangeTracking> describes what a reader can rely on.
    ///
    /// - Parameters:
    ///   - token: the position after the changes that the caller has seen; nil for all changes that are kept.
    ///   - limit: the maximum number of changes; nil for all.
    /// - Returns: the changes, with the token to continue from.
    /// - Throws: `UbiquitousStoreError`: `tokenExpired` or `foreignToken` if the token cannot be used, `unsupported` if
    ///   the store keeps no history or the limit is less than 1; GRDB's errors.
    public func changes(since token: ChangeToken?, limit: Int? = nil) async throws -> StoreChanges {
        try await onCurrent { base in
            try await sealNotes(of: base)
            let process = base.sealer.journal.process
            let (found, epoch) = try await base.pool.read { db in
                (try ChangeHistory(db, process: process).changes(since: token, limit: limit), try StoreState.read(db).epoch)
            }
            guard isCurrent(base) else { return nil }
            var changes = found
            let names = try await authors.named(changes.otherPeers, in: base, epoch: epoch)
            changes.nameAuthors { names[$0.peer] ?? $0 }
            return changes
        }
    }

    /// Returns who created a record, who last wrote each of its columns, and who deleted it.
    ///
    /// - Parameter id: the record.
    /// - Returns: its authors; nil if the record has never been in this store.
    /// - Throws: `UbiquitousStoreError` with `notFound` if the table does not sync or has another key; GRDB's errors.
    public func record(_ id: ObjectID) async throws -> RecordProvenance? {
        try await onCurrent { base -> RecordProvenance?? in
            try await sealNotes(of: base)
            let (found, epoch) = try await base.pool.read { db in (try ChangeHistory(db).provenance(of: id), try StoreState.read(db).epoch) }
            guard isCurrent(base) else { return nil }
            guard var provenance = found else { return .some(nil) }
            let names = try await authors.named(provenance.otherPeers, in: base, epoch: epoch)
            provenance.nameAuthors { names[$0.peer] ?? $0 }
            return provenance
        }
    }

    /// Returns who created a record, who last wrote each of its columns, and who deleted it.
    ///
    /// - Parameters:
    ///   - key: the value of the record's key.
    ///   - table: the table.
    /// - Returns: its authors; nil if the record has never been in this store.
    /// - Throws: `UbiquitousStoreError` with `notFound` if the table does not sync or has a key of several columns;
    ///   GRDB's errors.
    public func record(_ key: some DatabaseValueConvertible & Sendable, in table: String) async throws -> RecordProvenance? {
        try await record(ObjectID(table: table, key: [RecordValue(key)]))
    }

    /// Seals the writes of other programs and of GRDB's own methods.
    private func sealNotes(of base: StoreBase) async throws {
        guard !context.isReadOnly else { return }
        let sealer = base.sealer
        // Nothing is written if there is nothing to seal.
        guard try await base.pool.read({ db in try StoreState.read(db).attached && sealer.hasNotes(db) }) else { return }
        let isMarked = try await base.pool.write { db in try base.sealForeign(db) }
        if isMarked { try? await blocking { base.resolve() } }
        base.trigger?.wake()
    }
}

/// The names of the devices and apps of authors, each read once from a receipt.
final class AuthorNames: Sendable {
    private let known = Mutex<[PeerIdentifier: ChangeAuthor]>([:])

    /// Returns peers with their names, as far as these are known.
    func named(_ peers: Set<PeerIdentifier>, in base: StoreBase, epoch: Int64) async throws -> [PeerIdentifier: ChangeAuthor] {
        let missing = known.withLock { known in peers.filter { known[$0] == nil } }
        let context = base.runner.context
        if !missing.isEmpty, context.container != nil {
            let found = try await blocking { context.layout.authors(missing, epoch: epoch, files: context.files) }
            known.withLock { $0.merge(found) { $1 } }
        }
        return known.withLock { known in known.filter { peers.contains($0.key) } }
    }
}
