internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Finds out that a store's identifier is in use elsewhere, and gives the store another (DESIGN §4, rule 11).
///
/// A restored backup, a copied store and a cloned home all show as a log under this identifier that the store does not remember. What
/// lies in the old identifier's directory is from then on another peer's, this store's own published logs included.
struct PeerIdentity {
    let layout: ContentLayout
    let container: UbiquityContainer
    let pool: any DatabaseWriter

    private var files: any FileLayer { container.files }

    /// Looks for a whole log in this store's own directory that it does not remember.
    ///
    /// - Parameters:
    ///   - state: the store's state.
    ///   - names: the files to look at; nil for all.
    /// - Returns: its name; nil where there is none.
    /// - Throws: `Errno`, or GRDB's errors.
    func stranger(_ state: StoreState, among names: [LogFileName]?) throws -> LogFileName? {
        let directory = layout.logs(of: state.peer, epoch: state.epoch)
        let candidates = try names ?? files.names(in: directory).compactMap { LogFileName($0) }
        guard !candidates.isEmpty else { return nil }
        let unknown = try pool.read { db in try LogRegister(own: state.peer, db).unknown(among: candidates, of: state.peer) }
        return unknown.first { name in
            // Anybody can give a file such a name: it counts if it is what the name says.
            guard let bytes = try? files.read(directory.appending(name.description), limit: LogFile.limit),
                let header = try? LogFile(decoding: bytes, named: name).header
            else { return false }
            return header.peer == state.peer && header.epoch == state.epoch && header.contentName == state.content
        }
    }

    /// Takes a new identifier, under which everything that has not been published is to be.
    ///
    /// It is chosen and kept first, so that a crash on the way leaves no second mark; its place is made; then one transaction makes
    /// the store its own. Until that one, the store is what it was.
    func renew() throws -> StoreState {
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
        try place.makeMark(of: state.successor!)
        Waypoint.identityMarked.pass()
        try place.makeDirectories(of: state.successor!, epoch: state.epoch)
        Waypoint.identityPlaced.pass()
        let directory = layout.logs(of: state.peer, epoch: state.epoch)
        let published = Set(try files.namesIfThere(in: directory).compactMap { LogFileName($0) })
        if !published.isEmpty { try files.syncDirectory(directory) }
        let receipts = try files.namesIfThere(in: layout.receipts(of: state.peer, epoch: state.epoch)).compactMap(Receipt.number(ofFile:))
        let renewed = try pool.write { db in
            // Nobody need wait for an identifier that is in use nowhere; where another copy of this store uses it, that says so with its next receipt.
            try Retirements.retire(state.peer, Retirement(receipt: receipts.max() ?? 0), db)
            return try adopt(published, db)
        }
        Waypoint.identityAdopted.pass()
        return renewed
    }

    private func adopt(_ published: Set<LogFileName>, _ db: Database) throws -> StoreState {
        var state = try StoreState.read(db)
        let old = state.peer
        // A crash may have come between the last renames and the forgetting.
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
