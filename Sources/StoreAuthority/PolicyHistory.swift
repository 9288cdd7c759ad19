internal import StoreFormat
internal import UbiquityContainers

/// The policies of a container, and which one is in effect.
///
/// The policy in effect is the greatest by term, version and hash among those whose base is here. Two policies of one
/// term of which neither follows the other are a fork: while it lasts, the policy in effect stays what it was.
struct PolicyHistory: Sendable {
    /// The order of policies.
    struct Rank: Comparable {
        let term, version: Int64
        let id: StatementIdentifier

        static func < (left: Self, right: Self) -> Bool { (left.term, left.version, left.id) < (right.term, right.version, right.id) }
    }

    let container: ScopeIdentifier
    private(set) var policies: [StatementIdentifier: Signed<Policy>] = [:]
    private var judged: [StatementIdentifier: Judgement] = [:]
    private var waiting = WaitingStatements()
    /// The nearest policy with a base, from an accepted policy back; absent if none has a base.
    private var generations: [StatementIdentifier: StatementIdentifier] = [:]
    private var accepted: Set<StatementIdentifier> = []
    /// The bases of accepted policies.
    private(set) var bases: Set<BaselineID> = []
    /// The accounts that accepted policies pin, also those that are void.
    private(set) var everPinned: Set<AccountIdentifier> = []
    private let rules: Authority.Rules

    /// The policy in effect.
    private(set) var inEffect: StatementIdentifier?
    /// The policy in effect, those before it, and those that they merge.
    private(set) var ancestry: Set<StatementIdentifier> = []
    /// The cuts of the policy in effect, by account.
    private(set) var cuts: [AccountIdentifier: [Policy.Cut]] = [:]
    /// The accounts that the policies of the ancestry pin.
    private(set) var pinned: Set<AccountIdentifier> = []
    /// The last policies of each branch of a fork that is not merged yet.
    private(set) var tips: [StatementIdentifier] = []

    init(container: ScopeIdentifier, _ rules: Authority.Rules) { (self.container, self.rules) = (container, rules) }

    /// The policy in effect.
    var current: Signed<Policy>? { inEffect.flatMap { policies[$0] } }

    /// The baseline from which the roles' domain is built.
    var base: BaselineID? { inEffect.flatMap { generations[$0] }.flatMap { policies[$0]?.value.base } }

    func judgement(of id: StatementIdentifier) -> Judgement { judged[id] ?? .waits(for: [id]) }
    func accepted(_ id: StatementIdentifier) -> Signed<Policy>? { accepted.contains(id) ? policies[id] : nil }
    func generation(of id: StatementIdentifier) -> StatementIdentifier? { generations[id] }
    func rank(_ id: StatementIdentifier) -> Rank { Rank(term: term(of: id), version: policies[id]!.value.version, id: id) }

    /// The accepted policies in the order in which they hold.
    var inOrder: [Signed<Policy>] { accepted.sorted { rank($0) < rank($1) }.compactMap { policies[$0] } }

    private func term(of id: StatementIdentifier) -> Int64 { rules.termsRank ? policies[id]!.value.term : 0 }

    /// Whether a policy may still be in effect, or be followed by one that is.
    func isAhead(_ id: StatementIdentifier) -> Bool { inEffect.map { rank($0) < rank(id) } ?? true }

    // MARK: - What arrives

    /// Adds policies, considers again those that waited for what is known now, and returns what is newly known.
    mutating func insert(_ arrivals: [Signed<Policy>], after known: Set<StatementIdentifier>, _ accounts: AccountRegistry) -> Set<StatementIdentifier>
    {
        var todo = arrivals.filter { policies.updateValue($0, forKey: $0.id) == nil }.map(\.id)
        for id in known { todo += waiting.remove(waitingFor: id) }
        var news: Set<StatementIdentifier> = []
        while let id = todo.popLast() {
            let judgement = judge(policies[id]!, accounts)
            judged[id] = judgement
            if case .waits(let needs) = judgement {
                waiting.insert(id, waitingFor: needs)
                continue
            }
            news.insert(id)
            todo += waiting.remove(waitingFor: id)
            guard judgement == .accepted, let value = policies[id]?.value else { continue }
            accepted.insert(id)
            if let base = value.base { bases.insert(base) }
            everPinned.formUnion(value.pins.keys)
            generations[id] = value.base == nil ? value.predecessor.flatMap { generations[$0] } : id
        }
        return news
    }

