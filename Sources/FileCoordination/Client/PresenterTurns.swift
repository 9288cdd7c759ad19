import Synchronization

/// The turns of one presenter: it handles its messages one after the other, on a thread outside the cooperative pool.
struct PresenterTurns: Sendable {
    let id: PresenterID
    let client: CoordinationClient

    /// Hands over every message, and returns when none is left.
    func take() async {
        while let (delivery, presenter, location) = next() {
            let isNews = client.state.withLock { $0.registry.entries[id]?.isNews(delivery.message) } ?? true
            let turn = PresenterTurn(delivery: delivery, presenter: presenter, location: location, client: client)
            let answer = isNews ? await turn.take() : .done
            let effects = client.state.withLock { state -> ClientState.Effects in
                switch answer {
                case .done: break
                case .relinquished(let reacquirer): state.registry.entries[id]?.reacquirers[delivery.id] = reacquirer
                case .refused(let error): state.refusals[delivery.id] = error
                }
                let effects = state.effects(of: .handled(delivery.id, answer.forArbiter))
                // The error is kept if a claim of this process fails because of it; the claim may hear of that only
                // from a broker.
                if delivery.awaitedBy.map({ state.waiters[$0] == nil }) ?? true { state.refusals[delivery.id] = nil }
                return effects
            }
            client.perform(effects)
        }
    }

    private func next() -> (Delivery, any FilePresenter, Location?)? {
        // The reference leaves the lock in every case: releasing the last one may run a presenter's `deinit` that calls
        // back here.
        let (next, effects, presenter) = client.state.withLock { state -> ((Delivery, Location?)?, ClientState.Effects, (any FilePresenter)?) in
            guard let entry = state.registry.entries[id] else { return (nil, ClientState.Effects(), nil) }
            guard let presenter = entry.presenter else {
                state.registry.remove(id)
                return (nil, state.effects(of: .removePresenter(id)), nil)
            }
            guard !entry.mailbox.isEmpty else {
                state.registry.entries[id]?.isDraining = false
                return (nil, ClientState.Effects(), presenter)
            }
            let delivery = state.registry.entries[id]?.mailbox.removeFirst() ?? entry.mailbox[0]
            return ((delivery, entry.location), ClientState.Effects(), presenter)
        }
        client.perform(effects)
        // A released presenter needs no watch any more.
        guard let (delivery, location) = next, let presenter else {
            client.watches.follow(id, of: client)
            return nil
        }
        return (delivery, presenter, location)
    }
}
