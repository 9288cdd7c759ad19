internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Whether a store holds what the container says there is: asked of the container itself, not of what was seen of it last.
struct CurrencyCheck {
    let context: ExchangeContext
    let peer: PeerIdentifier
    let epoch: Int64

    init(_ context: ExchangeContext, _ peer: PeerIdentifier, _ epoch: Int64) { (self.context, self.peer, self.epoch) = (context, peer, epoch) }

    private var file: StoreFile { context.file }
    private var layout: ContentLayout { context.layout }

    /// Whether every log is held that a peer, or any that is not retired, has written or says that it holds.
    ///
    /// - Parameter peer: the peer; nil for all.
    /// - Returns: whether it does.
    /// - Throws: `UbiquitousStoreError` with `unsupported` where there is no such peer; `Errno`, or GRDB's errors.
    func isCaughtUp(to peer: PeerIdentifier?) throws -> Bool {
        let listing = try PeerReceipts(context, self.peer, epoch).list()
        let receipts = listing.receipts
        if let peer, receipts[peer] == nil {
            throw UbiquitousStoreError(.unsupported, "There is no peer \(peer) in \(layout.directory); `ubcontrol peers list` names those that are.")
        }
        let asked = peer.map { [$0: receipts[$0]!] } ?? listing.active
        return try file.pool.read { db in
            let held = try HeldLogs(db)
            for (peer, receipt) in asked where try !holdsAll(peer, receipt, held) { return false }
            return true
        }
    }

    /// Whether everything has been read that can be, where not every log is held: what is not held cannot be used
    /// here, and what waits waits for nothing else.
    ///
    /// One bad file harms only what depends on it. A damaged one may still be arriving: it counts after a minute.
    ///
    /// - Parameter waiting: the peers whose next log cannot be joined.
    /// - Returns: whether nothing more is to be waited for.
    /// - Throws: `Errno`, or GRDB's errors.
    func hasGathered(_ waiting: [WaitingPeer]) throws -> Bool {
        if try isCaughtUp(to: nil) { return true }
        let limit = context.now().addingTimeInterval(-60)
        let unusable = try file.pool.read { db in try QuarantinedLog.list(db) }
            .filter { ![.damaged, .unreadable].contains($0.kind) || $0.since < limit }
        var stuck = Set(unusable.map(\.peer))
        for peer in waiting {
            switch peer.reason {
            case .schema, .unreadable: stuck.insert(peer.peer)
            case .files: break
            }
        }
        while let more = waiting.first(where: { peer in
            !stuck.contains(peer.peer) && !peer.awaited.isEmpty && peer.awaited.allSatisfy { stuck.contains($0.peer) }
        }) {
            stuck.insert(more.peer)
        }
        let receipts = try PeerReceipts(context, peer, epoch).list().active
        return try file.pool.read { db in
            let held = try HeldLogs(db)
            return try receipts.allSatisfy { peer, receipt in
                let isRead = try (receipt.receipt?.stated.entries ?? []).allSatisfy { author, position in
                    try stuck.contains(author.description) || held.contains(position, of: author)
                }
                return try isRead && (stuck.contains(peer.description) || holdsNewest(of: peer, held))
            }
        }
    }

    /// Up to when the store holds all that other peers have said; nil where there are none that have.
    ///
    /// Of a peer whose logs are all here, what it said last is its receipt; of another, the last of its logs that is here.
    ///
    /// - Parameters:
    ///   - receipts: the peers' newest receipts.
    ///   - db: the store.
    /// - Returns: the time, by the clock of the peer that is furthest back.
    /// - Throws: `Errno`, or GRDB's errors.
    private func syncedAsOf(_ receipts: [PeerIdentifier: PeerReceipt], _ db: Database) throws -> Date? {
        let held = try HeldLogs(db)
        return try receipts.compactMap { peer, receipt -> Date? in
            guard let time = receipt.receipt?.time else { return nil }
            return try holdsAll(peer, receipt, held) ? time : held.lastTime(of: peer) ?? .distantPast
        }.min()
    }

    /// How the store stands.
    ///
    /// - Parameters:
    ///   - machine: what is known of its place and of what waits.
    ///   - failure: why the last exchange failed.
    /// - Returns: the status.
    /// - Throws: GRDB's errors.
    func status(_ machine: ExchangeStateMachine, failure: String?) throws -> StoreStatus {
        // A container that cannot be read says nothing; why it cannot, the last exchange has told.
        let isReadable = machine.suspended == nil && context.container != nil
        let others = isReadable ? (try? PeerReceipts(context, peer, epoch).list().active) ?? [:] : [:]
        return try file.pool.read { db in
            let state = try StoreState.read(db)
            let unpublished = try Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_outbox")!
            return StoreStatus(
                suspended: machine.suspended, isPaused: state.paused, peer: state.peer, epoch: state.epoch,
                knowledge: try StoreKnowledge.all(state, db), unpublished: unpublished,
                syncedAsOf: (try? syncedAsOf(others, db)) ?? nil, waiting: machine.peers.waiting,
                quarantined: try QuarantinedLog.list(db), broken: try CheckInspector.list(db),
                held: try RelatedTables.heldCount(file.shapes, db), failure: failure)
        }
    }

    private func holdsAll(_ peer: PeerIdentifier, _ receipt: PeerReceipt, _ held: HeldLogs) throws -> Bool {
        for (author, position) in receipt.receipt?.stated.entries ?? [] where try !held.contains(position, of: author) { return false }
        return try holdsNewest(of: peer, held)
    }

    private func holdsNewest(of peer: PeerIdentifier, _ held: HeldLogs) throws -> Bool {
        // Its logs come before the receipt that names them.
        let newest: LogFileName?
        do {
            newest = try context.folders.names(in: layout.logs(of: peer, epoch: epoch)).lazy.compactMap { LogFileName($0) }.max()
        } catch is PeerFault {
            // Nobody here can tell.
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

    /// When the last log of a peer was written, by its clock.
    func lastTime(of peer: PeerIdentifier) throws -> Date? {
        guard let number = peers[peer] else { return nil }
        let statement = try db.cachedStatement(sql: "SELECT time FROM ubiquity_log WHERE peer = ? ORDER BY sequence DESC LIMIT 1")
        return try Int64.fetchOne(statement, arguments: [number.rawValue]).map { HybridTime(rawValue: $0).date }
    }
}
