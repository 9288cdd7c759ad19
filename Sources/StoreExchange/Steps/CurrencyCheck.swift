internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Determines whether a store holds everything in the container, from the container itself and not from a listing.
struct CurrencyCheck {
    let scope: ExchangeScope

    /// Returns whether the store holds every log that a peer has written or states that it holds.
    ///
    /// - Parameter peer: the peer; nil for all peers that are not retired.
    /// - Returns: whether it does.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if there is no such peer; `Errno`, or GRDB's errors.
    func isCaughtUp(to peer: PeerIdentifier?) throws -> Bool {
        let listing = try PeerReceipts(scope: scope).list()
        let receipts = listing.receipts
        if let peer, receipts[peer] == nil {
            throw UbiquitousStoreError(
                .unsupported, "There is no peer \(peer) in \(scope.layout.directory); `ubcontrol peers list` names those that are.")
        }
        let asked = peer.map { [$0: receipts[$0]!] } ?? listing.active
        return try scope.file.pool.read { db in
            let held = try HeldLogs(db)
            for (peer, receipt) in asked where try !holdsAll(peer, receipt, held) { return false }
            return true
        }
    }

    /// Returns whether everything readable has been read, although the store does not hold every log.
    ///
    /// The missing logs cannot be used here, and the waiting ones wait only for those. A bad file harms only what
    /// depends on it. A damaged file may still be arriving, and counts after a minute.
    ///
    /// - Parameter waiting: the peers whose next log cannot be joined.
    /// - Returns: whether there is nothing more to wait for.
    /// - Throws: `Errno`, or GRDB's errors.
    func hasGathered(_ waiting: [WaitingPeer]) throws -> Bool {
        if try isCaughtUp(to: nil) { return true }
        let limit = scope.context.now().addingTimeInterval(-60)
        let unusable = try scope.file.pool.read { db in try QuarantinedLog.list(db) }
            .filter { ![.damaged, .unreadable].contains($0.kind) || $0.since < limit }
        var stuck = Set(unusable.map(\.peer))
        for peer in waiting {
            switch peer.reason {
            case .schema, .unreadable, .statements: stuck.insert(peer.peer)
            case .files: break
            }
        }
        while let more = waiting.first(where: { peer in
            !stuck.contains(peer.peer) && !peer.awaited.isEmpty && peer.awaited.allSatisfy { stuck.contains($0.peer) }
        }) {
            stuck.insert(more.peer)
        }
        let receipts = try PeerReceipts(scope: scope).list().active
        return try scope.file.pool.read { db in
            let held = try HeldLogs(db)
            return try receipts.allSatisfy { peer, receipt in
                let isRead = try (receipt.receipt?.stated.entries ?? []).allSatisfy { author, position in
                    try stuck.contains(author.description) || held.contains(position, of: author)
                }
                return try isRead && (stuck.contains(peer.description) || holdsNewest(of: peer, held))
            }
        }
    }

    /// Returns the time up to which the store holds everything that other peers have stated; nil if none has.
    ///
    /// For a peer whose logs are all here, it is the time of its receipt; for another, the time of its last log that is
    /// here.
    ///
    /// - Parameters:
    ///   - receipts: the peers' newest receipts.
    ///   - db: the store.
    /// - Returns: the time, by the clock of the peer that is furthest behind.
    /// - Throws: `Errno`, or GRDB's errors.
    private func syncedAsOf(_ receipts: [PeerIdentifier: PeerReceipt], _ db: Database) throws -> Date? {
        let held = try HeldLogs(db)
        return try receipts.compactMap { peer, receipt -> Date? in
            guard let time = receipt.receipt?.time else { return nil }
            return try holdsAll(peer, receipt, held) ? time : held.lastTime(of: peer) ?? .distantPast
        }.min()
    }

    /// Returns the status of the store.
    ///
    /// - Parameters:
    ///   - machine: the state of its place and of waiting logs.
    ///   - failure: the reason why the last exchange failed.
    /// - Returns: the status.
    /// - Throws: GRDB's errors.
    func status(_ machine: ExchangeStateMachine, failure: String?) throws -> StoreStatus {
        try status(suspended: machine.suspended, waiting: machine.peers.waiting, failure: failure)
    }

    /// Returns the status of the store, from its file alone if it is suspended.
    func status(suspended: ContainerAttachment.Reason?, waiting: [WaitingPeer] = [], failure: String? = nil) throws -> StoreStatus {
        // A container that cannot be read gives no facts. The last exchange has reported the reason.
        let isReadable = suspended == nil && scope.context.container != nil
        let others = isReadable ? (try? PeerReceipts(scope: scope).list().active) ?? [:] : [:]
        return try scope.file.pool.read { db in
            let state = try StoreState.read(db)
            let unpublished = try Outbox.count(db)
            return StoreStatus(
                suspended: suspended, isPaused: state.paused, peer: state.peer, epoch: state.epoch,
                knowledge: try StoreKnowledge.all(state, db), unpublished: unpublished,
                syncedAsOf: (try? syncedAsOf(others, db)) ?? nil, waiting: waiting,
                quarantined: try QuarantinedLog.list(db), broken: try CheckInspector.list(db),
                held: try RelatedTables.heldCount(scope.file.shapes, db), undeclaredTables: try UndeclaredTables.all(db), failure: failure)
        }
    }

    private func holdsAll(_ peer: PeerIdentifier, _ receipt: PeerReceipt, _ held: HeldLogs) throws -> Bool {
        for (author, position) in receipt.receipt?.stated.entries ?? [] where try !held.contains(position, of: author) { return false }
        return try holdsNewest(of: peer, held)
    }

    private func holdsNewest(of peer: PeerIdentifier, _ held: HeldLogs) throws -> Bool {
        // A peer's logs come before the receipt that names them.
        let newest: LogFileName?
        do {
            newest = try scope.context.folders.names(in: scope.layout.logs(of: peer, epoch: scope.epoch)).lazy.compactMap { LogFileName($0) }.max()
        } catch is PeerFault {
            // This device cannot tell.
            return false
        }
        return try newest.map { try held.contains($0.position, of: peer) } ?? true
    }
}

/// The logs that a store has taken in or written.
private struct HeldLogs {
    private let db: Database
    private let peers: PeerTable

    init(_ db: Database) throws {
        self.db = db
        peers = try StoreKnowledge.peers(db)
    }

    func contains(_ position: Knowledge.Position, of peer: PeerIdentifier) throws -> Bool {
        guard let number = peers[peer] else { return false }
        let statement = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_log WHERE peer = ? AND sequence = ? AND hash = ?)")
        return try Bool.fetchOne(statement, arguments: [number.rawValue, position.sequence, Data(position.hash.bytes)])!
    }

    /// Returns the time of a peer's last log, by that peer's clock.
    func lastTime(of peer: PeerIdentifier) throws -> Date? {
        guard let number = peers[peer] else { return nil }
        let statement = try db.cachedStatement(sql: "SELECT time FROM ubiquity_log WHERE peer = ? ORDER BY sequence DESC LIMIT 1")
        return try Int64.fetchOne(statement, arguments: [number.rawValue]).map { HybridTime(rawValue: $0).date }
    }
}
