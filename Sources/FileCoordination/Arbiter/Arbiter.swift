import SystemPackage

/// Decides which claims may access files, and which presenters must be asked or told.
///
/// The arbiter is a pure state machine: it takes events and returns actions. It uses no clock, file, process or lock.
/// Events bring every fact about the file system, and plain values name every client. One process can therefore use it
/// directly, and a broker can use it for many processes.
///
/// The rule of exclusion is one sentence: *a claim is granted when no conflicting claim is held and no conflicting
/// claim that arrived earlier is unfinished*. There is one exception: a claim may pass a waiting claim that itself
/// waits for one of the claim's surroundings (see `mayPass`).
package struct Arbiter: Sendable {
    struct Client: Sendable {
        let process: Int32
        let name: String
    }

    struct Presenter: Sendable {
        let id: PresenterID
        /// The path of its item; nil while it has none.
        var path: FilePath?
        let observedAttributes: Set<String>
        /// Messages that were sent and are not handled yet, in order.
        var pending: [MessageID] = []
        var unhandledMoves = UnhandledMoves()
    }

    /// A message that was sent and is not handled yet.
    struct Pending: Sendable {
        let delivery: Delivery
        /// The claim that waits for the answer.
        var claim: ClaimID?
        let since: UInt64
    }

    /// The host's monotonic time in nanoseconds, set before each event and used only for listings.
    package var time: UInt64 = 0

    var clients: [ClientID: Client] = [:]
    var claims: [ClaimID: Claim] = [:]
    var presenters: [PresenterID: Presenter] = [:]
    var messages: [MessageID: Pending] = [:]
    var trie = PathTrie()
    /// The claims to check again after a claim has ended.
    var followers: [ClaimID: [ClaimID]] = [:]
    /// Unfinished claims by their surroundings.
    var issuedWithin: [Surrounding: [ClaimID]] = [:]
    /// Waiting claims that may pass others.
    var passing: Set<ClaimID> = []
    /// Claims to check before the current event is finished.
    var agenda: [ClaimID] = []
    /// Open messages that another arbiter sent for claims; they keep their identifiers when they are sent again.
    var outstanding: [ClaimID: [Delivery]] = [:]
    /// Stopped clients, whose presenters get no messages; each with the messages to send when it continues.
    var passedOver: [ClientID: [Delivery]] = [:]
    private var nextOrder: UInt64 = 0
    private var nextMessage: UInt64

    /// Makes an arbiter.
    ///
    /// - Parameter firstMessage: the number of its first message. Arbiters that exchange clients need separate ranges.
    package init(firstMessage: UInt64 = 0) {
        nextMessage = firstMessage
    }

    /// Handles an event.
    ///
    /// - Parameter event: what happened.
    /// - Returns: the actions to perform, in this order.
    package mutating func handle(_ event: ArbiterEvent) -> [ArbiterAction] {
        var actions: [ArbiterAction] = []
        switch event {
        case .clientJoined(let id, let process, let name): clients[id] = Client(process: process, name: name)
        case .clientGone(let id): remove(id, &actions)
        case .request(let request): admit(request)
        case .end(let id, let observations): end(id, observations, &actions)
        case .cancel(let id): fail(id, .cancelled, &actions)
        case .deadline(let id): fail(id, claims[id]?.refusal ?? .deadline(obstacles(of: id)), &actions)
        case .moved(let id, let move): note(move, by: id, &actions)
        case .addPresenter(let id, let path, let observed): add(id, at: path, observing: observed)
        case .removePresenter(let id): remove(id)
        case .relocatePresenter(let id, let path): relocate(id, to: path.map { presenters[id]?.unhandledMoves.presentPath($0) ?? $0 })
        case .noticed(let id, let message): notice(message, by: id, &actions)
        case .handled(let id, let answer): take(answer, to: id, &actions)
        case .attributesChanged(let path, let attributes, let cause): tell(ofAttributes: attributes, at: path, cause, &actions)
        case .versionChanged(let path, let event, let version, let cause): tell(of: event, version, at: path, cause, &actions)
        case .adopted(let id, let holdings): adopt(holdings, of: id, &actions)
        case .passedOver(let id): passOver(id)
        case .resumed(let id): resume(id, &actions)
        case .missed(let id): tellOfMissed(id, &actions)
        }
        settle(&actions)
        return actions
    }

    // MARK: Claims

    /// Adds a request.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - isMapped: whether the paths of its items already include all moves.
    mutating func admit(_ request: ClaimRequest, isMapped: Bool = false) {
        precondition(claims[request.id] == nil, "\(request.id) was requested twice")
        precondition(!request.items.isEmpty, "\(request.id) names no item")
        var claim = Claim(request: request, order: nextOrder, since: time, items: isMapped ? request.items : items(of: request))
        nextOrder += 1
        stand(&claim)
        claim.relinquished = relinquishments(for: request.id)
        if claim.mayPass { passing.insert(request.id) }
        claims[request.id] = claim
        agenda.append(request.id)
    }

    private mutating func stand(_ claim: inout Claim) {
        if !claim.request.isPreparation {
            claim.places = claim.items.map { trie.stand(claim.request.id, on: $0) }
        }
        for surrounding in claim.request.surroundings { issuedWithin[surrounding, default: []].append(claim.request.id) }
    }

    /// Adds a claim that another arbiter granted, without asking any presenter.
    mutating func hold(_ request: ClaimRequest, items: [ClaimItem]) {
        var claim = Claim(request: request, order: nextOrder, since: time, items: items)
        nextOrder += 1
        claim.phase = .held
        stand(&claim)
        claim.relinquished = relinquishments(for: request.id)
        claims[request.id] = claim
    }

    /// Returns the items of a request, with the moves applied that the asking presenter does not know yet.
    private func items(of request: ClaimRequest) -> [ClaimItem] {
        guard request.presenter != nil || !request.surroundings.isEmpty, !presenters.isEmpty else { return request.items }
        var askers = request.presenter.map { [$0] } ?? []
        for case .message(let id) in request.surroundings {
            if let presenter = messages[id]?.delivery.presenter, !askers.contains(presenter) { askers.append(presenter) }
        }
        let moves = askers.compactMap { presenters[$0]?.unhandledMoves }
        return request.items.map { item in moves.reduce(item) { $1.presentItem($0) } }
    }

    /// Checks the claims that may now be granted, oldest first.
    private mutating func settle(_ actions: inout [ArbiterAction]) {
        while true {
            while !agenda.isEmpty {
                let round = agenda
                agenda = []
                for id in round { advance(id, &actions) }
            }
            // Any event may change which claims these may pass. Every cycle contains one of them too, because all other
            // waits lead from later to earlier claims.
            let before = actions.count
            for id in inOrder(passing) { advance(id, &actions) }
            guard actions.count > before || !agenda.isEmpty else { return }
        }
    }

    /// Advances a waiting claim as far as possible.
    private mutating func advance(_ id: ClaimID, _ actions: inout [ArbiterAction]) {
        guard let claim = claims[id] else { return }
        switch claim.phase {
        case .held: return
        case .queued(let previous):
            unfollow(previous, id)
            if let blocker = claim.request.isPreparation ? delegation(against: claim) : blocker(of: claim) {
                claims[id]?.phase = .queued(behind: blocker)
                followers[blocker, default: []].append(id)
                return breakCycle(through: id, &actions)
            }
            let questions = questions(of: claim)
            guard !questions.isEmpty else { return grant(id, &actions) }
            claims[id]?.phase = .asking
            for (presenter, message) in questions { ask(presenter, message, for: id, &actions) }
            // All presenters that would have to answer may be stopped.
            if claims[id]?.unanswered.isEmpty == true { return advance(id, &actions) }
            breakCycle(through: id, &actions)
        case .asking:
            guard claim.unanswered.isEmpty else { return breakCycle(through: id, &actions) }
            if let refusal = claim.refusal { return fail(id, refusal, &actions) }
            claims[id]?.phase = .answered(behind: nil)
            advance(id, &actions)
        case .answered(let previous):
            unfollow(previous, id)
            if !claim.request.isPreparation, let blocker = holder(against: claim) {
                claims[id]?.phase = .answered(behind: blocker)
                followers[blocker, default: []].append(id)
                return breakCycle(through: id, &actions)
            }
            grant(id, &actions)
        }
    }

    private mutating func unfollow(_ previous: ClaimID?, _ id: ClaimID) {
        guard let previous, let index = followers[previous]?.firstIndex(of: id) else { return }
        followers[previous]?.remove(at: index)
    }

    private mutating func grant(_ id: ClaimID, _ actions: inout [ArbiterAction]) {
        claims[id]?.phase = .held
        passing.remove(id)
        guard let claim = claims[id] else { return }
        let isPresented = trie.presenterCount > 0 && written(by: claim) { hasAudience($0, claim, ownIncluded: true) }
        let isObserved = isPresented && written(by: claim) { hasAudience($0, claim, ownIncluded: false) }
        actions.append(.grant(id, Grant(paths: claim.items.map(\.path), isObserved: isObserved, isPresented: isPresented)))
    }

    /// Returns whether any item that a claim writes meets a condition.
    private func written(by claim: Claim, _ condition: (Int) -> Bool) -> Bool {
        !claim.request.isPreparation && claim.items.indices.contains { claim.items[$0].access.writes && condition($0) }
    }

    private mutating func end(_ id: ClaimID, _ observations: [Observation], _ actions: inout [ArbiterAction]) {
        guard let claim = claims[id], claim.isHeld else { return }
        tellOfChanges(by: claim, observations, &actions)
        discharge(claim)
        reacquire(claim, &actions)
    }

    /// Fails a claim that still waits; a held claim continues.
    mutating func fail(_ id: ClaimID, _ failure: ClaimFailure, _ actions: inout [ArbiterAction]) {
        guard let claim = claims[id], !claim.isHeld else { return }
        discharge(claim)
        actions.append(.fail(id, failure))
        reacquire(claim, &actions)
    }

    /// Removes a claim, so that other claims can continue.
    private mutating func discharge(_ claim: Claim) {
        let id = claim.request.id
        claims[id] = nil
        outstanding[id] = nil
        passing.remove(id)
        if !claim.request.isPreparation {
            for (item, place) in zip(claim.items, claim.places) { trie.leave(id, item, at: place) }
        }
        switch claim.phase {
        case .queued(let previous), .answered(let previous): unfollow(previous, id)
        case .asking, .held: break
        }
        for message in claim.unanswered { messages[message]?.claim = nil }
        for surrounding in claim.request.surroundings {
            issuedWithin[surrounding]?.removeAll { $0 == id }
            if issuedWithin[surrounding]?.isEmpty == true { issuedWithin[surrounding] = nil }
        }
        agenda += inOrder(followers.removeValue(forKey: id) ?? [])
    }

    func inOrder(_ ids: some Collection<ClaimID>) -> [ClaimID] {
        guard ids.count > 1 else { return Array(ids) }
        return ids.sorted { (claims[$0]?.order ?? 0) < (claims[$1]?.order ?? 0) }
    }

    private mutating func remove(_ client: ClientID, _ actions: inout [ArbiterAction]) {
        for id in presenters.keys.filter({ $0.client == client }) { remove(id) }
        passedOver[client] = nil
        for id in inOrder(claims.keys.filter { $0.client == client }) {
            guard let claim = claims[id] else { continue }
            if claim.isHeld { tellOfChanges(by: claim, [], &actions) }
            discharge(claim)
            reacquire(claim, &actions)
        }
        clients[client] = nil
    }

    // MARK: Messages

    /// Sends a message that a claim waits for.
    private mutating func ask(
        _ presenter: PresenterID, _ message: PresenterMessage, for id: ClaimID, _ actions: inout [ArbiterAction]
    ) {
        guard let claim = claims[id], passedOver[presenter.client] == nil else { return }
        var delivery = delivery(of: message, to: presenter, cause(of: claim), awaitedBy: id)
        if let known = outstanding[id]?.first(where: { $0.presenter == presenter && $0.message == message }) { delivery = known }
        claims[id]?.unanswered.insert(delivery.id)
        if message.isRelinquish, !claim.relinquished.contains(where: { $0.message == delivery.id }) {
            claims[id]?.relinquished.append((presenter, delivery.id))
        }
        guard messages[delivery.id] == nil else {
            // The message was sent before or is being handled. It may have been lost, so it is sent again with its old
            // identifier.
            messages[delivery.id]?.claim = id
            return actions.append(.deliver(delivery))
        }
        send(delivery, &actions)
    }

    mutating func send(_ delivery: Delivery, _ actions: inout [ArbiterAction]) {
        guard presenters[delivery.presenter] != nil else { return }
        if passedOver[delivery.presenter.client] != nil {
            // Presenters must still get every reacquire. One change replaces all other messages.
            if case .reacquire = delivery.message { passedOver[delivery.presenter.client]?.append(delivery) }
            return
        }
        presenters[delivery.presenter]?.pending.append(delivery.id)
        messages[delivery.id] = Pending(delivery: delivery, claim: delivery.awaitedBy, since: time)
        actions.append(.deliver(delivery))
    }

    mutating func delivery(
        of message: PresenterMessage, to presenter: PresenterID, _ cause: Cause, awaitedBy claim: ClaimID? = nil
    ) -> Delivery {
        defer { nextMessage += 1 }
        return Delivery(id: MessageID(nextMessage), presenter: presenter, message: message, cause: cause, awaitedBy: claim)
    }

    func cause(of claim: Claim) -> Cause {
        let client = claim.request.id.client
        return Cause(client: client, process: clients[client]?.process ?? 0, purpose: claim.request.purpose)
    }

    private mutating func take(_ answer: ArbiterEvent.Answer, to id: MessageID, _ actions: inout [ArbiterAction]) {
        guard let pending = messages.removeValue(forKey: id) else { return }
        let presenter = pending.delivery.presenter
        presenters[presenter]?.pending.removeAll { $0 == id }
        presenters[presenter]?.unhandledMoves.remove(id)
        guard let claim = pending.claim else { return }
        claims[claim]?.unanswered.remove(id)
        // The other presenters still get their questions, so that a claim that only announces something reaches all of them.
        if case .refused(let reason) = answer, claims[claim]?.refusal == nil { claims[claim]?.refusal = .refused(id, presenter, reason) }
        agenda.append(claim)
    }

    /// Tells presenters to take back the items that they gave up for a claim that has ended.
    mutating func reacquire(_ claim: Claim, _ actions: inout [ArbiterAction]) {
        for (presenter, message) in claim.relinquished {
            send(delivery(of: .reacquire(message), to: presenter, cause(of: claim)), &actions)
        }
    }

    // MARK: Presenters

    mutating func add(_ id: PresenterID, at path: FilePath?, observing attributes: Set<String>) {
        precondition(presenters[id] == nil, "\(id) was added twice")
        presenters[id] = Presenter(id: id, path: path, observedAttributes: attributes)
        if let path { trie.stand(id, at: path) }
    }

    /// Removes a presenter; its unanswered messages count as answered.
    mutating func remove(_ id: PresenterID) {
        guard let presenter = presenters.removeValue(forKey: id) else { return }
        if let path = presenter.path { trie.leave(id, at: path) }
        for message in presenter.pending {
            guard let claim = messages.removeValue(forKey: message)?.claim else { continue }
            claims[claim]?.unanswered.remove(message)
            agenda.append(claim)
        }
    }

    mutating func relocate(_ id: PresenterID, to path: FilePath?) {
        guard let presenter = presenters[id], presenter.path != path else { return }
        if let old = presenter.path { trie.leave(id, at: old) }
        if let path { trie.stand(id, at: path) }
        presenters[id]?.path = path
    }
}
