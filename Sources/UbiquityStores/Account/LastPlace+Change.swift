internal import StoreExchange
internal import UbiquityContainers

extension LastPlace.Note {
    /// What has changed until a store is opened; nil where nothing has that an app hears of.
    ///
    /// What lies on this device while nobody is signed in is in no container.
    func change(to place: StoreTransition.Place, in container: ContainerIdentifier) -> StoreTransition.Kind? {
        if self.place.account != place.account { return StoreLife.Passage(from: self.place, to: place).kind }
        guard place.account != nil, let before = self.container, before != container else { return nil }
        return .containerChanged
    }
}
