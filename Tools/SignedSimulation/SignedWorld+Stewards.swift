import StoreAuthority
import StoreFormat
import UbiquityContainers

/// What the owner's steward does, and the owner when the steward's key is stolen.
extension SignedWorld {
    /// The steward's program signs what is due: pins of new statements, the merge of a fork, or a change.
    func decide(discarding count: Int = 0, _ change: (inout Policy) -> Void = { _ in }) {
        guard !isStolen, let reader = readers[steward.number] else { return }
        reader.settle()
        guard let draft = reader.authority.nextPolicy(change), draft.awaits.isEmpty else { return }
        publish(draft, knowing: reader, by: steward, key: steward.key, discarding: count)
    }

    func changeRoles() {
        let (role, account) = (pick(["editor", "moderator"]), account(number(Self.holders)))
        decide(discarding: pick([0, 0, 1, 2])) { toggle(role, account, &$0) }
    }

    private func toggle(_ role: String, _ account: AccountIdentifier, _ policy: inout Policy) {
        if policy.roles[role]?.remove(account) == nil { policy.roles[role]?.insert(account) }
    }

    /// Makes the base of a draft and signs it.
    private func publish(
        _ draft: PolicyDraft, knowing reader: SimulatedReader, by device: SimulatedDevice, key: PublicKey, discarding count: Int = 0
    ) {
        var (policy, start) = (draft.policy, files.count)
        if draft.needsBase {
            var (held, effects) = (reader.roles.logs, reader.effects(in: .roles))
            for branch in draft.baselines.compactMap({ baselines[$0] }) where requires(.branchBaselines) {
                held.formUnion(branch.logs)
                effects.merge(branch.effects) { $0 | $1 }
            }
            let spared = Set(policy.cuts.filter { $0.before == policy.version }.flatMap(\.sparing))
            let removed = Set(draft.removed.compactMap(number))
            for _ in 0..<count {
                for last in lastLogs(of: held, without: spared) where removed.contains(logs[last]!.device.account) && !heldByRoles.contains(last) {
                    held.remove(last)
                    effects[last] = nil
                }
            }
            if let theft, policy.term > 0, happens(0.5) {
                for number in held where logs[number]!.signer == theft.key && number >= theft.start && !heldByRoles.contains(number) {
                    held.remove(number)
                    effects[number] = nil
                }
            }
            // What one branch of a fork has taken back stays taken back.
            for tip in policy.merges.union([policy.predecessor!]).compactMap({ policies[$0]?.value }) {
                let base = base(before: tip)
                effects = effects.filter { number, _ in !isCut(logs[number]!, by: tip) || base?.effects[number] != nil }
            }
            let made = baseline(by: device, .roles, held, registers(of: effects), effects: effects)
            policy.base = made.id
            heldByRoles.formUnion(held)
        }
        let signed = sign(policy, by: key)
        sound.append(signed.id)
        meant.append(signed.id)
        statistics.policies += 1
        statistics.merges += policy.merges.count
        start = min(start, files.count)
        for file in files[start...] { reader.deliver(file) }
        reader.settle()
        trace?("\(device.name) signs policy \(policy.version) of term \(policy.term)\(policy.base == nil ? "" : ", with a base")")
    }

    private func isCut(_ log: SimulatedLog, by policy: Policy) -> Bool {
        let version = policies[log.rights.policy]?.value.version ?? 0
        return policy.cuts.contains { cut in
            cut.account == account(log.device.account) && version < cut.before && !cut.sparing.contains(log.device.key)
        }
    }

    private func base(before policy: Policy) -> SimulatedBaseline? {
        var policy = policy
        while policy.base == nil, let before = policy.predecessor.flatMap({ policies[$0]?.value }) { policy = before }
        return policy.base.flatMap { baselines[$0] }
    }

    /// The steward's device is restored from a backup, reads the whole container but its last policy, and signs another
    /// of that number.
    func fork() {
        guard !isStolen, let reader = readers[steward.number], let last = reader.authority.policy, let before = last.value.predecessor,
            policies[before]?.value.term == last.value.term, !reader.authority.isForked
        else { return }
        let restored = SimulatedReader(self, device: nil)
        for file in files {
            if case .statement(let statement) = file.kind, statement.id == last.id { continue }
            restored.deliver(file)
        }
        restored.settle()
        guard restored.authority.policy?.id == before, !restored.authority.isForked else { return }
        let (role, account) = (pick(["editor", "moderator"]), account(number(Self.holders)))
        guard let draft = restored.authority.nextPolicy({ toggle(role, account, &$0) }), draft.awaits.isEmpty else { return }
        trace?("the steward is restored from a backup")
        publish(draft, knowing: restored, by: steward, key: steward.key, discarding: pick([0, 0, 1]))
        statistics.forks += 1
        // The steward may go on for a while without seeing what it has signed.
        if happens(0.5) { deliverAll(to: reader) }
    }

    /// A thief takes the steward's device.
    func stealSteward() {
        guard theft == nil else { return }
        theft = Theft(key: steward.key, start: nextNumber)
        evil.insert(steward.number)
        statistics.thefts += 1
        trace?("a thief takes the steward's device \(steward.name)")
    }

    /// The owner begins a term with the identity key, or an heir does: another device becomes the steward.
    ///
    /// It reads the container again without what the thief may have signed as the steward.
    func recover() {
        guard isStolen, let device = members[Self.owner].first(where: { !evil.contains($0.number) }), let reader = readers[device.number] else {
            return
        }
        deliverAll(to: reader)
        signDevices(of: Self.owner)
        let trusted = SimulatedReader(self, device: nil)
        for file in files where !file.isTheft { trusted.deliver(file) }
        trusted.settle()
        let authority = trusted.authority
        let last = authority.isForked ? authority.branches.map(\.id) : [authority.policy?.id].compactMap { $0 }
        guard let draft = authority.nextTerm(steward: (device.key, device.peer), after: last) else { return }
        publish(draft, knowing: trusted, by: device, key: happens(0.5) ? heir : identities[Self.owner])
        theft!.isRecovered = true
        steward = device
        deliverAll(to: reader)
    }

    func admit() { sign(Admittance(account: account(Self.contributor), policy: StatementIdentifier(container.hash)), by: registrar) }
}
