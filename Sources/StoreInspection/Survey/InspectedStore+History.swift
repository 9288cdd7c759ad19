internal import GRDB
internal import StoreExchange
internal import StoreFormat
package import StoreRecords
package import SystemPackage
internal import UbiquityContainers

extension InspectedStore {
    /// Returns the changes after a token, as far as the store file lists them.
    ///
    /// - Parameters:
    ///   - token: the position after the changes that are known; nil for all that are kept.
    ///   - limit: the maximum number of changes; nil for all.
    ///   - container: the container's directory, whose receipts name devices and apps; nil if it is unknown.
    /// - Returns: the changes.
    /// - Throws: the errors of `ChangeHistory.changes(since:limit:)`.
    package func changes(since token: ChangeToken?, limit: Int?, in container: FilePath?) throws -> StoreChanges {
        try read { db in
            var changes = try ChangeHistory(db).changes(since: token, limit: limit)
            let names = try names(of: changes.otherPeers, in: container, db)
            changes.nameAuthors { names[$0.peer] ?? $0 }
            return changes
        }
    }

    /// Returns the authors of a record.
    ///
    /// - Parameters:
    ///   - record: the record.
    ///   - container: the container's directory, whose receipts name devices and apps; nil if it is unknown.
    /// - Returns: the authors.
    /// - Throws: `UbiquitousStoreError` with `notFound` if the record has never been in this store, or its table does not
    ///   sync; GRDB's errors.
    package func provenance(of record: ObjectID, in container: FilePath?) throws -> RecordProvenance {
        try read { db in
            guard var provenance = try ChangeHistory(db).provenance(of: record) else {
                throw UbiquitousStoreError(.notFound, "\(file) has never had a record \(record.text).", path: file)
            }
            let names = try names(of: provenance.otherPeers, in: container, db)
            provenance.nameAuthors { names[$0.peer] ?? $0 }
            return provenance
        }
    }

    private func names(of peers: Set<PeerIdentifier>, in container: FilePath?, _ db: Database) throws -> [PeerIdentifier: ChangeAuthor] {
        guard let container, !peers.isEmpty else { return [:] }
        let state = try StoreState.read(db)
        return ContentLayout(container: container, content: state.content).authors(peers, epoch: state.epoch, files: LinuxFileLayer())
    }
}
