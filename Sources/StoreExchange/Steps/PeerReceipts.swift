internal import Foundation
package import GRDB
package import StoreFormat
package import StoreRecords
internal import SystemPackage
package import UbiquityContainers

/// Reads the receipts of the other peers of a content, and retires peers.
struct PeerReceipts {
    let scope: ExchangeScope

    /// Returns the newest receipt of each other peer; none in a container with a scope, where anybody could write one.
    func receipts() throws -> [PeerIdentifier: PeerReceipt] {
        if scope.context.scope != nil { return [:] }
        return try scope.layout.receipts(besides: scope.peer, epoch: scope.epoch, files: scope.files)
    }

    /// Returns the state of the other peers.
    ///
    /// - Parameter findsSilent: whether to determine since when each peer has been silent.
    /// - Returns: their receipts and retirements.
    /// - Throws: `Errno`, or GRDB's errors.
    func list(findsSilent: Bool = false) throws -> PeerDirectory.Listing {
        let receipts = try receipts()
        var listing = PeerDirectory.Listing(receipts: receipts, time: scope.context.now())
        try scope.file.pool.read { db in
            listing.retired = try Retirements.all(db)
            guard findsSilent else { return }
            for (peer, newest) in listing.active {
                // Only this store's own logs count: logs of others may have arrived just now, however old they are.
                listing.silentSince[peer] = try StorePeer(peer, newest, nil, author: scope.peer, db).silentSince(now: listing.time)
            }
        }
        return listing
    }

    /// Returns the other peers of the content.
    func peers() throws -> [StorePeer] {
        let listing = try list()
        return try scope.file.pool.read { db in
            try listing.receipts.sorted { $0.key < $1.key }.map { try StorePeer($0.key, $0.value, listing.retired[$0.key], db) }
        }
    }

    /// Retires peers up to their newest receipts; the next log states it.
    func retire(_ silent: [PeerIdentifier], _ peers: PeerDirectory) throws {
        try scope.file.pool.write { db in
            for peer in silent { try Retirements.retire(peer, Retirement(receipt: peers.listing.receipts[peer]?.number ?? 0), db) }
        }
    }

    /// Retires a peer by hand.
    ///
    /// - Parameters:
    ///   - peer: the peer.
    ///   - sequence: the last of its logs that nobody waits for; 0 for none.
    ///   - state: the store's state.
    ///   - awaits: the files that this store waits for.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if that is not possible; GRDB's errors.
    func retire(_ peer: PeerIdentifier, at sequence: Int64, _ state: StoreState, awaits: [AwaitedFile]) throws {
        try scope.file.pool.write { db in
            try Retirements.retire(peer, at: sequence, state, receipts: receipts(), awaits: awaits, db)
        }
    }
}

extension ContentLayout {
    /// Returns the newest receipt of each other peer that has a directory of an epoch.
    ///
    /// - Parameters:
    ///   - own: the peer that is left out.
    ///   - epoch: the epoch.
    ///   - files: the file system.
    /// - Returns: the receipts, by peer.
    /// - Throws: `Errno`.
    package func receipts(besides own: PeerIdentifier, epoch: Int64, files: any FileLayer) throws -> [PeerIdentifier: PeerReceipt] {
        var receipts: [PeerIdentifier: PeerReceipt] = [:]
        let directories = PeerFolders(layout: self, files: files)
        for name in try files.namesIfThere(in: directory) {
            guard let other = PeerIdentifier(name), other != own else { continue }
            do {
                guard try directories.isThere(logs(of: other, epoch: epoch)) else { continue }
                receipts[other] = try receipt(of: other, epoch: epoch, directories)
            } catch is PeerFault {
                // The peer may have written receipts that others can read. It counts as a peer that has written none
                // yet.
                receipts[other] = PeerReceipt(number: 0, receipt: nil)
            }
        }
        return receipts
    }

    /// Returns the newest receipt of a peer that can be read.
    private func receipt(of peer: PeerIdentifier, epoch: Int64, _ directories: PeerFolders) throws -> PeerReceipt {
        let directory = self.receipts(of: peer, epoch: epoch)
        let numbers = try directories.names(in: directory).compactMap(Receipt.number(ofFile:)).sorted(by: >)
        var newest: Receipt?
        // Each receipt is read once, because its owner may remove it meanwhile and a lazy collection would read it
        // again.
        for number in numbers where newest == nil {
            newest = (try? directories.files.read(directory.appending(String(number)), limit: 16 << 20)).flatMap { Receipt(decoding: $0) }
        }
        return PeerReceipt(number: numbers.first ?? 0, receipt: newest)
    }

