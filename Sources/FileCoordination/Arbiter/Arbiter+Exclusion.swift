extension Arbiter {
    /// Returns a claim that this claim must wait for: a held one, or an earlier one that it may not pass.
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

    /// Returns every claim that this claim must wait for.
    func blockers(of claim: Claim, passing: Bool = true) -> [ClaimID] {
        var found: [ClaimID] = []
        let surroundings = passing ? surroundings(of: claim) : []
        visitRivals(of: claim) { rival in
            if rival.isHeld || (rival.order < claim.order && !mayPass(surroundings, rival)) { found.append(rival.request.id) }
            return true
        }
        return found
    }

    /// Returns a held claim that conflicts with this claim.
    func holder(against claim: Claim) -> ClaimID? {
        var found: ClaimID?
        visitRivals(of: claim) { rival in
            guard rival.isHeld else { return true }
            found = rival.request.id
            return false
        }
        return found
    }

    /// Returns every held claim that conflicts with this claim; a claim may come more than once.
    func holders(against claim: Claim) -> [ClaimID] {
        var found: [ClaimID] = []
        visitRivals(of: claim) { rival in
            if rival.isHeld { found.append(rival.request.id) }
            return true
        }
        return found
    }

    /// Visits the unfinished claims of other purposes that conflict with this claim; it may visit a claim more than
    /// once.
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

    /// Returns the surroundings of a claim: accessors, messages, and the unanswered questions of the claim's own
    /// presenter.
    ///
    /// The questions count because a presenter may save from a thread that has no task-local values of its method.
    func surroundings(of claim: Claim) -> Set<Surrounding> {
        var found = Set(claim.request.surroundings)
        if let presenter = claim.request.presenter {
            for message in presenters[presenter]?.pending ?? [] where messages[message]?.claim != nil { found.insert(.message(message)) }
        }
        return found
    }

    /// Returns whether a claim with these surroundings may go before a rival that arrived earlier.
    ///
    /// It may if the rival is not held and waits, directly or through other claims, for a surrounding of the claim: the
    /// accessor that contains the claim, or the answer to the message that is being handled. Without this rule, the
    /// claim would wait for itself.
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

    /// Returns the claims and messages that a claim or an unhandled message waits for.
    ///
    /// - A queued claim waits for its blockers. A claim that asks waits for its presenters' answers. A held claim waits
    ///   for the claims nested in it.
    /// - A message waits for the message before it in its presenter's queue, and for the claims made while it is
    ///   handled.
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
            case .answered: return holders(against: claim).map { .claim($0) }
            case .held: return issuedWithin[node]?.map { .claim($0) } ?? []
            }
        case .message(let id):
            guard let pending = messages[id], let queue = presenters[pending.delivery.presenter]?.pending else { return [] }
            let before = queue.firstIndex(of: id).flatMap { $0 > 0 ? [Surrounding.message(queue[$0 - 1])] : nil } ?? []
            return before + (issuedWithin[node]?.map { .claim($0) } ?? [])
        }
    }

    /// Fails the youngest waiting claim of a cycle of waits through this claim, if there is a cycle.
    mutating func breakCycle(through id: ClaimID, _ actions: inout [ArbiterAction]) {
        // Only a nested claim can make an earlier claim wait for a later one. Without nested claims there is no cycle.
        guard !issuedWithin.isEmpty, let cycle = cycle(through: id) else { return }
        let waiting = cycle.compactMap { node -> Claim? in
            guard case .claim(let id) = node, let claim = claims[id], !claim.isHeld else { return nil }
            return claim
        }
        guard let youngest = waiting.max(by: { $0.order < $1.order }) else { return }
        fail(youngest.request.id, .cycle(steps(of: cycle, from: youngest.request.id)), &actions)
    }

    /// Returns the shortest cycle of waits that starts and ends at a claim.
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

    /// Returns everything that a claim waits for now, for the error of a deadline.
    func obstacles(of id: ClaimID) -> [WaitStep] {
        var seen: Set<Surrounding> = []
        return awaited(by: .claim(id)).filter { seen.insert($0).inserted }.map(step)
    }
}
