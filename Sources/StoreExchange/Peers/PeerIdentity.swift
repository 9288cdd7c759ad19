internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Detects that a store's peer identifier is in use elsewhere, and gives the store another.
///
/// A restored backup, a copied store and a cloned home all show as a log under this identifier that the store does not
/// remember. From then on, the files in the old identifier's directory are another peer's, including this store's own
/// published logs.
struct PeerIdentity {
    let layout: ContentLayout
    let container: UbiquityContainer
    let pool: any DatabaseWriter
    /// The container with a scope that the store lies in; nil for a plain container.
    var scope: ScopeContext?

    private var files: any FileLayer { container.files }

    /// Looks in this store's own directory for an intact log that the store does not remember.
    ///
    /// - Parameters:
    ///   - state: the state of the store.
    ///   - names: the files to examine, or nil for all.
    /// - Returns: the name of the log, or nil if there is none.
    /// - Throws: `Errno`, or GRDB's errors.
    func stranger(_ state: StoreState, among names: [LogFileName]?) throws -> LogFileName? {
        let directory = layout.logs(of: state.peer, epoch: state.epoch)
        let candidates = try names ?? files.names(in: directory).compactMap { LogFileName($0) }
        guard !candidates.isEmpty else { return nil }
        // Anybody can write into a directory of a container with a scope; only a copy of this store has its key.
        let key = try scope?.keys.deviceKey?.publicKey
        let unknown = try pool.read { db in try LogRegister(own: state.peer, db).unknown(among: candidates, of: state.peer) }
        return unknown.first { name in
            // Any program can give a file such a name. It counts only if the contents match the name.
            guard let bytes = try? files.read(directory.appending(name.description), limit: LogFile.limit),
                let log = try? LogFile(decoding: bytes, named: name)
            else { return false }
            if scope != nil, key.map({ log.isSigned(by: $0, name.hash) }) != true { return false }
            let header = log.header
            return header.peer == state.peer && header.epoch == state.epoch && header.contentName == state.content
        }
    }

    /// Takes a new peer identifier, under which everything unpublished will go out.
    ///
    /// It chooses and stores the identifier first, so that a crash leaves no second mark. Then it makes the peer's
    /// directories. Then one transaction makes the identifier the store's own. Until that transaction, the store is
    /// unchanged.
    ///
    /// - Parameter enrol: makes the new identifier known in a container with a scope; receives the new one and the old one,
    ///   and returns the new one's certificate, which a plain container has not.
    /// - Returns: the state of the store under its new identifier.
    /// - Throws: `UbiquitousStoreError`, `Errno`, or GRDB's errors.
    func renew(enrolling enrol: (_ peer: PeerIdentifier, _ old: PeerIdentifier) throws -> StatementIdentifier?) throws -> StoreState {
        let state = try pool.write { db in
            var state = try StoreState.read(db)
            if state.successor == nil {
                state.successor = PeerIdentifier(account: state.peer.account, uuid: files.newIdentifier())
                try state.update(db)
            }
            return state
        }
        Waypoint.identityChosen.pass()
        let place = PeerPlace(layout: layout, container: container, files: files)
        var certificate: StatementIdentifier?
        if scope == nil { try place.makeMark(of: state.successor!) } else { certificate = try enrol(state.successor!, state.peer) }
        Waypoint.identityMarked.pass()
        try place.makeDirectories(of: state.successor!, epoch: state.epoch)
        Waypoint.identityPlaced.pass()
        let directory = layout.logs(of: state.peer, epoch: state.epoch)
        let published = Set(try files.namesIfThere(in: directory).compactMap { LogFileName($0) })
        if !published.isEmpty { try files.syncDirectory(directory) }
        let receipts = try files.namesIfThere(in: layout.receipts(of: state.peer, epoch: state.epoch)).compactMap(Receipt.number(ofFile:))
        let renewed = try pool.write { db in
            // Nobody need wait for an identifier that is no longer in use. If another copy of this store uses it, the
            // next receipt of that copy says so.
            try Retirements.retire(state.peer, Retirement(receipt: receipts.max() ?? 0), db)
            if let certificate {
                // The sealed logs are written again as the new peer's, under its own certificate.
                var position = try ScopeState.read(db)
                position.certificate = certificate
                try position.update(db)
            }
            return try adopt(published, db)
        }
        Waypoint.identityAdopted.pass()
        return renewed
    }

    private func adopt(_ published: Set<LogFileName>, _ db: Database) throws -> StoreState {
        var state = try StoreState.read(db)
        let old = state.peer
        // A crash may have happened between the last renames and the removal from the outbox.
        let there = try Outbox.names(db).prefix(while: published.contains)
        if let last = try Outbox.lastWhole(of: there, db) { try Outbox.clear(through: last.sequence, of: old, db) }
        let head = try Outbox.published(state, db)
        var peers = try StoreKnowledge.peers(db)
        let number = try StoreKnowledge.number(of: old, in: &peers, db)
        _ = try StoreKnowledge.number(of: state.successor!, in: &peers, db)
        if let head { try StoreKnowledge.setHead(head, of: number, told: true, db) }
        state.peer = state.successor!
        state.successor = nil
        (state.sequence, state.predecessor, state.receipt) = (0, nil, 0)
        try Outbox.reissue(from: old, as: &state, db)
        try state.update(db)
        return state
    }
}
