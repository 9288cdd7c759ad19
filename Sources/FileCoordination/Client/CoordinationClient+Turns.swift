import Foundation
import Synchronization

// Presenters' turns: each presenter handles its messages one after the other, on a thread outside the cooperative pool.
extension CoordinationClient {
    /// Reads a presenter's URL again at the end of an access made on its behalf; reads the observed attributes too if
    /// the presenter had no URL before.
    ///
    /// If the URL has changed, this returns after the broker knows it, as ``add(_:)`` does.
    func readAgainURL(of id: PresenterID) {
        let entry = state.withLock { $0.registry.entries[id] }
        guard let entry, let presenter = entry.presenter else { return }
        let url = presenter.presentedItemURL
        guard url != entry.location?.url else { return }
        let location = url.flatMap { try? Location($0) }
        let isFirst = entry.location == nil && location != nil
        let observed = isFirst ? Set(presenter.observedPresentedItemUbiquityAttributes.map(\.rawValue)) : entry.observed
        let effects = state.withLock { state -> ClientState.Effects in
            var effects = ClientState.Effects()
            guard state.registry.entries[id] != nil else { return effects }
            state.registry.entries[id]?.location = location
            state.registry.entries[id]?.observed = observed
            let before = state.path(of: id)
            // A URL that only follows the item leads to the known path.
            defer { if state.path(of: id) != before { state.registry.noteOtherItem(of: id) } }
            guard observed != entry.observed else { return state.effects(of: .relocatePresenter(id, location?.path)) }
            // A presenter without a URL gets no messages, so none are lost.
            state.apply(state.handle(.removePresenter(id)), &effects)
            state.apply(state.handle(.addPresenter(id, location?.path, observedAttributes: observed)), &effects)
            return effects
        }
        perform(effects)
        rewatch(id)
        waitForBroker()
    }

    /// Makes a presenter handle its messages, one after the other.
    func drain(_ id: PresenterID) async {
        while let (delivery, presenter, location) = next(for: id) {
            let isNews = state.withLock { $0.registry.entries[id]?.isNews(delivery.message) } ?? true
            let turn = PresenterTurn(delivery: delivery, presenter: presenter, location: location, client: self)
            let answer = isNews ? await turn.take() : .done
            let effects = state.withLock { state -> ClientState.Effects in
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
            perform(effects)
        }
    }

    private func next(for id: PresenterID) -> (Delivery, any FilePresenter, Location?)? {
        // The reference leaves the lock in every case: releasing the last one may run a presenter's `deinit` that calls
        // back here.
        let (next, effects, presenter) = state.withLock { state -> ((Delivery, Location?)?, ClientState.Effects, (any FilePresenter)?) in
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
        perform(effects)
        // A released presenter needs no watch any more.
        guard let (delivery, location) = next, let presenter else {
            rewatch(id)
            return nil
        }
        return (delivery, presenter, location)
    }

    /// Removes and returns a presenter's reacquirer for the end of a claim.
    func takeReacquirer(for message: MessageID, of presenter: PresenterID) -> Reacquirer? {
        state.withLock { $0.registry.entries[presenter]?.reacquirers.removeValue(forKey: message) }
    }
}
