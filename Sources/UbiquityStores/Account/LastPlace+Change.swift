internal import StoreExchange
internal import UbiquityContainers

extension LastPlace.Note {
    /// Returns the change since then that the app is told about, or nil if there is none.
    ///
    /// The local file belongs to no container.
    func change(to place: StoreTransition.Place, in container: ContainerIdentifier) -> StoreTransition.Kind? {
        if self.place.account != place.account { return StoreLife.Passage(from: self.place, to: place).kind }
        guard place.account != nil, let before = self.container, before != container else { return nil }
        return .containerChanged
    }
}
