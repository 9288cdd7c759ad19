import StoreInspection

extension WatchFacts {
    /// The names of the container's peers.
    var names: PeerNames { PeerNames(stores) }

    /// Returns the facts with sentences for people: with the names of devices in the place of their peers' identifiers.
    ///
    /// The identifiers that are values of their own stay, because they tell the peers apart.
    ///
    /// - Parameter names: the names of the peers.
    /// - Returns: the facts for people.
    func named(_ names: PeerNames) -> WatchFacts {
        var facts = self
        facts.reasons = reasons.map(names.naming)
        for store in facts.stores.indices {
            facts.stores[store].fault = stores[store].fault.map(names.naming)
            for peer in facts.stores[store].peers.indices {
                facts.stores[store].peers[peer].fault = stores[store].peers[peer].fault.map(names.naming)
            }
        }
        for store in facts.localStores.indices {
            facts.localStores[store].failure = localStores[store].failure.map(names.naming)
            for file in facts.localStores[store].files.indices { facts.localStores[store].files[file].name(with: names) }
        }
        facts.troubles = troubles.named(names)
        return facts
    }
}

extension WatchFacts.Troubles {
    /// Returns the problems with sentences for people.
    func named(_ names: PeerNames) -> Self {
        var troubles = self
        for index in listed.indices { troubles.listed[index].reason = names.naming(listed[index].reason) }
        for index in failures.indices { troubles.failures[index].reason = names.naming(failures[index].reason) }
        return troubles
    }
}

extension LocalStore.File {
    fileprivate mutating func name(with names: PeerNames) {
        suspended = suspended.map(names.naming)
        guard var exchange else { return }
        for index in exchange.waiting.indices { exchange.waiting[index].reason = names.naming(exchange.waiting[index].reason) }
        exchange.hindrance = exchange.hindrance.map(names.naming)
        self.exchange = exchange
    }
}
