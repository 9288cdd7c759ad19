import Dispatch
import SystemPackage

// The authority may change: a broker delegates subtrees to this client and takes them back.
extension ClientState {
    /// Gives an event to the client's own arbiter, or to the broker if required.
    mutating func handle(_ event: ArbiterEvent, under delegated: Delegated) -> [ArbiterAction] {
        switch event {
        case .request(let request):
            guard enter(delegated), isValid, request.items.allSatisfy(delegated.covers) else {
                giveBack()
                let actions = mirror.handle(event, isOnline: connection != nil)
                send(.event(event))
                return actions
            }
        case .handled(let id, _) where mirror.messages[id] != nil:
            // The broker waits for this event. The client's own arbiter also knows the subject, unless it is older than
            // the delegation.
            let actions = handleBeside(event)
            guard arbiter.messages[id] != nil else { return actions }
        case .handled(let id, _) where arbiter.messages[id] == nil: return handleBeside(event)
        case .attributesChanged, .versionChanged: return handleBeside(event)
        // It goes the way of what the version's author tells, so that no presenter hears it before that.
        case .noticed(_, let message) where message.isOfVersion: return handleBeside(event)
        // Only the authority over the place knows whether a claim writes there.
        case .noticed(let id, let message) where !delegated.covers(message.subitems + [path(of: id)].compactMap { $0 }): return handleBeside(event)
        case .noticed:
            // Where the broker has taken the delegation back, another process may be the writer, and the broker tells its
            // writes.
            guard enter(delegated) else {
                giveBack()
                return handleBeside(event)
            }
        case .addPresenter, .removePresenter: _ = handleBeside(event)
        default: break
        }
        // Other events of presenters do not matter when the delegation ends, so they need not enter.
        let actions = decide(event)
        switch event {
        case .moved, .relocatePresenter, .noticed(_, .didMove): tellOfRelocations()
        default: break
        }
        leaveIfQuiet()
        return actions
    }

    /// Starts an operation under a delegation.
    ///
    /// - Returns: false if the broker has taken it back.
    private mutating func enter(_ delegated: Delegated) -> Bool {
        if delegated.isBusy { return true }
        guard delegated.word?.enter(delegated.number) != false else { return false }
        setBusy(true)
        return true
    }

    /// Whether the delegation is still reliable: a new broker waits two seconds for clients that have one.
    private var isValid: Bool { connection != nil || ContinuousClock.now - lostConnection < .seconds(1) }

    private mutating func leaveIfQuiet() {
        guard case .delegated(let delegated) = authority, delegated.isBusy, arbiter.isQuiet else { return }
        delegated.word?.leave(delegated.number)
        setBusy(false)
    }

    private mutating func setBusy(_ isBusy: Bool) {
        guard case .delegated(var delegated) = authority else { return }
        delegated.isBusy = isBusy
        authority = .delegated(delegated)
    }

    /// Tells the broker, and records the event for the next broker.
    private mutating func handleBeside(_ event: ArbiterEvent) -> [ArbiterAction] {
        let actions = mirror.handle(event, isOnline: connection != nil)
        send(.event(event))
        return actions
    }

    /// Tells the broker the current paths of presenters.
    private mutating func tellOfRelocations() {
        for (id, presenter) in arbiter.presenters where mirror.presenters[id]?.path != presenter.path {
            _ = handleBeside(.relocatePresenter(id, presenter.path))
        }
    }

    // MARK: Change of authority

    /// Accepts a delegation, at once or after all claims and messages at the broker have ended.
    mutating func accept(_ delegation: BrokerFrame.Delegation) {
        connection?.offer = delegation
        acceptWhenQuiet()
    }

    mutating func acceptWhenQuiet() {
        guard case .broker = authority, mirror.claims.isEmpty, let connection, let delegation = connection.offer else { return }
        self.connection?.offer = nil
        arbiter = Self.newArbiter(of: client)
        // This includes unhandled messages, because presenters may make claims while they handle them.
        var holdings = mirror.holdings
        holdings.messages.removeAll(where: \.isAnswered)
        _ = decide(.adopted(client, holdings))
        connection.word?.accept(delegation.number, isBusy: false)
        authority = .delegated(
            Delegated(
                number: delegation.number, roots: delegation.roots.map { .init(path: $0, depth: $0.components.count) }, word: connection.word))
    }

    /// Returns a delegation; the broker decides from now on.
    mutating func giveBack(_ number: UInt64? = nil) {
        if let offer = connection?.offer {
            connection?.offer = nil
            return send(.returned(offer.number, nil))
        }
        guard case .delegated(let delegated) = authority, number == nil || number == delegated.number else { return }
        let holdings = arbiter.holdings(of: client)
        mirror.take(holdings)
        authority = .broker
        arbiter = Self.newArbiter(of: client)
        send(.returned(delegated.number, holdings))
    }

