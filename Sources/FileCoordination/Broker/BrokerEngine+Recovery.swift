import SystemPackage

/// The recorded claims of a broker's clients, as its successor reads them.
struct FormerClaims: Sendable {
    var clients: [ClientID: ProcessIdentity] = [:]
    var held: [ClaimID: (request: ClaimRequest, items: [ClaimItem])] = [:]
    var presenters: [PresenterID: FilePath] = [:]
}

/// The claims of the predecessor's clients, until the clients report them.
///
/// They are held in a separate arbiter. Requests that conflict with them wait; all other requests continue.
struct Recovery {
    private var ghosts = Arbiter()
    private(set) var awaited: [ClientID: ProcessIdentity]
    private(set) var held: [ClaimID: (request: ClaimRequest, items: [ClaimItem])]
    /// The time at which missing clients are given up; each client that reports moves it back.
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

    /// Returns whether a request must wait, and stores it if so.
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

    /// Removes and returns the requests that need not wait any more.
    mutating func takeReady() -> [ClaimRequest] {
        let ready = deferred.filter { !isInTheWay(of: $0) }
        let ids = Set(ready.map(\.id))
        deferred.removeAll { ids.contains($0.id) }
        return ready
    }

    /// Removes a client.
    ///
    /// - Returns: the claims that it held according to the previous broker.
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
    /// Handles a client's report of its claims, messages and presenters.
    mutating func reclaim(_ holdings: Holdings, by client: ClientID) throws(Misuse) {
        try check(holdings, from: client)
        // The client's own requests join the arbiter directly afterwards.
        let former = recovery?.drop(client) ?? []
        // On a busy machine clients report one after the other.
        recovery?.until = time + Limits.recovery
        adopt(holdings, from: client)
        for claim in former { settle(claim) }
        retryDeferred()
        considerDelegation(to: client)
    }

    /// Replaces the records of a client.
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

    /// Handles a recorded claim that its client no longer has: other presenters are told of a change.
    private mutating func settle(_ claim: (request: ClaimRequest, items: [ClaimItem])) {
        let id = claim.request.id
        guard arbiter.claims[id] == nil else { return }
        effects.append(.record(.released(id)))
        arbiter.hold(claim.request, items: claim.items)
        run(.end(id, []))
    }

    /// Removes a client of the previous broker whose process has died.
    mutating func formerClientDied(_ client: ClientID) {
        guard clients[client] == nil, let former = recovery?.drop(client) else { return }
        effects.append(.record(.gone(client)))
        for claim in former where claim.request.purpose != .delegation(client) { settle(claim) }
        retryDeferred()
    }

    /// Admits the requests that no missing client blocks any more.
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

    /// Gives up the missing clients that could have reported and did not.
    ///
    /// A stopped process could not report: it keeps its claims until it continues or dies.
    mutating func endRecoveryInTime() {
        guard let recovery, recovery.until <= time else { return }
        for (id, process) in recovery.awaited where clients[id] == nil && !system.isStopped(process) {
            formerClientDied(id)
        }
    }
}
