/// A part of the view that fills the middle of the screen.
enum Pane: Int, CaseIterable, Sendable {
    case peers, stores, items, troubles, storage, changes

    var title: String {
        switch self {
        case .peers: "Peers"
        case .stores: "Stores"
        case .items: "Items"
        case .troubles: "Held"
        case .storage: "Storage"
        case .changes: "Changes"
        }
    }

    /// The one behind it, the first behind the last; or the one before.
    func next(_ step: Int = 1) -> Pane {
        let count = Pane.allCases.count
        return Pane(rawValue: (rawValue + step + count) % count)!
    }
}

/// Something that can be looked into.
enum Target: Hashable, Sendable {
    /// A peer's part in a store.
    case peer(String, store: String)
    case store(String)
    case item(String)
    /// A thing that is held, quarantined or in conflict, by its place among the listed.
    case trouble(Int)
    /// A log file, by its path.
    case log(String)
    /// One of the recent changes, by its number.
    case change(Int)
}
