import Dispatch
import Foundation
import Synchronization

// The presenters of this process: their registration, and what they say about themselves.
extension CoordinationClient {
    /// Returns the identifier of a presenter, registered or not.
    func id(of presenter: any FilePresenter) -> PresenterID {
        state.withLock { $0.registry.id(of: presenter, in: id) }
    }

    var presenters: [any FilePresenter] {
        state.withLock { state in
            state.registry.entries.filter { !$0.value.isWitness }.sorted { $0.key.number < $1.key.number }.compactMap(\.value.presenter)
        }
    }

    package func add(_ presenter: any FilePresenter) {
        // Both calls run the presenter's own code, so they run outside the lock.
        let location = presenter.presentedItemURL.flatMap { try? Location($0) }
        let observed = Set(presenter.observedPresentedItemUbiquityAttributes.map(\.rawValue))
        let effects = state.withLock { state -> ClientState.Effects in
            let id = state.registry.id(of: presenter, in: id)
            guard state.registry.entries[id] == nil else { return ClientState.Effects() }
            state.registry.add(PresenterRegistry.Entry(presenter: presenter, location: location, observed: observed), as: id)
            return state.effects(of: .addPresenter(id, location?.path, observedAttributes: observed))
        }
        perform(effects)
        watches.follow(self.id(of: presenter), of: self)
        waitForBroker()
    }

    /// Returns when the broker has handled all earlier frames, or cannot be reached within two seconds.
    func waitForBroker() {
        guard let link else { return }
        let arrival = DispatchSemaphore(value: 0)
        state.withLock { $0.ping(.caller(arrival)) }
        link.start(self)
        link.flush(self)
        _ = arrival.wait(timeout: .now() + 2)
    }

    package func remove(_ presenter: any FilePresenter) {
        let (id, effects) = state.withLock { state -> (PresenterID?, ClientState.Effects) in
            guard let id = state.registry.id(ofDeparting: presenter, in: self.id) else { return (nil, ClientState.Effects()) }
            state.registry.remove(id)
            return (id, state.effects(of: .removePresenter(id)))
        }
        perform(effects)
        if let id { watches.follow(id, of: self) }
    }

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
        watches.follow(id, of: self)
        waitForBroker()
    }

    /// Whether a presenter of this process has unhandled messages.
    package var hasUnhandledMessages: Bool { state.withLock { $0.registry.entries.values.contains { $0.isDraining && $0.presenter != nil } } }

    /// Removes and returns a presenter's reacquirer for the end of a claim.
    func takeReacquirer(for message: MessageID, of presenter: PresenterID) -> Reacquirer? {
        state.withLock { $0.registry.entries[presenter]?.reacquirers.removeValue(forKey: message) }
    }
}
