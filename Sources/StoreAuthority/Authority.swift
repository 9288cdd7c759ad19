package import StoreFormat
internal import UbiquityContainers

/// The statements of a container, and what follows from them: who may change what.
///
/// It is a value without files, clocks and keys. Statements go in, in any order and any part of them; the result depends
/// only on which of them, and which of the baselines that they name, have been here. The caller verifies signatures;
/// whether a key was permitted to sign is decided here.
///
/// How a store uses it:
///
/// ```swift
/// var authority = Authority(container: container)                      // or Authority(saved: bytes)
/// let enactment = authority.insert(statements, baselines: arrived)     // rebuild enactment.rebuilds, save authority.saved
/// let author = authority.author(peer, certificate: rights.certificate) // verify the log with author.key
/// switch authority.verdict(on: rights, by: peer, sequence: number, isCurated: hasCuratedTables) {
/// case .waits(let needs): break                                        // ask again when enactment.judgesAgain
/// case .rejected(let reason): break                                    // join without effect, and list
/// case .counts(let grant): grant.allows("score", owner: account)       // for each change; nil owner: a curated table
/// }
/// authority.standing(of: baseline, in: .roles)                         // whether a baseline is joined
/// authority.nextPolicy { $0.roles["editor"]?.insert(account) }         // what the steward has to sign
/// authority.nextStatement(of: account, devices: devices)               // what the account has to sign
/// ```
///
/// A verdict is for a log that no base or baseline of the domain holds. What a base holds stays as it is there: a
/// statement that removes somebody names a base instead of listing logs.
package struct Authority: Sendable {
    /// The rules that the simulation switches off, to show that they are needed.
    package struct Rules: Hashable, Sendable {
        /// A policy of a later term holds before all policies of earlier terms.
        package var termsRank = true
        /// A fork stops the change of policies.
        package var forksFreeze = true

        package init() {}
    }

    package let container: ScopeIdentifier
    private(set) var accounts = AccountRegistry()
    private(set) var policies: PolicyHistory
    private(set) var admission = AdmissionRegister()
    private(set) var warrants: [BaselineID: [StatementIdentifier: Signed<BaselineWarrant>]] = [:]
    /// The baselines that are here.
    package private(set) var baselines: Set<BaselineID> = []
    /// The accounts whose records went when the admission was closed.
    ///
    /// Their logs are joined, so their records are built again once they are admitted and their bases are found.
    private(set) var emptied: Set<AccountIdentifier> = []

    package init(container: ScopeIdentifier, rules: Rules = .init()) {
        self.container = container
        policies = PolicyHistory(container: container, rules)
    }

    // MARK: - What is in effect

    /// The policy in effect.
    package var policy: Signed<Policy>? { policies.current }

    /// Whether the steward has signed two policies of one number that it has not merged.
    ///
    /// Nothing of the roles' domain is joined until it has.
    package var isForked: Bool { !policies.tips.isEmpty }

    /// The last policies of the branches of a fork.
    package var branches: [Signed<Policy>] { policies.tips.compactMap { policies.policies[$0] } }

    /// Returns the statement of an account that is in effect.
    package func statement(of account: AccountIdentifier) -> Signed<AccountStatement>? { accounts.statement(of: account) }

    /// The accounts with a statement in effect.
    package var knownAccounts: some Collection<AccountIdentifier> { accounts.inEffect.keys }

    /// Returns the devices that an account's statement in effect names, and those that are enrolled under it.
    ///
    /// A stolen device can enrol another under the name of one that is enrolled: two of the devices may have one name.
    package func devices(of account: AccountIdentifier) -> Set<Author> { accounts.inEffect[account].map(accounts.devices) ?? [] }

    /// Returns what is known of a policy, an account's statement or an enrolment.
    package func judgement(of id: StatementIdentifier) -> Judgement {
        policies.policies[id] == nil ? accounts.judgement(of: id) : policies.judgement(of: id)
    }

    /// The base of a domain, according to the statement in effect.
    package func base(of domain: Domain) -> BaselineID? {
        switch domain {
        case .roles: policies.base
        case .slice(let account): isAdmitted(account) ? statement(of: account)?.value.base : nil
        }
    }

    /// Returns whether an account may contribute: anybody, the accounts that the steward has pinned, or those that a
    /// registrar has admitted.
    package func isAdmitted(_ account: AccountIdentifier) -> Bool { admission.admits(account, policies) }

    // MARK: - What arrives

    /// Adds statements and baselines.
    ///
    /// - Parameters:
    ///   - statements: statements with valid signatures. Those that are known already change nothing.
    ///   - arrived: baselines whose files are here, and can be read when the enactment names them.
    /// - Returns: what has changed.
    package mutating func insert(_ statements: some Sequence<Statement>, baselines arrived: some Sequence<BaselineID> = []) -> Enactment {
        let arrived = Set(arrived).subtracting(baselines)
        baselines.formUnion(arrived)
        let statements = Array(statements)
        var enactment = Enactment()
        let (known, judged) = take(statements)
        for id in known.union(judged) { if case .refused(let fault) = judgement(of: id) { enactment.refused[id] = fault } }
        if !judged.isEmpty || !arrived.isDisjoint(with: policies.bases) { settlePolicies(&enactment) }
        for account in accounts.accounts(concerning: known, arrived).sorted() {
            let isNew = accounts.inEffect[account] == nil
            guard accounts.settle(account, baselines) else { continue }
            enactment.accounts.insert(account)
            // Nothing of an account is joined before its first statement is in effect.
            if !isNew || statement(of: account)?.value.base != nil { rebuild(.slice(account), &enactment) }
        }
        for account in emptied.sorted() where isAdmitted(account) && missingBase(of: account) == nil { rebuild(.slice(account), &enactment) }
        enactment.judgesAgain = !(statements.isEmpty && arrived.isEmpty)
        return enactment
    }

    /// Adds statements, and returns the accounts' and the policies of which something is known now that was not before.
    private mutating func take(_ statements: [Statement]) -> (accounts: Set<StatementIdentifier>, policies: Set<StatementIdentifier>) {
        var arrivals: [Signed<Policy>] = []
        for statement in statements {
            switch statement {
            case .policy(let signed): arrivals.append(signed)
            case .admittance(let signed): admission.insert(signed)
            case .warrant(let signed): warrants[signed.value.baseline, default: [:]][signed.id] = signed
            case .account, .enrolment: break
            }
        }
        let known = accounts.insert(statements)
        return (known, policies.insert(arrivals, after: known, accounts))
    }

    /// Forgets a baseline whose file is gone.
    package mutating func remove(_ baseline: BaselineID) { baselines.remove(baseline) }

    private mutating func settlePolicies(_ enactment: inout Enactment) {
        let old = policies
        guard policies.settle(baselines), let new = policies.inEffect else { return }
        enactment.policy = new
        let follows = old.inEffect.map(policies.ancestry.contains) ?? true
        if !follows || old.inEffect.flatMap(old.generation) != policies.generation(of: new) { rebuild(.roles, &enactment) }
        guard old.inEffect != nil, policies.current?.value.admission != .open else { return }
        for account in accounts.inEffect.keys.sorted() where admission.admits(account, old) && !isAdmitted(account) {
            rebuild(.slice(account), &enactment)
        }
    }

    /// Returns the base without which an emptied account's records cannot be built again.
    func missingBase(of account: AccountIdentifier) -> BaselineID? {
        guard emptied.contains(account), let base = statement(of: account)?.value.base else { return nil }
        return baselines.contains(base) ? nil : base
    }

    /// The bases without which the records of accounts that are admitted again cannot be built.
    var missingBases: Set<BaselineID> { Set(emptied.lazy.filter(isAdmitted).compactMap(missingBase)) }

    private mutating func rebuild(_ domain: Domain, _ enactment: inout Enactment) {
        if case .slice(let account) = domain, policies.inEffect != nil {
            if isAdmitted(account) {
                emptied.remove(account)
            } else {
                emptied.insert(account)
                // The base may be gone by the time that the account is admitted, so it must be found again.
                if let base = statement(of: account)?.value.base { baselines.remove(base) }
            }
        }
        enactment.rebuilds.removeAll { $0.domain == domain }
        enactment.rebuilds.append(.init(domain: domain, base: base(of: domain)))
    }

    /// Returns the rights as a reader has them who has read an accepted policy and none that is not before it.
    package func asOf(_ policy: Signed<Policy>) -> Authority {
        var past = self
        past.policies.rewind(to: policy.id)
        return past
    }

    // MARK: - What was saved

    /// Takes in what was saved, and returns whether it can have been an authority.
    mutating func restore(
        _ statements: [Statement], _ inEffect: Set<StatementIdentifier>, _ here: Set<BaselineID>, _ emptied: Set<AccountIdentifier>
    ) -> Bool {
        _ = take(statements)
        (baselines, self.emptied) = (here, emptied)
        for id in inEffect {
            if policies.accepted(id) != nil, policies.inEffect == nil {
                policies.put(id)
            } else if let statement = accounts.accepted(id), accounts.inEffect[statement.account] == nil {
                accounts.put(statement)
            } else {
                return false
            }
        }
        // Whether there is a fork is computed again; no other policy can come into effect by it.
        return !policies.settle(baselines)
    }
}
