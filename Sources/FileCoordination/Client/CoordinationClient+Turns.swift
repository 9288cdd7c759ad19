import Foundation
import Synchronization

// Presenters' turns: each presenter handles its messages one after the other, on a thread that is none of the cooperative pool's.
extension CoordinationClient {
    /// Asks a presenter again for its URL, at the end of an access made on its behalf (C-35); where it comes to have one, for what it observes too (C-43).
    ///
    /// Where the URL is another, it returns when the broker knows it, as ``add(_:)`` does.
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
            guard observed != entry.observed else { return state.effects(of: .relocatePresenter(id, location?.path)) }
            // Without a URL it is sent nothing, so nothing is lost.
            state.apply(state.handle(.removePresenter(id)), &effects)
            state.apply(state.handle(.addPresenter(id, location?.path, observedAttributes: observed)), &effects)
            return effects
        }
        perform(effects)
        rewatch(id)
        waitForBroker()
    }

    /// Lets a presenter handle its messages, one after the other.
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
                // The claim of this process that it makes fail may only hear of it from a broker.
                if delivery.awaitedBy.map({ state.waiters[$0] == nil }) ?? true { state.refusals[delivery.id] = nil }
                return effects
            }
            perform(effects)
        }
    }

    private func next(for id: PresenterID) -> (Delivery, any FilePresenter, Location?)? {
        // The reference goes out of the lock in any case: the last one may end a presenter whose `deinit` comes back here.
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
        // A presenter that was found dead needs no watch any more.
        guard let (delivery, location) = next, let presenter else {
            rewatch(id)
            return nil
        }
        return (delivery, presenter, location)
    }

    /// Takes what a presenter left to be done at the end of a claim.
    func takeReacquirer(for message: MessageID, of presenter: PresenterID) -> Reacquirer? {
        state.withLock { $0.registry.entries[presenter]?.reacquirers.removeValue(forKey: message) }
    }
}
