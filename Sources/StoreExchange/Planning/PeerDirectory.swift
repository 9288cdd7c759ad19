internal import Foundation
package import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// The last receipt of a peer.
package struct PeerReceipt: Sendable {
    /// The highest number of the peer's receipts; 0 for none.
    package var number: Int64
    /// The newest readable receipt; nil for none.
    package var receipt: Receipt?
}

/// The knowledge about the other peers of a content, and the last receipt of this store.
struct PeerDirectory: Sendable {
    /// The result of one look at the other peers.
    struct Listing: Sendable {
        /// The newest receipt of each peer.
        var receipts: [PeerIdentifier: PeerReceipt] = [:]
        var retired: [PeerIdentifier: Retirement] = [:]
        /// The time since which a peer has read nothing although it could.
        ///
        /// A peer that has read everything is absent.
        var silentSince: [PeerIdentifier: Date] = [:]
        var time = Date(timeIntervalSince1970: 0)

        /// The peers that are not retired.
        var active: [PeerIdentifier: PeerReceipt] { receipts.filter { retired[$0.key]?.isInForce($0.value.number) != true } }
    }

    private(set) var listing = Listing()
    /// The peers whose next log cannot be joined yet.
    var waiting: [WaitingPeer] = []
    /// The knowledge that this store's newest receipt states; nil if that has not been looked up.
    var lastReceipt: Knowledge?
    /// The awaited files that this store's newest receipt states.
    private(set) var lastAwaits: [AwaitedFile] = []

    mutating func take(_ listing: Listing) { self.listing = listing }

    /// Forgets everything, because a new epoch has begun.
    mutating func forget() { self = PeerDirectory() }

    // MARK: Other peers

    /// The peers that are not retired.
    var active: [PeerIdentifier: PeerReceipt] { listing.active }

    /// Returns the peers that have been silent for longer than a limit.
    ///
    /// A peer without a receipt does not count, because it has only just arrived.
    ///
    /// - Parameter limit: the limit in seconds; nil for none.
    /// - Returns: the peers, sorted by name.
    func silent(for limit: TimeInterval?) -> [PeerIdentifier] {
        guard let limit else { return [] }
        return active.compactMap { peer, newest in
            guard newest.receipt != nil, let since = listing.silentSince[peer], since + limit < listing.time else { return nil }
            return peer
        }.sorted()
    }

    /// Records that peers are retired, up to their newest receipts.
    mutating func retire(_ peers: [PeerIdentifier]) {
        for peer in peers {
            let fact = Retirement(receipt: listing.receipts[peer]?.number ?? 0)
            listing.retired[peer] = listing.retired[peer]?.joined(with: fact) ?? fact
        }
    }

    /// Returns the last log of an author up to which every active peer has read everything.
    ///
    /// - Parameters:
    ///   - author: the author.
    ///   - isMeant: returns whether a branch of the author counts.
    /// - Returns: the sequence of the log; `.max` if there is no active peer.
    func passed(_ author: PeerIdentifier, where isMeant: (Knowledge.Position) -> Bool = { _ in true }) -> Int64 {
        active.values.map { $0.receipt?.stated.passed(author, where: isMeant) ?? 0 }.min() ?? .max
    }

    /// Records that a baseline waits for an update of this app.
    mutating func wait(for baseline: BaselineID, obstacle: String, authors: String) {
        waiting.append(
            WaitingPeer(
                peer: baseline.peer.description, sequence: baseline.name.sequence, reason: .schema(obstacle: obstacle, authors: authors), logs: 0))
    }

    // MARK: This store

    /// Returns the awaited files for this store's next receipt.
    ///
    /// - Parameter quarantined: the unusable files. No other log names the last one of its author.
    /// - Returns: the files.
    func awaits(besides quarantined: [QuarantinedLog]) -> [AwaitedFile] {
        let named = waiting.flatMap(\.awaited)
        return named + quarantined.compactMap(\.awaited).filter { file in !named.contains { ($0.peer, $0.hash) == (file.peer, file.hash) } }
    }

    /// Returns whether a receipt is due.
    ///
    /// It is due if something has changed, or if this peer has been retired and shows by a greater number that it is
    /// back.
    func needsReceipt(_ knowledge: Knowledge, awaits: [AwaitedFile], isRetired: Bool) -> Bool {
        lastReceipt != knowledge || lastAwaits != awaits || isRetired
    }

    /// Records the content of this store's new receipt.
    mutating func told(_ knowledge: Knowledge, awaits: [AwaitedFile]) { (lastReceipt, lastAwaits) = (knowledge, awaits) }
}
