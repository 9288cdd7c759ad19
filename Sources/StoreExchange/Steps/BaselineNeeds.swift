internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Finds logs that this store holds, others lack, and no file provides: a baseline of this store provides them.
struct BaselineNeeds {
    let scope: ExchangeScope

    /// Returns the number of joined logs that are in no baseline of which this store holds everything.
    func countLoose(_ inventory: ContentInventory?, _ knowledge: Knowledge, _ shelf: inout BaselineShelf) throws -> Int64 {
        BaselineShelf.loose(knowledge, besides: try inventory.map { try scope.baselines.usable($0, &shelf) } ?? [])
    }

    /// Returns whether a peer waits for a joined log that no file provides.
    ///
    /// Requests from retired peers count too: a stuck peer cannot read its own retirement, and one baseline answers it
    /// for good.
    ///
    /// - Parameters:
    ///   - inventory: the files of the content.
    ///   - peers: the receipts of the other peers.
    ///   - shelf: the known baselines.
    /// - Returns: whether a peer does.
    /// - Throws: `Errno`, or GRDB's errors.
    func isAwaited(_ inventory: ContentInventory, _ peers: PeerDirectory, _ shelf: inout BaselineShelf) throws -> Bool {
        guard let knowledge = peers.lastReceipt else { return false }
        let usable = try scope.baselines.usable(inventory, &shelf)
        return try peers.listing.receipts.values.compactMap(\.receipt).contains { receipt in
            try receipt.needs(besides: knowledge).contains { need in
                let isHere: Bool
                if let position = need.position {
                    isHere = try scope.file.pool.read { db in try LogRegister(own: scope.peer, db).contains(position, of: need.author) }
                } else {
                    isHere = knowledge.covers(need.sequence, of: need.author)
                }
                guard isHere, need.isDamaged || !isInFile(need) else { return false }
                return !usable.contains { id, header in
                    guard let position = need.position else { return header.knowledge.covers(need.sequence, of: need.author) }
                    return (try? scope.baselines.reader.lacking([(need.author, position)], id, header))?.isEmpty == true
                }
            }
        }
    }

    /// Returns whether a needed file is here, and will therefore reach the peer.
    private func isInFile(_ need: Receipt.Need) -> Bool {
        if let value = need.value {
            return (try? scope.files.kind(of: scope.layout.values(of: need.author, epoch: scope.epoch).appending(value.description))) == .file
        }
        let names = (try? scope.files.namesIfThere(in: scope.layout.logs(of: need.author, epoch: scope.epoch))) ?? []
        return names.compactMap { LogFileName($0) }.contains {
            $0.sequence == need.sequence && (need.position.map(\.hash) ?? $0.hash) == $0.hash
        }
    }

    /// Returns whether there is a joined log that some peer has not read and that is in no file any more.
    ///
    /// Nothing tells that peer about the log. Its author removed it for a baseline that held it, and may have gone
    /// before that baseline arrived anywhere. Logs are removed from the oldest on, and a peer with a later log asks for
    /// those before it. Therefore only the first log of each author that some peer lacks is examined.
    ///
    /// - Parameters:
    ///   - inventory: the files of the content.
    ///   - peers: the receipts of the other peers.
    ///   - shelf: the known baselines.
    /// - Returns: whether there is one.
    /// - Throws: `Errno`, or GRDB's errors.
    func areStranded(_ inventory: ContentInventory, _ peers: PeerDirectory, _ shelf: inout BaselineShelf) throws -> Bool {
        let stated = peers.active.values.compactMap { $0.receipt?.stated }
        guard let knowledge = peers.lastReceipt, !stated.isEmpty else { return false }
        let unread = try scope.file.pool.read { db in
            let peers = try StoreKnowledge.peers(db)
            return try knowledge.heads.keys.compactMap { author -> (author: PeerIdentifier, log: LogFileName)? in
                let passed = stated.map { $0.passed(author) }.min()!
                guard let number = peers[author],
                    let row = try Row.fetchOne(
                        db.cachedStatement(
                            sql: "SELECT sequence, hash FROM ubiquity_log WHERE peer = ? AND sequence > ? ORDER BY sequence LIMIT 1"),
                        arguments: [number.rawValue, passed]),
                    let hash = ContentHash(bytes: row["hash"] as Data)
                else { return nil }
                return (author, LogFileName(sequence: row["sequence"], hash: hash))
            }
        }
        // A log that cannot be examined here may be nowhere.
        let missing = unread.filter { author, log in
            (try? scope.files.kind(of: scope.layout.logs(of: author, epoch: scope.epoch).appending(log.description))) != .file
        }
        guard !missing.isEmpty else { return false }
        let usable = try scope.baselines.usable(inventory, &shelf)
        return missing.contains { author, log in !usable.contains { $0.header.knowledge.covers(log.sequence, of: author) } }
    }
}
