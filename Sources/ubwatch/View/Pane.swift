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

    /// Returns the next pane, after the last the first; or the previous one.
    func next(_ step: Int = 1) -> Pane {
        let count = Pane.allCases.count
        return Pane(rawValue: (rawValue + step + count) % count)!
    }
}

/// An entry that has details.
enum Target: Hashable, Sendable {
    /// A peer's part in a store.
    case peer(String, store: String)
    case store(String)
    case item(String)
    /// A held, quarantined or conflicting entry, by its index in the list.
    case trouble(Int)
    /// A log file, by its path.
    case log(String)
    /// One of the recent changes, by its number.
    case change(Int)
}
