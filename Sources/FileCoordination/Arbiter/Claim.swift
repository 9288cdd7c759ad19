import SystemPackage

/// What a claim or a message was issued within: an accessor that runs, or a presenter's method that handles a message.
package enum Surrounding: Hashable, Sendable {
    case claim(ClaimID)
    case message(MessageID)
}

/// A request for one or more items, granted all at once or not at all (C-48).
package struct ClaimRequest: Sendable {
    package let id: ClaimID
    /// The coordinator that asks, numbered by its client.
    package let coordinator: UInt64
    package let purpose: Purpose
    /// The presenter for which the coordinator was made; it gets no messages (C-33).
    package let presenter: PresenterID?
    /// The accessors and messages within which the request is made, outermost first.
    package let surroundings: [Surrounding]
    package let items: [ClaimItem]
    /// Whether this only asks presenters to prepare, and excludes nobody (C-54).
    package let isPreparation: Bool

    package init(
        id: ClaimID, coordinator: UInt64 = 0, purpose: Purpose, presenter: PresenterID? = nil, surroundings: [Surrounding] = [],
        items: [ClaimItem], isPreparation: Bool = false
    ) {
        self.id = id
        self.coordinator = coordinator
        self.purpose = purpose
        self.presenter = presenter
        self.surroundings = surroundings
        self.items = items
        self.isPreparation = isPreparation
    }
}

/// A claim on its way through the arbiter.
struct Claim: Sendable {
    /// How far a claim has come.
    enum Phase: Hashable, Sendable {
        /// Another claim, of which one is named, is in its way.
        case queued(behind: ClaimID?)
        /// It is its turn, and presenters have not answered yet.
        case asking
        /// Presenters have answered, but a claim that passed it meanwhile is not done.
        case answered(behind: ClaimID?)
        /// Its accessor runs.
        case held
    }

    let request: ClaimRequest
    /// Where it stands in the order of arrival.
    let order: UInt64
    /// When it was requested, on the host's monotonic clock.
    let since: UInt64
    var phase = Phase.queued(behind: nil)
    var items: [ClaimItem]
    /// Where each item stands in the trie.
    var places: [PathTrie.Place] = []
    /// The messages that presenters have yet to answer before the claim can be granted.
    var unanswered: Set<MessageID> = []
    /// The requests to relinquish that were sent; each is followed by a reacquire when the claim ends.
    var relinquished: [(presenter: PresenterID, message: MessageID)] = []
    /// What presenters will hear of moves once the accessor is done.
    var moveNotes: [Delivery] = []
    /// Items that were moved by the accessor.
    var moves: [Move] = []

    /// Where an item stands in the trie; nil for those of a preparation, which stand nowhere.
    func place(of index: Int) -> PathTrie.Place? { index < places.count ? places[index] : nil }

    /// Whether a move is all that has happened to an item, for it was claimed for moving.
    func merelyMoved(_ move: Move) -> Bool { items.contains { $0.access == .write(.forMoving) && move.from.isAtOrBelow($0.path) } }

    var isHeld: Bool { phase == .held }
    /// Whether it stands for what a client was delegated, rather than for an access.
    var isDelegation: Bool {
        guard case .delegation = request.purpose else { return false }
        return true
    }
    /// Whether any rule lets this claim pass others that wait for what surrounds it.
    var mayPass: Bool { !request.surroundings.isEmpty || request.presenter != nil }
}

/// Whether the item of a granted claim was there before and after its accessor ran.
package struct Observation: Hashable, Sendable {
    package let existedBefore: Bool
    package let existsAfter: Bool

    package init(existedBefore: Bool, existsAfter: Bool) {
        self.existedBefore = existedBefore
        self.existsAfter = existsAfter
    }
}