    // MARK: The connection

    /// Returns the first frame for a broker.
    mutating func hello(name: String) -> BrokerFrame.Hello {
        // The previous broker may have taken the delegation back just before it ended.
        if case .delegated(let delegated) = authority, !enter(delegated) { giveBack() }
        var hello = BrokerFrame.Hello(client: client, name: name, isObserver: false)
        if case .delegated(let delegated) = authority { hello.delegation = .init(number: delegated.number, roots: delegated.roots.map(\.path)) }
        return hello
    }

    /// Handles the acceptance by a broker.
    ///
    /// - Parameters:
    ///   - epoch: the broker's epoch.
    ///   - word: the shared word that takes back delegations.
    ///   - hello: the hello that the broker received.
    ///   - isOther: whether this client was connected to another broker before.
    mutating func connected(_ epoch: UInt64, _ word: SharedWord?, after hello: BrokerFrame.Hello, isOther: Bool) {
        connection = Connection(epoch: epoch, word: word)
        if case .delegated(var delegated) = authority, delegated.number == hello.delegation?.number {
            delegated.word = word
            delegated.isBusy = !arbiter.isQuiet
            word?.accept(delegated.number, isBusy: delegated.isBusy)
            authority = .delegated(delegated)
            send(.reclaim(mirror.holdings, hasMissed: isOther))
        } else {
            send(.reclaim(mirror.holdings, hasMissed: isOther))
            if let number = hello.delegation?.number { send(.returned(number, nil)) }
        }
        for event in mirror.takeAnnouncements() { send(.event(event)) }
        for number in pings.keys { send(.ping(number)) }
    }

    /// Handles an action of the broker.
    mutating func receive(_ action: ArbiterAction) -> Effects {
        var effects = Effects()
        guard let action = withoutEcho(action) else { return effects }
        var isReturned = false
        if case .deliver(let delivery) = action, case .reacquire(let message) = delivery.message {
            isReturned = mirror.messages[message]?.delivery.message == .relinquishToWriter
        }
        switch mirror.receive(action) {
        case .ignore: return effects
        case .tell(let event):
            send(.event(event))
            return effects
        case .apply: break
        }
        trace?(nil, [action])
        apply([action], &effects)
        guard case .deliver(let delivery) = action else { return effects }
        if case .delegated = authority {
            var holdings = Holdings()
            holdings.presenters = arbiter.holdings(of: client).presenters
            holdings.messages = [.init(delivery: delivery, isAnswered: false)]
            if case .didMove(let path) = delivery.message, let index = holdings.presenters.firstIndex(where: { $0.id == delivery.presenter }) {
                holdings.presenters[index].move(to: path, toldBy: delivery.id)
            }
            decideBeside(.adopted(client, holdings), &effects)
        }
        if case .didMove = delivery.message { effects.moved.append(delivery.presenter) }
        if delivery.cause.client != client { noteForeign(delivery, isReturned: isReturned, &effects) }
        return effects
    }

    /// Tells the client's own arbiter about the broker's actions.
    private mutating func decideBeside(_ event: ArbiterEvent, _ effects: inout Effects) {
        let actions = decide(event)
        guard !actions.isEmpty else { return }
        trace?(nil, actions)
        apply(actions, &effects)
    }

    /// Fails every claim that waits for the broker.
    mutating func failWaiting(_ reason: String) -> Effects {
        var effects = Effects()
        for number in Array(pings.keys) { pong(number) }
        let actions = mirror.failWaiting(.rejected(reason))
        trace?(nil, actions)
        apply(actions, &effects)
        return effects
    }
}

extension ClientState.Delegated {
    /// Returns whether the delegation covers a claim on an item and everything that the claim affects.
    func covers(_ item: ClaimItem) -> Bool {
        roots.contains { $0.depth == 0 || ($0.depth <= item.lockDepth && item.path.starts(with: $0.path)) }
    }

    /// Returns whether the delegation covers all these places.
    func covers(_ paths: [FilePath]) -> Bool {
        paths.allSatisfy { path in roots.contains { $0.depth == 0 || path.starts(with: $0.path) } }
    }
}

extension PresenterMessage {
    /// Whether the message reports a change on disk.
    var isChange: Bool {
        switch self {
        case .didChange, .didMove, .didDisappear, .subitemDidAppear, .subitemDidMove, .subitemDidChange: true
        default: false
        }
    }
}
