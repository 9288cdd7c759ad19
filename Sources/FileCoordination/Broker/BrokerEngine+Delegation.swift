import SystemPackage

// A client that shares a subtree with no other client arbitrates it alone. A held claim in the broker's arbiter
// represents the delegation. Other claims wait for it like for any claim, and the first one that waits makes the broker
// ask for the delegation back.
extension BrokerEngine {
    static func claim(of number: UInt64, _ client: ClientID) -> ClaimID { ClaimID(client, number | 1 << 63) }

    /// Records the items and directories that a client uses.
    mutating func note(_ request: ClaimRequest, by client: ClientID) {
        guard var known = clients.removeValue(forKey: client) else { return }
        defer { clients[client] = known }
        for item in request.items {
            let locked = item.lockedPath
            if known.items.count <= Limits.delegatedItems { known.items.insert(locked) }
            let directory = locked.removingLastComponent()
            if known.recent.first?.directory == directory {
                known.recent[0].time = time
                continue
            }
            known.recent.removeAll { $0.directory == directory }
            known.recent.insert((directory, time), at: 0)
            if known.recent.count > Limits.recentDirectories { known.recent.removeLast() }
        }
    }

    /// Delegates its directories to a client if no other client uses them and the client has no open claims or
    /// messages.
    mutating func considerDelegation(to id: ClientID) {
        guard recovery == nil, listings.isEmpty, let client = clients[id], client.delegation == nil, client.live.isEmpty else { return }
        var roots: [FilePath] = ["/"]
        if clients.count > 1 {
            guard client.claimsSince >= client.patience else { return }
            let found = ownPlaces(of: id)
            // The next attempt comes after the required number of further claims.
            clients[id]?.claimsSince = 0
            clients[id]?.items = []
            guard let found else { return }
            roots = found
        }
        nextDelegation += 1
        let delegation = BrokerFrame.Delegation(number: nextDelegation, roots: roots)
        hold(delegation, for: id)
        effects.append(.send(client.connection, .delegated(delegation)))
    }

    /// Adds a held claim that represents a delegation.
    mutating func hold(_ delegation: BrokerFrame.Delegation, for client: ClientID) {
        nextDelegation = max(nextDelegation, delegation.number)
        let id = Self.claim(of: delegation.number, client)
        let request = ClaimRequest(
            id: id, purpose: .delegation(client), items: delegation.roots.map { ClaimItem($0, .write(.forDeleting)) })
        clients[client]?.delegation = delegation
        clients[client]?.isRecalled = false
        arbiter.hold(request, items: request.items)
        effects.append(.record(.held(request, request.items)))
    }

    // MARK: Places in use

    /// Returns the topmost directories around the client's recent claims that no other client uses; of a shared
    /// directory, the items.
    ///
    /// - Returns: nil when another client uses one of the items, or there are many.
    private func ownPlaces(of id: ClientID) -> [FilePath]? {
        guard let client = clients[id] else { return nil }
        let others = interests(of: clients.keys.filter { $0 != id })
        var roots: [FilePath] = []
        for (directory, seen) in client.recent where seen + Limits.interest >= time {
            guard !roots.contains(where: directory.starts(with:)) else { continue }
            let names = directory.components
            let candidates = stride(from: 1, through: names.count, by: 1).lazy.map { FilePath(root: "/", names.prefix($0)) }
            if let root = candidates.first(where: { root in !others.contains { $0.concerns(root) } }) {
                roots.removeAll { $0.starts(with: root) }
                roots.append(root)
                continue
            }
            guard client.items.count <= Limits.delegatedItems else { return nil }
            for item in client.items where item.removingLastComponent() == directory {
                if others.contains(where: { $0.concerns(item) }) { return nil }
                roots.append(item)
            }
        }
        return roots.isEmpty ? nil : roots
    }

    /// A place that a client uses.
    private struct Interest {
        let path: FilePath
        /// Whether changes anywhere below the place matter.
        let isDeep: Bool

        func concerns(_ root: FilePath) -> Bool { path.starts(with: root) || (isDeep && root.starts(with: path)) }
    }

