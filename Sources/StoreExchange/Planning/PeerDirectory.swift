internal import Foundation
package import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// What a peer has said of itself last.
package struct PeerReceipt: Sendable {
    /// The highest number of its receipts; 0 for none.
    package var number: Int64
    /// The newest that can be read; nil for none.
    package var receipt: Receipt?
}

/// What is known of the other peers of a content, and what this store has told them.
struct PeerDirectory: Sendable {
    /// What a look at the other peers found.
    struct Listing: Sendable {
        /// The newest receipt of each.
        var receipts: [PeerIdentifier: PeerReceipt] = [:]
        var retired: [PeerIdentifier: Retirement] = [:]
        /// Since when a peer has read nothing that it could have read; absent where it has read all.
        var silentSince: [PeerIdentifier: Date] = [:]
        var time = Date(timeIntervalSince1970: 0)

        /// The peers that are not retired.
        var active: [PeerIdentifier: PeerReceipt] { receipts.filter { retired[$0.key]?.isInForce($0.value.number) != true } }
    }

    private(set) var listing = Listing()
    /// The peers whose next log cannot be joined yet.
    var waiting: [WaitingPeer] = []
    /// What this store's newest receipt says that it knows; nil where that has not been looked at.
    var lastReceipt: Knowledge?
    /// What this store's newest receipt says that it waits for.
    private(set) var lastAwaits: [AwaitedFile] = []

    mutating func take(_ listing: Listing) { self.listing = listing }

    /// Another epoch has begun, in which nobody has said anything.
    mutating func forget() { self = PeerDirectory() }

    // MARK: Others

    /// The peers that are not retired.
    var active: [PeerIdentifier: PeerReceipt] { listing.active }

    /// The peers that have been silent for longer than a limit.
    ///
    /// A peer without a receipt has just come itself.
    ///
    /// - Parameter limit: in seconds; nil for none.
    /// - Returns: the peers, by name.
    func silent(for limit: TimeInterval?) -> [PeerIdentifier] {
        guard let limit else { return [] }
        return active.compactMap { peer, newest in
            guard newest.receipt != nil, let since = listing.silentSince[peer], since + limit < listing.time else { return nil }
            return peer
        }.sorted()
    }

    /// Peers are retired, up to their newest receipts.
    mutating func retire(_ peers: [PeerIdentifier]) {
        for peer in peers {
            let fact = Retirement(receipt: listing.receipts[peer]?.number ?? 0)
            listing.retired[peer] = listing.retired[peer]?.joined(with: fact) ?? fact
        }
    }

    /// The log of an author up to which every peer that is not retired has read all; `.max` where there is no such peer.
    ///
    /// - Parameters:
    ///   - author: the author.
    ///   - isMeant: says which branches of the author count.
    /// - Returns: its sequence.
    func passed(_ author: PeerIdentifier, where isMeant: (Knowledge.Position) -> Bool = { _ in true }) -> Int64 {
        active.values.map { $0.receipt?.stated.passed(author, where: isMeant) ?? 0 }.min() ?? .max
    }

    /// A baseline waits for an update of this app.
    mutating func wait(for baseline: BaselineID, obstacle: String, authors: String) {
        waiting.append(
            WaitingPeer(
                peer: baseline.peer.description, sequence: baseline.name.sequence, reason: .schema(obstacle: obstacle, authors: authors), logs: 0))
    }

    // MARK: This store

    /// What this store's next receipt says that it waits for.
    ///
    /// - Parameter quarantined: the files that could not be used: the last log of its author is named by none.
    /// - Returns: the files.
    func awaits(besides quarantined: [QuarantinedLog]) -> [AwaitedFile] {
        let named = waiting.flatMap(\.awaited)
        return named + quarantined.compactMap(\.awaited).filter { file in !named.contains { ($0.peer, $0.hash) == (file.peer, file.hash) } }
    }

    /// Whether a receipt is due: something has changed, or this peer has been retired and says by a greater number that it is back.
    func needsReceipt(_ knowledge: Knowledge, awaits: [AwaitedFile], isRetired: Bool) -> Bool {
        lastReceipt != knowledge || lastAwaits != awaits || isRetired
    }

    /// This store's receipt says what is known.
    mutating func told(_ knowledge: Knowledge, awaits: [AwaitedFile]) { (lastReceipt, lastAwaits) = (knowledge, awaits) }
}
