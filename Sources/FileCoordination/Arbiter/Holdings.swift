import SystemPackage

/// All claims, messages and presenters of one client, which the client or another broker reports to a broker that takes
/// over.
package struct Holdings: Sendable {
    /// A registered presenter.
    struct Presenter: Sendable {
        let id: PresenterID
        var path: FilePath?
        let observedAttributes: Set<String>
        var unhandledMoves = UnhandledMoves()

        /// Sets the path that the presenter reported.
        mutating func relocate(to path: FilePath?) { self.path = path.map(unhandledMoves.presentPath) }

        /// Sets the path after a move that a message reports.
        mutating func move(to path: FilePath, toldBy message: MessageID) {
            if let old = self.path, old != path { unhandledMoves.add(Move(from: old, to: path), toldBy: message) }
            self.path = path
        }
    }

    /// A claim, held or waiting.
    struct Claim: Sendable {
        let request: ClaimRequest
        /// The items at their current paths.
        let items: [ClaimItem]
        let isHeld: Bool
        /// The moves by its accessor.
        var moves: [Move] = []
        /// The messages about those moves to send after the accessor has returned.
        var moveNotes: [Delivery] = []

        /// The request with the items at their current paths.
        var presentRequest: ClaimRequest {
            ClaimRequest(
                id: request.id, coordinator: request.coordinator, purpose: request.purpose, presenter: request.presenter,
                surroundings: request.surroundings, items: items, isPreparation: request.isPreparation)
        }
    }

    /// A message that one of its presenters received.
    struct Message: Sendable {
        let delivery: Delivery
        let isAnswered: Bool
    }

    var presenters: [Presenter] = []
    /// In the order in which they were requested.
    var claims: [Claim] = []
    /// The messages that its presenters have not handled, in order, and the answered questions that may be asked again.
    var messages: [Message] = []

    package init() {}
}

extension Arbiter {
    /// Returns the claims, messages and presenters of a client.
    func holdings(of client: ClientID) -> Holdings {
        var holdings = Holdings()
        let own = presenters.values.filter { $0.id.client == client }.sorted { $0.id.number < $1.id.number }
        holdings.presenters = own.map {
            .init(id: $0.id, path: $0.path, observedAttributes: $0.observedAttributes, unhandledMoves: $0.unhandledMoves)
        }
        for id in inOrder(claims.keys.filter { $0.client == client }) {
            guard let claim = claims[id], !claim.isDelegation else { continue }
            holdings.claims.append(
                .init(request: claim.request, items: claim.items, isHeld: claim.isHeld, moves: claim.moves, moveNotes: claim.moveNotes))
            for (presenter, message) in claim.relinquished where messages[message] == nil {
                let kind: PresenterMessage = claim.items.contains { $0.access.writes } ? .relinquishToWriter : .relinquishToReader
                let delivery = Delivery(id: message, presenter: presenter, message: kind, cause: cause(of: claim), awaitedBy: id)
                holdings.messages.append(.init(delivery: delivery, isAnswered: true))
            }
        }
        for presenter in own {
            holdings.messages += presenter.pending.compactMap { messages[$0] }.map { .init(delivery: $0.delivery, isAnswered: false) }
        }
        return holdings
    }

    /// Whether there are no claims and messages that another arbiter would need to know.
    var isQuiet: Bool { claims.isEmpty && messages.isEmpty }

    /// Replaces the records of a client by the client's own report.
    mutating func adopt(_ holdings: Holdings, of client: ClientID, _ actions: inout [ArbiterAction]) {
        let listed = Set(holdings.presenters.map(\.id))
        for id in presenters.keys where id.client == client && !listed.contains(id) { remove(id) }
        for presenter in holdings.presenters {
            if presenters[presenter.id] == nil {
                add(presenter.id, at: presenter.path, observing: presenter.observedAttributes)
            } else {
                relocate(presenter.id, to: presenter.path)
            }
            presenters[presenter.id]?.unhandledMoves = presenter.unhandledMoves
        }
        for message in holdings.messages { adopt(message) }
        for claim in holdings.claims where claims[claim.request.id] == nil {
            if claim.isHeld {
                hold(claim.request, items: claim.items)
                claims[claim.request.id]?.moves = claim.moves
                claims[claim.request.id]?.moveNotes = claim.moveNotes
            } else {
                admit(claim.presentRequest, isMapped: true)
            }
        }
    }

