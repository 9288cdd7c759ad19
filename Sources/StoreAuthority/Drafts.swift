package import StoreFormat
package import UbiquityContainers

/// A policy that the steward has to sign.
package struct PolicyDraft: Hashable, Sendable {
    /// The policy, without its base.
    package var policy: Policy
    /// The accounts that lose a role, or whose devices change.
    package var removed: Set<AccountIdentifier>
    /// The accounts that lose a role.
    package var losers: Set<AccountIdentifier>
    /// Whether the policy needs a base: a baseline of what remains of the roles' domain, which the caller makes and names.
    package var needsBase: Bool
    /// The policies that the policy follows: one, or the last ones of a fork's branches.
    package var follows: [Signed<Policy>] = []
    /// The baselines that count on the branches of a fork which the policy follows.
    ///
    /// A fork keeps readers from joining them. The base must hold what they hold: their logs may be gone, and an account
    /// that the policy removes would lose what the base lacks.
    package var baselines: Set<BaselineID> = []
    /// The bases of other policies that are not here.
    ///
    /// The steward waits for them: without them it would lose what only they hold, or sign a second policy of one number.
    package var awaits: Set<BaselineID> = []
}

extension Authority {
    /// Returns the policy that the steward has to sign next, or nil if nothing is to be decided.
    ///
    /// It merges a fork: rights of which all branches agree, cuts of all of them. It pins the statement in effect of each
    /// account that holds a role or held one, and cuts the accounts that lose something.
    ///
    /// The steward must have read the whole container, with its own baselines, before it signs: after a restore from a
    /// backup it would otherwise leave out of the base what only its baselines hold. In a fork, it takes over those that
    /// the draft names.
    ///
    /// - Parameter change: alters roles, access, admission or limits.
    /// - Returns: the draft.
    package func nextPolicy(_ change: (inout Policy) -> Void = { _ in }) -> PolicyDraft? {
        let tips = isForked ? branches : policy.map { [$0] } ?? []
        guard var draft = tips.isEmpty ? nil : draft(after: tips, change) else { return nil }
        draft.awaits.formUnion(awaitedRolesBases)
        return draft
    }

    /// Whether the steward has to sign a policy although nobody has decided anything: the pin of an account that holds a role
    /// is not its statement in effect.
    ///
    /// A fork is merged only on request. The pins of accounts that hold no role follow with the next decision: otherwise a
    /// removed account could make the steward sign, and every reader build the domain again, as often as it likes.
    package var owesPolicy: Bool {
        guard !isForked, let policy = policy?.value else { return false }
        let isOutdated = policy.roles.values.joined().contains { account in
            accounts.inEffect[account].map { $0 != policy.pins[account] } ?? false
        }
        return isOutdated && nextPolicy().map(\.awaits.isEmpty) ?? false
    }

    /// Returns the policy that begins a new term, for the owner's identity key or an heir's.
    ///
    /// - Parameters:
    ///   - steward: the key and the name of the new steward's device.
    ///   - predecessors: the last policies that the owner trusts: one, or the branches of a fork. Policies of the earlier
    ///     term that are not before them are void.
    ///   - change: alters owner, heirs, roles, access, admission or limits.
    /// - Returns: the draft, or nil if a predecessor is not an accepted policy.
    package func nextTerm(
        steward: (key: PublicKey, peer: PeerIdentifier), after predecessors: [StatementIdentifier], _ change: (inout Policy) -> Void = { _ in }
    ) -> PolicyDraft? {
        let tips = predecessors.compactMap(policies.accepted).sorted { policies.rank($0.id) < policies.rank($1.id) }
        guard !tips.isEmpty, tips.count == predecessors.count else { return nil }
        return draft(after: tips) { policy in
            policy.term += 1
            (policy.steward, policy.stewardPeer) = steward
            change(&policy)
        }
    }

    /// The bases without which policies are not in effect.
    package var awaitedRolesBases: Set<BaselineID> { policies.awaited(baselines) }

    /// Returns the base of the roles' domain under a policy.
    package func rolesBase(under policy: Signed<Policy>) -> BaselineID? {
        policies.generation(of: policy.id).flatMap { policies.accepted($0)?.value.base }
    }

    /// Returns whether the last policy of a branch has no place for a log, unless a base holds the log: it cuts the log's author.
    package func isCut(_ rights: LogRights, by peer: PeerIdentifier, under tip: Signed<Policy>) -> Bool {
        guard let named = policies.accepted(rights.policy), let author = author(peer, certificate: rights.certificate) else { return false }
        return tip.value.cuts.contains { $0.concerns(author, naming: named.value) }
    }

