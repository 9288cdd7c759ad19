import SystemPackage

/// Everything that one client has to do with: what it tells a broker that takes over, from another broker or from the client itself.
package struct Holdings: Sendable {
    /// A registered presenter.
    struct Presenter: Sendable {
        let id: PresenterID
        var path: FilePath?
        let observedAttributes: Set<String>
        var unhandledMoves = UnhandledMoves()

        /// The presenter has said where its item is.
        mutating func relocate(to path: FilePath?) { self.path = path.map(unhandledMoves.presentPath) }

        /// The item is elsewhere, which a message tells.
        mutating func move(to path: FilePath, toldBy message: MessageID) {
            if let old = self.path, old != path { unhandledMoves.add(Move(from: old, to: path), toldBy: message) }
            self.path = path
        }
    }

    /// A claim, held or waiting.
    struct Claim: Sendable {
        let request: ClaimRequest
        /// The items as they are now.
        let items: [ClaimItem]
        let isHeld: Bool
        /// What its accessor has moved.
        var moves: [Move] = []
        /// What presenters will hear of that when the accessor is done.
        var moveNotes: [Delivery] = []

        /// The request for the items as they are now.
        var presentRequest: ClaimRequest {
            ClaimRequest(
                id: request.id, coordinator: request.coordinator, purpose: request.purpose, presenter: request.presenter,
                surroundings: request.surroundings, items: items, isPreparation: request.isPreparation)
        }
    }

    /// A message that one of its presenters got.
    struct Message: Sendable {
        let delivery: Delivery
        let isAnswered: Bool
    }

    var presenters: [Presenter] = []
    /// In the order in which they were requested.
    var claims: [Claim] = []
    /// What its presenters have not handled, in order, and the questions that they have answered and that may be asked again.
    var messages: [Message] = []

    package init() {}
}

extension Arbiter {
    /// What a client holds, awaits and presents.
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

    /// Whether nothing goes on that another arbiter would have to know of.
    var isQuiet: Bool { claims.isEmpty && messages.isEmpty }

    /// Replaces what is known of a client by what it says itself.
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

    /// Takes in a message that another arbiter has sent: it stands in its presenter's queue, and a claim that asks again gets its answer.
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

    /// The presenters that gave an item up for a claim before it came to this arbiter.
    func relinquishments(for id: ClaimID) -> [(presenter: PresenterID, message: MessageID)] {
        (outstanding[id] ?? []).filter { $0.message.isRelinquish && presenters[$0.presenter] != nil }.map { ($0.presenter, $0.id) }
    }

    /// Lets go of messages that were sent for claims which nobody has claimed again.
    mutating func forgetOutstanding(_ actions: inout [ArbiterAction]) {
        for (id, deliveries) in outstanding where claims[id] == nil {
            outstanding[id] = nil
            for delivery in deliveries where delivery.message.isRelinquish {
                send(self.delivery(of: .reacquire(delivery.id), to: delivery.presenter, delivery.cause), &actions)
            }
        }
    }

    // MARK: Stopped processes

    /// Takes what a stopped client has not answered as given.
    ///
    /// The messages stay in their presenters' queues, for once the client goes on it handles them: what comes later waits for that, and
    /// claims may be made within.
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

    /// Tells a client that goes on what it must know, and that it may have missed something.
    mutating func resume(_ client: ClientID, _ actions: inout [ArbiterAction]) {
        guard let owed = passedOver.removeValue(forKey: client) else { return }
        for delivery in owed { send(delivery, &actions) }
        tellOfMissed(client, &actions)
    }

    /// Tells the presenters of a client that they may have missed something.
    mutating func tellOfMissed(_ client: ClientID, _ actions: inout [ArbiterAction]) {
        let cause = Cause(client: client, process: 0, purpose: .named(""))
        for id in presenters.keys.filter({ $0.client == client }).sorted(by: { $0.number < $1.number }) {
            send(delivery(of: .didChange, to: id, cause), &actions)
        }
    }

    // MARK: Delegations

    /// A delegation because of which a preparation, which no claim is in the way of, has to wait all the same.
    func delegation(against preparation: Claim) -> ClaimID? {
        for (id, claim) in claims where claim.isDelegation && id.client != preparation.request.id.client {
            let roots = claim.items.map(\.path)
            for item in preparation.items where roots.contains(where: { item.path.starts(with: $0) || $0.starts(with: item.path) }) { return id }
        }
        return nil
    }
}
