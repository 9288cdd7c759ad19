internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

// What this store holds, others lack, and no file brings them: a baseline of this store's does.
extension StoreEngine {
    /// Whether a peer waits for a log that is joined here, and can get it nowhere else.
    func isAwaited(_ inventory: ContentInventory, _ receipts: [PeerIdentifier: PeerReceipt]) throws -> Bool {
        guard baselines != nil, let knowledge = lastReceipt else { return false }
        let usable = try containedBaselines(inventory)
        return try receipts.values.compactMap(\.receipt).contains { receipt in
            try receipt.needs(besides: knowledge).contains { need in
                let isHere: Bool
                if let position = need.position {
                    isHere = try file.pool.read { db in try LogRegister(own: peer, db).contains(position, of: need.author) }
                } else {
                    isHere = knowledge.covers(need.sequence, of: need.author)
                }
                guard isHere, need.isDamaged || !isInFile(need) else { return false }
                return !usable.contains { id, header in
                    guard let position = need.position else { return header.knowledge.covers(need.sequence, of: need.author) }
                    return (try? reader.lacking([(need.author, position)], id, header))?.isEmpty == true
                }
            }
        }
    }

    /// Whether what is needed lies here, and is on its way.
    private func isInFile(_ need: Receipt.Need) -> Bool {
        if let value = need.value {
            return (try? files.kind(of: layout.values(of: need.author, epoch: epoch).appending(value.description))) == .file
        }
        return ((try? files.namesIfThere(in: layout.logs(of: need.author, epoch: epoch))) ?? []).compactMap { LogFileName($0) }.contains {
            $0.sequence == need.sequence && (need.position.map(\.hash) ?? $0.hash) == $0.hash
        }
    }

    /// How long a log may be in no file: its author has removed it, and the baseline for which it did may still be on its way.
    private static let passage = Duration.seconds(60)

    /// Whether a log is joined here that some peer has not read, and that is in no file any more.
    ///
    /// Nothing tells that peer of it. Its author removed it for a baseline that held it, and has gone since, perhaps, before that arrived anywhere.
    ///
    /// - Parameters:
    ///   - inventory: what is there.
    ///   - others: the receipts of the peers that are not retired.
    ///   - isEager: whether nothing is waited for.
    /// - Returns: whether it has been so for long enough.
    /// - Throws: `Errno`, or GRDB's errors.
    func isStranded(_ inventory: ContentInventory, _ others: [PeerIdentifier: PeerReceipt], isEager: Bool) throws -> Bool {
        guard baselines != nil, try hasStranded(inventory, others.values.compactMap { $0.receipt?.stated }) else {
            strandedUntil = nil
            return false
        }
        let limit = strandedUntil ?? .now + Self.passage
        guard isEager || limit <= .now else {
            strandedUntil = limit
            maintenance = min(maintenance ?? limit, limit)
            return false
        }
        strandedUntil = nil
        return true
    }

    /// Logs are removed from the oldest on, and who has a later one asks for those before it: so only the first of each author that some peer lacks is looked at.
    private func hasStranded(_ inventory: ContentInventory, _ stated: [Knowledge]) throws -> Bool {
        guard let knowledge = lastReceipt, !stated.isEmpty else { return false }
        let unread = try file.pool.read { db in
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
        // One that cannot be looked at here may be nowhere.
        let missing = unread.filter { author, log in
            (try? files.kind(of: layout.logs(of: author, epoch: epoch).appending(log.description))) != .file
        }
        guard !missing.isEmpty else { return false }
        let usable = try containedBaselines(inventory)
        return missing.contains { author, log in !usable.contains { $0.header.knowledge.covers(log.sequence, of: author) } }
    }
}