    /// Returns the policies up to some that follow different branches.
    package func ancestry(of tips: [Signed<Policy>]) -> Set<StatementIdentifier> {
        tips.reduce(into: []) { $0.formUnion(policies.ancestry(of: $1.id)) }
    }

    private func draft(after tips: [Signed<Policy>], _ change: (inout Policy) -> Void) -> PolicyDraft? {
        guard var draft = PolicyDraft(after: tips, accounts, change) else { return nil }
        draft.follows = tips
        draft.awaits = Set(tips.compactMap { policies.awaitedBase(of: $0.id, baselines) })
        if isForked { draft.baselines = tips.reduce(into: []) { $0.formUnion(rolesBaselines(on: $1.id)) } }
        return draft
    }

    /// Returns the statement that an account has to sign to have these devices and no others, without its base.
    ///
    /// The base is a baseline of what remains of the account's records, which the caller makes and names. Devices that
    /// the signer has not heard of are out: they enrol again, under a new name.
    ///
    /// - Parameters:
    ///   - account: the account.
    ///   - devices: the devices that remain, and new ones.
    /// - Returns: the statement, or nil if the account is not known or a statement of it awaits its base.
    package func nextStatement(of account: AccountIdentifier, devices: [PeerIdentifier: PublicKey]) -> AccountStatement? {
        guard let current = statement(of: account), accounts.awaiting(account) == nil else { return nil }
        return AccountStatement(
            account: account, version: current.value.version + 1, predecessor: current.id, identity: current.value.identity, devices: devices)
    }
}

extension PolicyDraft {
    /// Returns nil if there is nothing to decide.
    fileprivate init?(after tips: [Signed<Policy>], _ accounts: AccountRegistry, _ change: (inout Policy) -> Void) {
        let last = tips.last!
        var policy = last.value
        (policy.version, policy.predecessor) = (last.value.version + 1, last.id)
        (policy.merges, policy.base) = (Set(tips.dropLast().map(\.id)), nil)
        for tip in tips.dropLast().map(\.value) { policy.merge(tip) }
        change(&policy)
        let holders = policy.roles.values.reduce(into: Set<AccountIdentifier>()) { $0.formUnion($1) }
        for account in holders.union(policy.pins.keys) { policy.pins[account] = accounts.inEffect[account] ?? policy.pins[account] }
        let losers = Set(tips.flatMap { tip in tip.value.roles.flatMap { role, accounts in accounts.subtracting(policy.roles[role] ?? []) } })
        let renamed = tips.flatMap { tip in tip.value.pins.filter { policy.pins[$0.key] != $0.value }.keys }
        let removed = losers.union(renamed)
        for account in removed {
            // A log that names an earlier policy claims all roles that the account had there. So one that loses any of them
            // loses all such logs that the base does not hold.
            let isSpared = holders.contains(account) && !losers.contains(account)
            let devices = isSpared ? policy.pins[account].flatMap(accounts.accepted)?.value.devices : nil
            policy.cuts.insert(.init(account: account, before: policy.version, sparing: Set((devices ?? [:]).values)))
        }
        policy.dropImpliedCuts()
        (self.policy, self.removed, self.losers) = (policy, removed, losers)
        needsBase = tips.count > 1 || policy.term > last.value.term || !removed.isEmpty
        guard needsBase || !policy.decidesAs(last.value) else { return nil }
    }
}

extension Policy {
    /// Takes in another branch of a fork: what both allow, and what either cuts.
    fileprivate mutating func merge(_ other: Policy) {
        roles = roles.merging(other.roles) { $0.intersection($1) }.filter { other.roles[$0.key] != nil && roles[$0.key] != nil }
        access.merge(other.access) { mine, _ in mine }
        pins.merge(other.pins) { mine, _ in mine }
        cuts.formUnion(other.cuts)
        epoch = max(epoch, other.epoch)
        switch (admission, other.admission) {
        case (.registrars(let mine), .registrars(let others)): admission = .registrars(mine.intersection(others))
        case (.open, .registrars): admission = other.admission
        case (_, .open): break
        }
        limits.logs = min(limits.logs, other.limits.logs)
        limits.records = min(limits.records, other.limits.records)
    }

    /// Removes the cuts that say nothing beyond another cut.
    fileprivate mutating func dropImpliedCuts() {
        cuts = cuts.filter { cut in
            !cuts.contains { $0 != cut && $0.account == cut.account && $0.before >= cut.before && $0.sparing.isSubset(of: cut.sparing) }
        }
    }

    /// Whether a policy decides what another one does.
    fileprivate func decidesAs(_ other: Policy) -> Bool {
        var copy = self
        (copy.version, copy.predecessor, copy.merges, copy.base) = (other.version, other.predecessor, other.merges, other.base)
        return copy == other
    }
}