    private func judge(_ signed: Signed<Policy>, _ accounts: AccountRegistry) -> Judgement {
        let value = signed.value
        var needs: Set<StatementIdentifier> = []
        for id in value.merges.union(value.predecessor.map { [$0] } ?? []).sorted() {
            switch judgement(of: id) {
            case .waits: needs.insert(id)
            case .refused: return .refused(.names(id))
            case .accepted: break
            }
        }
        // A pin that its account did not sign gives nothing; whether it did must be known.
        for id in value.pins.values { if case .waits = accounts.judgement(of: id) { needs.insert(id) } }
        guard needs.isEmpty else { return .waits(for: needs) }
        guard let predecessor = value.predecessor else {
            guard signed.id.hash == container.hash, value.version == 1, value.term == 0 else { return .refused(.succession) }
            return value.steward == signed.signer ? .accepted : judge(signed, asOwner: value.owner, accounts)
        }
        let before = policies[predecessor]!.value
        let merged = value.merges.map { policies[$0]!.value }
        guard value.version == before.version + 1, merged.allSatisfy({ $0.version < value.version && $0.term == before.term }) else {
            return .refused(.succession)
        }
        for (table, access) in before.access where !access.isKind(of: value.access[table]) { return .refused(.altersAccess(table)) }
        let onlyAdds = value.merges.isEmpty && value.cuts == before.cuts && value.term == before.term
        guard onlyAdds || value.base != nil else { return .refused(.lacksBase) }
        if value.term == before.term {
            guard signed.signer == before.steward else { return .refused(.signer) }
            let keeps = (value.steward, value.stewardPeer, value.owner) == (before.steward, before.stewardPeer, before.owner)
            return keeps && value.heirs == before.heirs ? .accepted : .refused(.altersSteward)
        }
        guard value.term == before.term + 1 else { return .refused(.succession) }
        return before.heirs.contains(signed.signer) ? .accepted : judge(signed, asOwner: before.owner, accounts)
    }

    /// Judges a policy that only the owner's identity key may have signed.
    private func judge(_ signed: Signed<Policy>, asOwner owner: AccountIdentifier, _ accounts: AccountRegistry) -> Judgement {
        let first = StatementIdentifier(owner.hash)
        if case .waits = accounts.judgement(of: first) { return .waits(for: [first]) }
        return accounts.accepted(first)?.value.identity == signed.signer ? .accepted : .refused(.signer)
    }

    // MARK: - What is in effect

    /// Returns a policy, those before it, and those that they merge.
    func ancestry(of id: StatementIdentifier) -> Set<StatementIdentifier> {
        var (found, todo): (Set<StatementIdentifier>, [StatementIdentifier]) = ([], [id])
        while let id = todo.popLast() {
            guard found.insert(id).inserted, let value = policies[id]?.value else { continue }
            todo += value.merges
            if let predecessor = value.predecessor { todo.append(predecessor) }
        }
        return found
    }

    /// Returns the policies that contradict one: of its term and not later, and not before it.
    private func rivals(of id: StatementIdentifier) -> [StatementIdentifier] {
        guard rules.forksFreeze else { return [] }
        let (own, before) = (rank(id), id == inEffect ? ancestry : ancestry(of: id))
        return accepted.filter { term(of: $0) == own.term && policies[$0]!.value.version <= own.version && !before.contains($0) }
    }

    /// Returns the base of a policy, if it is not here, and is not the one from which the roles' domain was built already.
    func awaitedBase(of id: StatementIdentifier, _ here: Set<BaselineID>) -> BaselineID? {
        guard let generation = generations[id], let base = policies[generation]?.value.base, !here.contains(base) else { return nil }
        return inEffect.map { generations[$0] == generation } ?? false ? nil : base
    }

    /// Returns the bases of the policies that are not in effect for lack of them.
    func awaited(_ here: Set<BaselineID>) -> Set<BaselineID> {
        Set(accepted.lazy.filter(isAhead).compactMap { awaitedBase(of: $0, here) })
    }

    /// Puts the greatest policy into effect that nothing contradicts, and returns whether that is news.
    mutating func settle(_ here: Set<BaselineID>) -> Bool {
        let ready = accepted.filter { awaitedBase(of: $0, here) == nil }.sorted { rank($1) < rank($0) }
        // A fork is one of the greatest policy, also if a policy before the fork is in effect.
        tips = ready.first.map { rivals(of: $0).isEmpty ? [] : branches(ofTerm: term(of: $0)) } ?? []
        guard let best = ready.lazy.prefix(while: isAhead).first(where: { rivals(of: $0).isEmpty }) else { return false }
        put(best)
        return true
    }

    /// Returns the last policies of a term's branches.
    private func branches(ofTerm term: Int64) -> [StatementIdentifier] {
        let members = accepted.filter { self.term(of: $0) == term }
        let followed = members.reduce(into: Set<StatementIdentifier>()) {
            $0.formUnion(policies[$1]!.value.merges)
            if let predecessor = policies[$1]!.value.predecessor { $0.insert(predecessor) }
        }
        return members.subtracting(followed).sorted { rank($0) < rank($1) }
    }

    /// Puts an accepted policy into effect as if those that are not before it had not been read.
    mutating func rewind(to id: StatementIdentifier) {
        put(id)
        tips = []
    }

    /// Puts a policy into effect.
    mutating func put(_ id: StatementIdentifier) {
        if let inEffect, policies[id]?.value.predecessor == inEffect, policies[id]?.value.merges.isEmpty == true {
            ancestry.insert(id)
            pinned.formUnion(policies[id]!.value.pins.keys)
        } else {
            ancestry = ancestry(of: id)
            pinned = ancestry.reduce(into: []) { $0.formUnion(policies[$1]!.value.pins.keys) }
        }
        inEffect = id
        cuts = Dictionary(grouping: policies[id]!.value.cuts, by: \.account)
    }
}

extension TableAccess {
    /// Whether another access puts a table's records into the same domain with the same key.
    func isKind(of other: TableAccess?) -> Bool {
        switch (self, other) {
        case (.role, .role): true
        case (.creator(let column), .creator(let other)): column == other
        default: false
        }
    }
}
