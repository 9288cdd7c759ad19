internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Proves who wrote the signed logs of a plan, and tells which logs wait for statements.
struct LogProof {
    let authority: Authority
    /// The logs that the bases of the domains hold.
    var held: [Domain: Knowledge] = [:]

    /// Returns the verdict on a log.
    func verdict(on log: ReadyLog, _ shapes: [TableShape]) -> Verdict {
        guard let rights = log.log.header.rights else { return .rejected(.container) }
        return authority.verdict(on: rights, by: log.peer, isCurated: Self.isCurated(log, shapes))
    }

    /// Returns the gate for logs whose authors have been proved.
    ///
    /// - Parameter own: this store's peer, whose account's records move the store's clock.
    /// - Returns: the gate.
    func gate(own: PeerIdentifier) -> ImportGate {
        let ownAccount = AccountIdentifier(own.account).map(WriteRights.value)
        return ImportGate(
            decision: { [authority, held] author in
                guard let rights = author.rights else { return { _, _ in .otherWriter } }
                // A device that has taken a new name publishes again what it had saved under the old one.
                guard author.writer.account == author.peer.account else { return { _, _ in .otherWriter } }
                let slice = Decision(authority.verdict(on: rights, by: author.peer, isCurated: false))
                let roles = Decision(authority.verdict(on: rights, by: author.peer, isCurated: true))
                func isHeld(_ domain: Domain) -> Bool {
                    author.log.map { held[domain]?.covers($0.sequence, of: author.peer) ?? false } ?? false
                }
                let areRolesHeld = isHeld(.roles)
                let isSliceHeld = AccountIdentifier(author.peer.account).map { isHeld(.slice($0)) } ?? false
                return { shape, key in
                    guard let reason = (shape.isCurated ? roles : slice).refusal(shape, key) else { return nil }
                    return (shape.isCurated ? areRolesHeld : isSliceHeld) ? .held : reason
                }
            },
            movesClock: { shape, key in shape.ownerPlace.map { key.indices.contains($0) && key[$0] == ownAccount } ?? false })
    }

    /// A verdict, prepared for the changes of one log.
    private enum Decision: Sendable {
        case counts(Grant, owner: RecordValue)
        case refuses(RejectedChange.Reason)

        init(_ verdict: Verdict) {
            switch verdict {
            case .counts(let grant): self = .counts(grant, owner: WriteRights.value(of: grant.author.account))
            case .rejected(let rejection): self = .refuses(.init(rejection.description))
            case .waits(let needs): self = .refuses(.init("it waits for \(needs.map(\.description).sorted().joined(separator: ", "))"))
            }
        }

        func refusal(_ shape: TableShape, _ key: [RecordValue]) -> RejectedChange.Reason? {
            switch self {
            case .refuses(let reason): return reason
            case .counts(let grant, let owner):
                let isOwners = shape.ownerPlace.map { key.indices.contains($0) && key[$0] == owner } ?? false
                return grant.refusal(of: shape.name, owner: isOwners ? grant.author.account : nil).map { .init($0.description) }
            }
        }
    }

    /// Returns whether a log changes a curated table.
    private static func isCurated(_ log: ReadyLog, _ shapes: [TableShape]) -> Bool {
        let curated = log.contents.tables.map { table in
            guard case .mapped(let mapping) = LogTableMapping.find(table, isOlder: log.isOlder, among: shapes) else { return false }
            return mapping.isCurated
        }
        return log.contents.groups.contains { group in group.rows.contains { curated[$0.table] } }
    }

    /// Returns the logs of a plan that nobody has proved to be their author's.
    ///
    /// Each log names the one before it by its hash, so the signature of the last log of a chain proves the logs before
    /// it that claim the same key. Only if that signature is not valid are the others verified.
    ///
    /// - Parameter logs: logs in the order of joining.
    /// - Returns: the logs whose signature is not valid and that no later log proves.
    func unproved(_ logs: [ReadyLog]) -> [ReadyLog] {
        var unproved: [ReadyLog] = []
        // The hash that a proved log names, and the key that proved it, by peer.
        var proved: [PeerIdentifier: [ContentHash: PublicKey]] = [:]
        for log in logs.reversed() {
            guard let rights = log.log.header.rights, let author = authority.author(log.peer, certificate: rights.certificate) else {
                unproved.append(log)
                continue
            }
            guard proved[log.peer]?[log.name.hash] == author.key || log.log.isSigned(by: author.key, log.name.hash) else {
                unproved.append(log)
                continue
            }
            if let predecessor = log.log.header.predecessor { proved[log.peer, default: [:]][predecessor] = author.key }
        }
        return unproved
    }

    static let fault = LogFault.damaged("its signature is not valid: it is altered, or another key than its author's made it")
}
