internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
package import UbiquityContainers

// Whether a store holds what the container says there is: asked of the container itself, not of what was seen of it last.
extension StoreEngine {
    /// Whether every log is held that a peer, or any that is not retired, has written or says that it holds.
    ///
    /// - Parameter peer: the peer; nil for all.
    /// - Returns: whether it does.
    /// - Throws: `UbiquitousStoreError`: `suspended` where the container is gone, `unsupported` where there is no such peer; `Errno`, or GRDB's errors.
    package func isCaughtUp(to peer: PeerIdentifier?) throws -> Bool {
        var isThere = false
        try leased { _ in isThere = true }
        guard isThere else { throw suspension }
        let receipts = try receipts()
        if let peer, receipts[peer] == nil {
            throw UbiquitousStoreError(.unsupported, "There is no peer \(peer) in \(layout.directory); `ubcontrol peers list` names those that are.")
        }
        let asked = try peer.map { [$0: receipts[$0]!] } ?? active(receipts)
        return try file.pool.read { db in
            let held = try HeldLogs(db)
            for (peer, receipt) in asked where try !holdsAll(peer, receipt, held) { return false }
            return true
        }
    }

    /// Whether everything has been read that can be: what is not held cannot be used here, and what waits waits for nothing else.
    ///
    /// One bad file harms only what depends on it (DESIGN §4, rule 6). A damaged one may still be arriving: it counts after a minute.
    ///
    /// - Returns: whether nothing more is to be waited for.
    /// - Throws: `UbiquitousStoreError` with `suspended` where the container is gone; `Errno`, or GRDB's errors.
    package func hasGathered() throws -> Bool {
        if try isCaughtUp(to: nil) { return true }
        let limit = now().addingTimeInterval(-60)
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
        let receipts = try active(receipts())
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
    func syncedAsOf(_ receipts: [PeerIdentifier: PeerReceipt], _ db: Database) throws -> Date? {
        let held = try HeldLogs(db)
        return try receipts.compactMap { peer, receipt -> Date? in
            guard let time = receipt.receipt?.time else { return nil }
            return try holdsAll(peer, receipt, held) ? time : held.lastTime(of: peer) ?? .distantPast
        }.min()
    }

    private func holdsAll(_ peer: PeerIdentifier, _ receipt: PeerReceipt, _ held: HeldLogs) throws -> Bool {
        for (author, position) in receipt.receipt?.stated.entries ?? [] where try !held.contains(position, of: author) { return false }
        return try holdsNewest(of: peer, held)
    }

    private func holdsNewest(of peer: PeerIdentifier, _ held: HeldLogs) throws -> Bool {
        // Its logs come before the receipt that names them.
        let newest: LogFileName?
        do {
            newest = try directories.names(in: layout.logs(of: peer, epoch: epoch)).lazy.compactMap { LogFileName($0) }.max()
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
