package import StoreFormat
package import UbiquityContainers

extension Authority {
    /// Returns the author of a log or baseline, whose key must have signed it.
    ///
    /// - Parameters:
    ///   - peer: the author's name.
    ///   - certificate: the statement or enrolment that names the author.
    /// - Returns: the author, or nil if the certificate is not here or names no such author.
    package func author(_ peer: PeerIdentifier, certificate: StatementIdentifier) -> Author? {
        try? accounts.author(peer, certificate).get()
    }

    /// Returns what becomes of a log that no base holds.
    ///
    /// - Parameters:
    ///   - rights: the rights that the log claims.
    ///   - peer: the log's author.
    ///   - sequence: the log's number.
    ///   - isCurated: whether the log changes a curated table.
    /// - Returns: the verdict. Where a verdict on a log becomes stricter, an enactment rebuilds the domain.
    package func verdict(on rights: LogRights, by peer: PeerIdentifier, sequence: Int64, isCurated: Bool) -> Verdict {
        guard rights.container == container else { return .rejected(.container) }
        var needs: Set<Need> = []
        let found = accounts.author(peer, rights.certificate)
        switch found {
        case .failure(.refused(let fault)): return .rejected(.certificate(fault))
        case .failure(.notNamed): return .rejected(.author)
        case .failure(.waits(let ids)): needs.formUnion(ids.map(Need.statement))
        case .success: break
        }
        switch policies.judgement(of: rights.policy) {
        case .refused(let fault): return .rejected(.policy(fault))
        case .waits(let ids): needs.formUnion(ids.map(Need.statement))
        case .accepted: break
        }
        guard case .success(let author) = found, let policy = policies.accepted(rights.policy), needs.isEmpty else { return .waits(for: needs) }
        guard let current = policies.current else { return .waits(for: [isForked ? .merge : .policy]) }
        guard isAdmitted(author.account) else { return .waits(for: [.admittance(author.account)]) }
        if let base = baseAwaited(by: author) ?? missingBase(of: author.account) { return .waits(for: [.base(base)]) }
        if isCurated, let need = need(of: policy) { return .waits(for: [need]) }
        let slice = statement(of: author.account).map { AccountRegistry.names(author, in: $0) } ?? false
        return Verdict.counts(Grant(author, slice: slice ? nil : .removed, roles: refusal(of: author, naming: policy, under: current.value), policy))
            .limited(sequence)
    }

    /// Returns the base without which the statement that names an author is not in effect, if a greater one is not.
    private func baseAwaited(by author: Author) -> BaselineID? {
        accounts.isCandidate(author.statement) ? accounts.accepted(author.statement)?.value.base : nil
    }

    /// Returns what the roles' part of a log waits for that names a policy.
    private func need(of policy: Signed<Policy>) -> Need? {
        if isForked { return .merge }
        guard !policies.ancestry.contains(policy.id), policies.isAhead(policy.id) else { return nil }
        return policies.generation(of: policy.id).flatMap { policies.accepted($0)?.value.base }.map(Need.base) ?? .policy
    }

    /// Returns why no change of a curated table counts in a log.
    private func refusal(of author: Author, naming policy: Signed<Policy>, under current: Policy) -> Rejection? {
        guard policies.ancestry.contains(policy.id) else { return .void }
        // A pin that the account has not signed gives nothing.
        guard let pin = policy.value.pins[author.account].flatMap(accounts.accepted), pin.account == author.account,
            AccountRegistry.names(author, in: pin)
        else { return .unknownDevice }
        let isCut = policies.cuts[author.account]?.contains { $0.concerns(author, naming: policy.value) } ?? false
        return isCut ? .cut : nil
    }
}

extension Policy.Cut {
    /// Returns whether the cut takes the roles from an author's logs that name a policy.
    func concerns(_ author: Author, naming policy: Policy) -> Bool {
        account == author.account && policy.version < before && !sparing.contains(author.key)
    }
}