    /// Returns authors with the names of their devices and apps, as far as the receipts of an epoch, or their attachment marks,
    /// tell.
    ///
    /// - Parameters:
    ///   - peers: the authors.
    ///   - epoch: the epoch.
    ///   - files: the file system.
    /// - Returns: the authors whose names are known.
    package func authors(_ peers: some Sequence<PeerIdentifier>, epoch: Int64, files: any FileLayer) -> [PeerIdentifier: ChangeAuthor] {
        let directories = PeerFolders(layout: self, files: files)
        return peers.reduce(into: [:]) { authors, peer in
            let receipt = (try? receipt(of: peer, epoch: epoch, directories))?.receipt
            guard let device = receipt?.device ?? device(of: peer, files: files) else { return }
            authors[peer] = ChangeAuthor(peer: peer, isThisDevice: false, device: device, app: receipt?.app)
        }
    }
}

extension StorePeer {
    /// Determines the state of a peer from its receipt and this store's knowledge.
    ///
    /// - Parameters:
    ///   - peer: the peer.
    ///   - newest: its receipt.
    ///   - fact: its retirement, if any.
    ///   - author: the peer whose unread logs count; nil for all.
    ///   - db: the store.
    /// - Throws: GRDB's errors.
    package init(_ peer: PeerIdentifier, _ newest: PeerReceipt, _ fact: Retirement?, author: PeerIdentifier? = nil, _ db: Database) throws {
        let authors = try StoreKnowledge.peers(db).all.filter { author == nil || $0.peer == author }
        let stated = newest.receipt?.stated ?? Knowledge()
        self.init(
            peer: peer.description, device: newest.receipt?.device, app: newest.receipt?.app, seen: newest.receipt?.time, receipt: newest.number,
            behind: 0, waitsSince: nil, isRetired: fact?.isInForce(newest.number) ?? false, passable: fact?.sequence ?? 0)
        for (number, author) in authors where author != peer {
            let passed = stated.passed(author)
            let unread = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT (SELECT max(sequence) FROM ubiquity_log WHERE peer = ?1) AS last,
                        (SELECT time FROM ubiquity_log WHERE peer = ?1 AND sequence > ?2 ORDER BY sequence LIMIT 1) AS time
                        """), arguments: [number.rawValue, passed])!
            guard let last = unread["last"] as Int64?, last > passed else { continue }
            behind += last - passed
            let written = HybridTime(rawValue: unread["time"] ?? 0).date
            waitsSince = min(waitsSince ?? written, written)
        }
    }
}

extension Retirements {
    /// Retires a peer by hand, if that is useful.
    ///
    /// - Parameters:
    ///   - peer: the peer.
    ///   - sequence: the last of its logs that nobody waits for; 0 for none.
    ///   - state: the store's state.
    ///   - receipts: the receipts of the other peers.
    ///   - awaits: the files that this store waits for.
    ///   - db: in a transaction.
    /// - Throws: `UbiquitousStoreError` with `unsupported`.
    package static func retire(
        _ peer: PeerIdentifier, at sequence: Int64, _ state: StoreState, receipts: [PeerIdentifier: PeerReceipt], awaits: [AwaitedFile],
        _ db: Database
    ) throws {
        guard sequence >= 0 else { throw UbiquitousStoreError(.unsupported, "Sequences begin at 1: a peer cannot be retired at log \(sequence).") }
        guard peer != state.peer else {
            throw UbiquitousStoreError(.unsupported, "\(peer) is this store's own identifier; another store can retire it.")
        }
        let isNamed = try StoreKnowledge.peers(db)[peer] != nil || awaits.contains { $0.peer == peer.description }
        guard isNamed || receipts[peer] != nil else {
            let known = receipts.keys.sorted().map(\.description).joined(separator: ", ")
            throw UbiquitousStoreError(
                .unsupported, "Nobody here has heard of \(peer); the other peers are \(known.isEmpty ? "none" : known).")
        }
        try retire(peer, Retirement(receipt: receipts[peer]?.number ?? 0, sequence: sequence), db)
    }
}
