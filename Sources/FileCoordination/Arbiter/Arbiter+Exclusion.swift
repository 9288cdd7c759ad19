extension Arbiter {
    /// A claim because of which this one must wait: one that is held, or one that arrived earlier and may not be passed.
    func blocker(of claim: Claim) -> ClaimID? {
        var found: ClaimID?
        let surroundings = surroundings(of: claim)
        visitRivals(of: claim) { rival in
            guard rival.isHeld || (rival.order < claim.order && !mayPass(surroundings, rival)) else { return true }
            found = rival.request.id
            return false
        }
        return found
    }

    /// Every claim because of which this one must wait.
    func blockers(of claim: Claim, passing: Bool = true) -> [ClaimID] {
        var found: [ClaimID] = []
        let surroundings = passing ? surroundings(of: claim) : []
        visitRivals(of: claim) { rival in
            if rival.isHeld || (rival.order < claim.order && !mayPass(surroundings, rival)) { found.append(rival.request.id) }
            return true
        }
        return found
    }

    /// A held claim that conflicts with this one.
    func holder(against claim: Claim) -> ClaimID? {
        var found: ClaimID?
        visitRivals(of: claim) { rival in
            guard rival.isHeld else { return true }
            found = rival.request.id
            return false
        }
        return found
    }

    /// Visits the unfinished claims of another purpose that conflict with this one; a claim may come more than once.
    func visitRivals(of claim: Claim, _ body: (Claim) -> Bool) {
        let id = claim.request.id
        var goesOn = true
        for (item, place) in zip(claim.items, claim.places) where goesOn {
            trie.visitRivals(at: place, access: item.access) { rival in
                guard rival != id, let rival = claims[rival], rival.request.purpose != claim.request.purpose else { return true }
                if case .delegation(id.client) = rival.request.purpose { return true }
                goesOn = body(rival)
                return goesOn
            }
        }
    }

    // MARK: Passing

    /// What a claim was issued within: accessors, messages, and the questions that the presenter it is made for has yet to answer.
    ///
    /// The last are there because a presenter may save from a thread that has no task-local values of its method (C-52).
    func surroundings(of claim: Claim) -> Set<Surrounding> {
        var found = Set(claim.request.surroundings)
        if let presenter = claim.request.presenter {
            for message in presenters[presenter]?.pending ?? [] where messages[message]?.claim != nil { found.insert(.message(message)) }
        }
        return found
    }

    /// Whether a claim with these surroundings may go before a rival that arrived earlier.
    ///
    /// It may when the rival is not held and itself waits, directly or by way of others, for what surrounds the claim: for the
    /// accessor that the claim is nested in (C-51), or for the answer to the message in whose handling the claim is made (C-52).
    /// Waiting its turn behind such a rival would be waiting for itself.
    func mayPass(_ surroundings: Set<Surrounding>, _ rival: Claim) -> Bool {
        guard !surroundings.isEmpty, !rival.isHeld else { return false }
        var seen: Set<Surrounding> = []
        var open: [Surrounding] = [.claim(rival.request.id)]
        while let next = open.popLast() {
            for awaited in awaited(by: next, passing: false) where seen.insert(awaited).inserted {
                if surroundings.contains(awaited) { return true }
                open.append(awaited)
            }
        }
        return false
    }

    // MARK: The wait-for graph

    /// What a claim or an unhandled message waits for.
    ///
    /// - A queued claim waits for its blockers, one that asks for its presenters' answers, a held one for the claims nested in it.
    /// - A message waits for the one before it in its presenter's queue, and for the claims made while it is handled.
    ///
    /// - Parameters:
    ///   - node: a claim or message.
    ///   - passing: whether to leave out the claims that a waiting claim may pass.
    /// - Returns: claims and messages; a claim may come more than once.
    func awaited(by node: Surrounding, passing: Bool = true) -> [Surrounding] {
        switch node {
        case .claim(let id):
            guard let claim = claims[id] else { return [] }
            switch claim.phase {
            case .queued: return blockers(of: claim, passing: passing).map { .claim($0) }
            case .asking: return claim.unanswered.sorted { $0.number < $1.number }.map { .message($0) }
            case .answered: return holder(against: claim).map { [.claim($0)] } ?? []
            case .held: return issuedWithin[node]?.map { .claim($0) } ?? []
            }
        case .message(let id):
            guard let pending = messages[id], let queue = presenters[pending.delivery.presenter]?.pending else { return [] }
            let before = queue.firstIndex(of: id).flatMap { $0 > 0 ? [Surrounding.message(queue[$0 - 1])] : nil } ?? []
            return before + (issuedWithin[node]?.map { .claim($0) } ?? [])
        }
    }

    /// Fails the youngest waiting claim of a cycle of waits through a claim, if there is one.
    mutating func breakCycle(through id: ClaimID, _ actions: inout [ArbiterAction]) {
        // Waits lead from later to earlier claims except by way of nested claims, so without those there is no cycle.
        guard !issuedWithin.isEmpty, let cycle = cycle(through: id) else { return }
        let waiting = cycle.compactMap { node -> Claim? in
            guard case .claim(let id) = node, let claim = claims[id], !claim.isHeld else { return nil }
            return claim
        }
        guard let youngest = waiting.max(by: { $0.order < $1.order }) else { return }
        fail(youngest.request.id, .cycle(steps(of: cycle, from: youngest.request.id)), &actions)
    }

    /// The shortest way from a claim over what it waits for back to itself.
    private func cycle(through id: ClaimID) -> [Surrounding]? {
        let start = Surrounding.claim(id)
        var reachedFrom: [Surrounding: Surrounding] = [:]
        var open = [start]
        while !open.isEmpty {
            var next: [Surrounding] = []
            for node in open {
                for awaited in awaited(by: node) {
                    if awaited == start {
                        var path = [node]
                        while let last = path.last, last != start, let before = reachedFrom[last] { path.append(before) }
                        return path.reversed()
                    }
                    guard reachedFrom[awaited] == nil else { continue }
                    reachedFrom[awaited] = node
                    next.append(awaited)
                }
            }
            open = next
        }
        return nil
    }

    private func steps(of cycle: [Surrounding], from id: ClaimID) -> [WaitStep] {
        let start = cycle.firstIndex(of: .claim(id)) ?? 0
        return (cycle[start...] + cycle[..<start]).map(step)
    }

    /// What a claim waits for right now, for the error of a deadline.
    func obstacles(of id: ClaimID) -> [WaitStep] {
        var seen: Set<Surrounding> = []
        return awaited(by: .claim(id)).filter { seen.insert($0).inserted }.map(step)
    }
}
