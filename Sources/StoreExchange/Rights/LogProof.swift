internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import Synchronization
internal import UbiquityContainers

/// Proves who wrote the signed logs of a plan, and tells which logs wait for statements.
struct LogProof {
    let authority: Authority
    /// The logs that the bases of the domains hold.
    var held: [Domain: Knowledge] = [:]

    private let rulings = Rulings()

    init(authority: Authority, held: [Domain: Knowledge] = [:]) { (self.authority, self.held) = (authority, held) }

    /// Returns the verdict on a log.
    func verdict(on log: ReadyLog, _ shapes: [TableShape]) -> Verdict {
        guard let rights = log.log.header.rights else { return .rejected(.container) }
        let ruling = rulings.ruling(authority, on: rights, by: log.peer)
        // Whether a log changes a curated table matters only in a fork, or before the policy that it names is in effect.
        guard ruling.differs else { return ruling.verdict(log.name.sequence, isCurated: false) }
        return ruling.verdict(log.name.sequence, isCurated: Self.isCurated(log, shapes))
    }

    /// Returns the gate for logs whose authors have been proved.
    ///
    /// - Parameter own: this store's peer, whose account's records move the store's clock.
    /// - Returns: the gate.
    func gate(own: PeerIdentifier) -> ImportGate {
        let ownAccount = AccountIdentifier(own.account).map(WriteRights.value)
        return ImportGate(
            decision: { [authority, held, rulings] author in
                guard let rights = author.rights else { return { _, _ in .otherWriter } }
                // A device that has taken a new name publishes again what it had saved under the old one.
                guard author.writer.account == author.peer.account else { return { _, _ in .otherWriter } }
                let ruling = rulings.ruling(authority, on: rights, by: author.peer).of(author.log?.sequence ?? 0)
                func isHeld(_ domain: Domain) -> Bool {
                    author.log.map { held[domain]?.covers($0.sequence, of: author.peer) ?? false } ?? false
                }
                let areRolesHeld = isHeld(.roles)
                let isSliceHeld = AccountIdentifier(author.peer.account).map { isHeld(.slice($0)) } ?? false
                return { shape, key in
                    guard let reason = ruling.refusal(shape, key) else { return nil }
                    return (shape.isCurated ? areRolesHeld : isSliceHeld) ? .held : reason
                }
            },
            movesClock: { shape, key in shape.ownerPlace.map { key.indices.contains($0) && key[$0] == ownAccount } ?? false })
    }

    /// The verdicts on the logs of a peer with equal rights that no base holds, prepared for their changes.
    struct Ruling: Sendable {
        private let verdicts: (slice: Verdict, roles: Verdict)
        private var slice, roles: Decision

        init(_ authority: Authority, on rights: LogRights, by peer: PeerIdentifier) {
            verdicts = (
                authority.verdict(on: rights, by: peer, sequence: 0, isCurated: false),
                authority.verdict(on: rights, by: peer, sequence: 0, isCurated: true)
            )
            (slice, roles) = (Decision(verdicts.slice), Decision(verdicts.roles))
        }

        /// Whether the verdict depends on whether a log changes a curated table.
        var differs: Bool { verdicts.slice != verdicts.roles }

        /// Returns the verdict on the log with a number.
        func verdict(_ sequence: Int64, isCurated: Bool) -> Verdict { (isCurated ? verdicts.roles : verdicts.slice).limited(sequence) }

        /// Returns the ruling on the log with a number.
        func of(_ sequence: Int64) -> Ruling {
            guard case .rejected(.limit) = verdict(sequence, isCurated: false) else { return self }
            var limited = self
            limited.slice = Decision(.rejected(.limit))
            limited.roles = limited.slice
            return limited
        }

        /// Returns why a change has no effect now; nil if it has one.
        func refusal(_ shape: TableShape, _ key: [RecordValue]) -> RejectedChange.Reason? {
            let decision = shape.isCurated ? roles : slice
            if case .waits(let reason) = decision { return reason }
            return decision.rejection(shape, key)
        }

        /// Returns whether a change never has an effect.
        func isRejected(_ shape: TableShape, _ key: [RecordValue]) -> Bool { (shape.isCurated ? roles : slice).rejection(shape, key) != nil }
    }

    /// The rulings that have been made; most logs of a peer claim equal rights.
    private final class Rulings: Sendable {
        private struct Claim: Hashable {
            var peer: PeerIdentifier
            var rights: LogRights
        }

        private let made = Mutex<[Claim: Ruling]>([:])

        func ruling(_ authority: Authority, on rights: LogRights, by peer: PeerIdentifier) -> Ruling {
            made.withLock { made in
                let claim = Claim(peer: peer, rights: rights)
                if let ruling = made[claim] { return ruling }
                let ruling = Ruling(authority, on: rights, by: peer)
                made[claim] = ruling
                return ruling
            }
        }
    }

    /// A verdict, prepared for the changes of a log.
    private enum Decision: Sendable {
        case counts(Grant, owner: RecordValue)
        case rejects(RejectedChange.Reason)
        case waits(RejectedChange.Reason)

        init(_ verdict: Verdict) {
            switch verdict {
            case .counts(let grant): self = .counts(grant, owner: WriteRights.value(of: grant.author.account))
            case .rejected(let rejection): self = .rejects(.init(rejection.description))
            case .waits(let needs): self = .waits(.init("it waits for \(needs.map(\.description).sorted().joined(separator: ", "))"))
            }
        }

        func rejection(_ shape: TableShape, _ key: [RecordValue]) -> RejectedChange.Reason? {
            switch self {
            case .waits: return nil
            case .rejects(let reason): return reason
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
        let verified = verified(lastOf: logs)
        var unproved: [ReadyLog] = []
        // The hash that a proved log names, and the key that proved it, by peer.
        var proved: [PeerIdentifier: [ContentHash: PublicKey]] = [:]
        for log in logs.reversed() {
            guard let rights = log.log.header.rights, let author = authority.author(log.peer, certificate: rights.certificate) else {
                unproved.append(log)
                continue
            }
            guard
                proved[log.peer]?[log.name.hash] == author.key
                    || verified[log.name.hash] ?? log.log.isSigned(by: author.key, log.name.hash)
            else {
                unproved.append(log)
                continue
            }
            if let predecessor = log.log.header.predecessor { proved[log.peer, default: [:]][predecessor] = author.key }
        }
        return unproved
    }

    /// Verifies the last log of each peer, and returns whether its signature is valid, by its hash.
    private func verified(lastOf logs: [ReadyLog]) -> [ContentHash: Bool] {
        var last: [PeerIdentifier: ReadyLog] = [:]
        for log in logs { last[log.peer] = log }
        let signed = last.values.compactMap { log -> (log: LogFile, hash: ContentHash, key: PublicKey)? in
            guard let rights = log.log.header.rights, let author = authority.author(log.peer, certificate: rights.certificate) else { return nil }
            return (log.log, log.name.hash, author.key)
        }
        let valid = signed.mapOnAllProcessors { $0.log.isSigned(by: $0.key, $0.hash) }
        return Dictionary(zip(signed.map(\.hash), valid)) { $0 && $1 }
    }

    static let fault = LogFault.damaged("its signature is not valid: it is altered, or another key than its author's made it")
}