    private func interests(of others: [ClientID]) -> [Interest] {
        var found: [Interest] = []
        for id in others {
            guard let client = clients[id] else { continue }
            found += client.recent.filter { $0.time + Limits.interest >= time }.map { Interest(path: $0.directory, isDeep: false) }
            found += (client.delegation?.roots ?? []).map { Interest(path: $0, isDeep: true) }
        }
        let others = Set(others)
        for presenter in arbiter.presenters.values where others.contains(presenter.id.client) {
            if let path = presenter.path { found.append(Interest(path: path, isDeep: true)) }
        }
        for claim in arbiter.claims.values where others.contains(claim.request.id.client) {
            found += claim.items.map { Interest(path: $0.path, isDeep: $0.access.coversDescendants || claim.request.isPreparation) }
        }
        return found
    }

    // MARK: Turns

    /// Delegates the items of a claim that waited for others to its client for a turn, if the client makes one claim
    /// after the other.
    ///
    /// Without turns each claim would go from process to process.
    mutating func considerTurn(with claim: Claim) {
        let id = claim.request.id
        guard recovery == nil, listings.isEmpty, let client = clients[id.client], client.delegation == nil, client.live.count == 1,
            claim.since < client.lastEnd + Limits.haste, arbiter.mayDelegate(claim)
        else { return }
        nextDelegation += 1
        let delegation = BrokerFrame.Delegation(number: nextDelegation, roots: claim.items.map(\.lockedPath))
        hold(delegation, for: id.client)
        clients[id.client]?.turnEnd = time + Limits.turn
        effects.append(.send(client.connection, .delegated(delegation)))
    }

    /// Returns whether a claim waits for the client's delegation.
    func isAwaited(_ client: Client, _ id: ClientID) -> Bool {
        guard let delegation = client.delegation, !client.isRecalled else { return false }
        return arbiter.followers[Self.claim(of: delegation.number, id)]?.isEmpty == false
    }

    // MARK: Asking back

    /// Asks for the delegations back that other claims wait for, except during a turn.
    mutating func recallAwaited() {
        for (id, client) in clients where client.turnEnd <= time && isAwaited(client, id) { recall(id) }
    }

    /// Asks for the delegations back that hide changes from a presenter of another client.
    mutating func recall(around path: FilePath, for client: ClientID) {
        for (id, other) in clients where id != client && !other.isRecalled {
            guard let roots = other.delegation?.roots, roots.contains(where: { path.starts(with: $0) || $0.starts(with: path) }) else { continue }
            recall(id)
        }
    }

    mutating func recallAll() {
        for (id, client) in clients where client.delegation != nil && !client.isRecalled { recall(id) }
    }

    mutating func recall(_ id: ClientID) {
        guard let client = clients[id], let delegation = client.delegation else { return }
        clients[id]?.isRecalled = true
        if client.turnEnd == 0 { clients[id]?.patience = min(client.patience * 2, Limits.mostPatience) }
        let isIdle = system.revoke(client.connection, delegation.number)
        // An idle client learns it with its next request. Only its presenters can have something to say before.
        if !isIdle || arbiter.presenters.keys.contains(where: { $0.client == id }) {
            effects.append(.send(client.connection, .recall(delegation.number)))
        }
        if isIdle { endDelegation(of: id) }
    }

    /// Handles a client's return of a delegation, whether the broker asked for it or not.
    mutating func takeBack(_ number: UInt64, _ holdings: Holdings?, from id: ClientID) throws(Misuse) {
        if let holdings { try check(holdings, from: id) }
        guard clients[id]?.delegation?.number == number else { return }
        if let holdings { adopt(holdings, from: id) }
        endDelegation(of: id)
    }

    private mutating func endDelegation(of id: ClientID) {
        guard let delegation = clients[id]?.delegation else { return }
        clients[id]?.delegation = nil
        clients[id]?.isRecalled = false
        clients[id]?.claimsSince = 0
        clients[id]?.items = []
        clients[id]?.lastEnd = time
        clients[id]?.turnEnd = 0
        let claim = Self.claim(of: delegation.number, id)
        effects.append(.record(.released(claim)))
        run(.end(claim, []))
    }
}

extension ClaimItem {
    /// The item that a claim on this one locks: its outermost package, or itself.
    var lockedPath: FilePath { packageDepths.first.map { FilePath(root: "/", path.components.prefix($0)) } ?? path }
}