    /// Adds a message that another arbiter sent: it joins its presenter's queue, and a claim that asks again gets its
    /// answer.
    private mutating func adopt(_ message: Holdings.Message) {
        let delivery = message.delivery
        guard presenters[delivery.presenter] != nil, messages[delivery.id] == nil else { return }
        if !message.isAnswered {
            presenters[delivery.presenter]?.pending.append(delivery.id)
            messages[delivery.id] = Pending(delivery: delivery, claim: nil, since: time)
        }
        guard let claim = delivery.awaitedBy else { return }
        outstanding[claim, default: []].append(delivery)
        guard delivery.message.isRelinquish, claims[claim]?.relinquished.contains(where: { $0.message == delivery.id }) == false else { return }
        claims[claim]?.relinquished.append((delivery.presenter, delivery.id))
    }

    /// Returns the presenters that gave up an item for a claim before the claim came to this arbiter.
    func relinquishments(for id: ClaimID) -> [(presenter: PresenterID, message: MessageID)] {
        (outstanding[id] ?? []).filter { $0.message.isRelinquish && presenters[$0.presenter] != nil }.map { ($0.presenter, $0.id) }
    }

    /// Drops the messages that were sent for claims that no client reported again.
    mutating func forgetOutstanding(_ actions: inout [ArbiterAction]) {
        for (id, deliveries) in outstanding where claims[id] == nil {
            outstanding[id] = nil
            for delivery in deliveries where delivery.message.isRelinquish {
                send(self.delivery(of: .reacquire(delivery.id), to: delivery.presenter, delivery.cause), &actions)
            }
        }
    }

    // MARK: Stopped processes

    /// Treats the pending answers of a stopped client as given.
    ///
    /// The messages stay in their presenters' queues, because the client handles them when it continues: later messages
    /// wait for them, and the presenter may make claims while it handles them.
    mutating func passOver(_ client: ClientID) {
        guard passedOver[client] == nil else { return }
        passedOver[client] = []
        for id in presenters.keys where id.client == client {
            for message in presenters[id]?.pending ?? [] {
                guard let claim = messages[message]?.claim else { continue }
                messages[message]?.claim = nil
                claims[claim]?.unanswered.remove(message)
                agenda.append(claim)
            }
        }
    }

    /// Sends a continuing client the messages that it must get, and tells it that it may have missed some.
    mutating func resume(_ client: ClientID, _ actions: inout [ArbiterAction]) {
        guard let owed = passedOver.removeValue(forKey: client) else { return }
        for delivery in owed { send(delivery, &actions) }
        tellOfMissed(client, &actions)
    }

    /// Tells the presenters of a client that they may have missed messages.
    mutating func tellOfMissed(_ client: ClientID, _ actions: inout [ArbiterAction]) {
        let cause = Cause(client: client, process: 0, purpose: .named(""))
        for id in presenters.keys.filter({ $0.client == client }).sorted(by: { $0.number < $1.number }) {
            send(delivery(of: .didChange, to: id, cause), &actions)
        }
    }

    // MARK: Delegations

    /// Returns whether the items of a held claim may be delegated to its client: it writes them all, and no other client
    /// holds a claim or has a presenter there.
    func mayDelegate(_ claim: Claim) -> Bool {
        let client = claim.request.id.client
        return zip(claim.items, claim.places).allSatisfy { item, place in
            guard item.access.writes else { return false }
            var isFree = true
            trie.visitRivals(at: place, access: .write(.forDeleting)) { rival in
                isFree = rival.client == client || claims[rival]?.isHeld != true
                return isFree
            }
            return isFree && !trie.hasPresenters(around: item.lockedPath) { $0.client != client }
        }
    }

    /// Returns a delegation that a preparation must wait for, although no claim blocks the preparation.
    func delegation(against preparation: Claim) -> ClaimID? {
        for (id, claim) in claims where claim.isDelegation && id.client != preparation.request.id.client {
            let roots = claim.items.map(\.path)
            for item in preparation.items where roots.contains(where: { item.path.starts(with: $0) || $0.starts(with: item.path) }) { return id }
        }
        return nil
    }
}
