import SystemPackage

/// What a broker wrote down about its clients, as its successor finds it.
struct FormerClaims: Sendable {
    var clients: [ClientID: ProcessIdentity] = [:]
    var held: [ClaimID: (request: ClaimRequest, items: [ClaimItem])] = [:]
    var presenters: [PresenterID: FilePath] = [:]
}

/// What a broker knows of the clients of its predecessor until they have said it themselves.
///
/// They stand in an arbiter of their own. What that would not grant at once waits; all else goes ahead.
struct Recovery {
    private var ghosts = Arbiter()
    private(set) var awaited: [ClientID: ProcessIdentity]
    private(set) var held: [ClaimID: (request: ClaimRequest, items: [ClaimItem])]
    /// When those who have not come are given up; later when others still come.
    var until: UInt64
    private(set) var deferred: [ClaimRequest] = []

    init(_ former: FormerClaims, until: UInt64) {
        self.until = until
        awaited = former.clients
        held = former.held.filter { former.clients[$0.key.client] != nil }
        for (id, process) in former.clients { _ = ghosts.handle(.clientJoined(id, process: process.number, name: "")) }
        for claim in held.values { ghosts.hold(claim.request, items: claim.items) }
        for (id, path) in former.presenters where former.clients[id.client] != nil {
            _ = ghosts.handle(.addPresenter(id, path, observedAttributes: []))
        }
    }

    /// Whether a request has to wait; it is kept then.
    mutating func defers(_ request: ClaimRequest) -> Bool {
        guard isInTheWay(of: request) else { return false }
        deferred.append(request)
        return true
    }

    private func isInTheWay(of request: ClaimRequest) -> Bool {
        var trial = ghosts
        return !trial.handle(.request(request)).contains {
            if case .grant(request.id, _) = $0 { return true }
            return false
        }
    }

    mutating func removeDeferred(_ id: ClaimID) -> Bool {
        guard let index = deferred.firstIndex(where: { $0.id == id }) else { return false }
        deferred.remove(at: index)
        return true
    }

    /// Takes the requests that need not wait any more.
    mutating func takeReady() -> [ClaimRequest] {
        let ready = deferred.filter { !isInTheWay(of: $0) }
        let ids = Set(ready.map(\.id))
        deferred.removeAll { ids.contains($0.id) }
        return ready
    }

    /// Forgets a client.
    ///
    /// - Returns: what it had held, by the word of the broker before.
    @discardableResult
    mutating func drop(_ client: ClientID) -> [(request: ClaimRequest, items: [ClaimItem])] {
        deferred.removeAll { $0.id.client == client }
        guard awaited.removeValue(forKey: client) != nil else { return [] }
        _ = ghosts.handle(.clientGone(client))
        let former = held.filter { $0.key.client == client }
        for id in former.keys { held[id] = nil }
        return former.values.sorted { $0.request.id.number < $1.request.id.number }
    }
}

extension BrokerEngine {
    /// Takes in what a client says of itself.
    mutating func reclaim(_ holdings: Holdings, by client: ClientID) throws(Misuse) {
        try check(holdings, from: client)
        // Its own requests are in the arbiter in a moment.
        let former = recovery?.drop(client) ?? []
        // On a machine that has much to do they come one by one.
        recovery?.until = time + Limits.recovery
        adopt(holdings, from: client)
        for claim in former { settle(claim) }
        retryDeferred()
        considerDelegation(to: client)
    }

    /// Replaces what is known of a client.
    mutating func adopt(_ holdings: Holdings, from client: ClientID) {
        var ready = holdings
        if recovery != nil { ready.claims.removeAll { !$0.isHeld && recovery?.defers($0.presentRequest) == true } }
        clients[client]?.live = Set(holdings.claims.map(\.request.id))
        for claim in holdings.claims where claim.isHeld { effects.append(.record(.held(claim.request, claim.items))) }
        for presenter in holdings.presenters {
            effects.append(.record(.presenter(presenter.id, presenter.path)))
            if let path = presenter.path { recall(around: path, for: client) }
        }
        run(.adopted(client, ready))
    }

    /// Sees to a claim of the broker before that its client does not have any more: others hear of a change.
    private mutating func settle(_ claim: (request: ClaimRequest, items: [ClaimItem])) {
        let id = claim.request.id
        guard arbiter.claims[id] == nil else { return }
        effects.append(.record(.released(id)))
        arbiter.hold(claim.request, items: claim.items)
        run(.end(id, []))
    }

    /// The process of a client of the broker before has died.
    mutating func formerClientDied(_ client: ClientID) {
        guard clients[client] == nil, let former = recovery?.drop(client) else { return }
        effects.append(.record(.gone(client)))
        for claim in former where claim.request.purpose != .delegation(client) { settle(claim) }
        retryDeferred()
    }

    /// Admits the requests for which nobody has to be awaited any more.
    mutating func retryDeferred() {
        while let ready = recovery?.takeReady(), !ready.isEmpty {
            for request in ready { run(.request(request)) }
        }
        guard recovery?.awaited.isEmpty == true else { return }
        let waiting = recovery?.deferred ?? []
        recovery = nil
        for request in waiting { run(.request(request)) }
        var actions: [ArbiterAction] = []
        arbiter.forgetOutstanding(&actions)
        for case .deliver(let delivery) in actions {
            guard let connection = clients[delivery.presenter.client]?.connection else { continue }
            effects.append(.send(connection, .action(.deliver(delivery))))
        }
    }

    /// Gives up those who could have come back and have not.
    ///
    /// A stopped process could not: what it holds, it holds until it goes on or dies.
    mutating func endRecoveryInTime() {
        guard let recovery, recovery.until <= time else { return }
        for (id, process) in recovery.awaited where clients[id] == nil && !system.isStopped(process) {
            formerClientDied(id)
        }
    }
}
