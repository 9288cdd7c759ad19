package import StoreFormat
internal import UbiquityContainers

extension Authority {
    /// Returns whether a baseline is joined in a domain.
    ///
    /// The base that the statement in effect names counts by its hash, by any author. Another baseline needs a warrant:
    /// by the steward for the roles, by a device of the account for a slice, since the last removal.
    package func standing(of baseline: BaselineID, in domain: Domain) -> BaselineStanding {
        if case .slice(let account) = domain, isAdmitted(account), let base = missingBase(of: account) { return .waits(for: [.base(base)]) }
        if base(of: domain) == baseline { return .counts }
        let standings = warrants[baseline, default: [:]].values.filter { $0.value.domain == domain }.map(standing)
        if standings.contains(.counts) { return .counts }
        let needs = standings.reduce(into: Set<Need>()) { if case .waits(let more) = $1 { $0.formUnion(more) } }
        if !needs.isEmpty { return .waits(for: needs) }
        return standings.contains(.refused(.outdated)) ? .refused(.outdated) : standings.first ?? .refused(.unwarranted)
    }

    /// Returns what a warrant is worth.
    package func standing(of warrant: Signed<BaselineWarrant>) -> BaselineStanding {
        switch warrant.value.domain {
        case .roles: rolesStanding(of: warrant)
        case .slice(let account): standing(of: warrant, in: account)
        }
    }

    private func rolesStanding(of warrant: Signed<BaselineWarrant>) -> BaselineStanding {
        let named = warrant.value.statement
        switch policies.judgement(of: named) {
        case .waits(let ids): return .waits(for: Set(ids.map(Need.statement)))
        case .refused: return .refused(.authority)
        case .accepted: break
        }
        guard let policy = policies.accepted(named), let current = policies.inEffect else { return .waits(for: [.policy]) }
        guard policy.value.steward == warrant.signer else { return .refused(.authority) }
        if isForked { return .waits(for: [.merge]) }
        if policies.ancestry.contains(named) {
            return policies.generation(of: named) == policies.generation(of: current) ? .counts : .refused(.outdated)
        }
        return policies.isAhead(named) ? .waits(for: [.policy]) : .refused(.outdated)
    }

    /// Returns the baselines of the roles' domain that are here, and that count for a reader of one branch of a fork alone.
    func rolesBaselines(on tip: StatementIdentifier) -> Set<BaselineID> {
        let (branch, generation) = (policies.ancestry(of: tip), policies.generation(of: tip))
        let warranted = warrants.values.lazy.flatMap(\.values).filter { warrant in
            guard warrant.value.domain == .roles, branch.contains(warrant.value.statement) else { return false }
            return policies.generation(of: warrant.value.statement) == generation
                && policies.accepted(warrant.value.statement)?.value.steward == warrant.signer
        }
        let base = policies.accepted(tip).flatMap(rolesBase)
        return Set(warranted.map(\.value.baseline) + [base].compactMap(\.self)).intersection(baselines)
    }

    private func standing(of warrant: Signed<BaselineWarrant>, in account: AccountIdentifier) -> BaselineStanding {
        guard let certificate = warrant.value.certificate else { return .refused(.authority) }
        switch accounts.author(warrant.value.baseline.peer, certificate) {
        case .failure(.waits(let ids)): return .waits(for: Set(ids.map(Need.statement)))
        case .failure: return .refused(.authority)
        case .success(let author):
            guard author.account == account, author.key == warrant.signer else { return .refused(.authority) }
            guard isAdmitted(account) else { return .waits(for: [.admittance(account)]) }
            guard let current = statement(of: account) else { return .waits(for: [.statement(warrant.value.statement)]) }
            guard warrant.value.statement == current.id else {
                if accounts.accepted(warrant.value.statement) == nil { return .waits(for: [.statement(warrant.value.statement)]) }
                guard accounts.isCandidate(warrant.value.statement) else { return .refused(.outdated) }
                return .waits(for: Set(accounts.accepted(warrant.value.statement)?.value.base.map { [.base($0)] } ?? []))
            }
            return AccountRegistry.names(author, in: current) ? .counts : .refused(.authority)
        }
    }
}
