import SystemPackage

/// The code that surrounds a claim or message: a running accessor, or a presenter's method that handles a message.
package enum Surrounding: Hashable, Sendable {
    case claim(ClaimID)
    case message(MessageID)
}

/// A request for one or more items, granted all at once or not at all.
package struct ClaimRequest: Sendable {
    package let id: ClaimID
    /// The coordinator that makes the request, numbered by its client.
    package let coordinator: UInt64
    package let purpose: Purpose
    /// The presenter for which the coordinator was made; it gets no messages.
    package let presenter: PresenterID?
    /// The accessors and messages that surround the request, outermost first.
    package let surroundings: [Surrounding]
    package let items: [ClaimItem]
    /// Whether the request only asks presenters to prepare, and excludes no other claim.
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

/// A claim in the arbiter.
struct Claim: Sendable {
    /// The progress of a claim.
    enum Phase: Hashable, Sendable {
        /// Other claims block it; one of them is named.
        case queued(behind: ClaimID?)
        /// No claim blocks it, and presenters have not answered yet.
        case asking
        /// Presenters have answered, but a claim that passed it meanwhile is unfinished.
        case answered(behind: ClaimID?)
        /// Its accessor runs.
        case held
    }

    let request: ClaimRequest
    /// Its place in the order of arrival.
    let order: UInt64
    /// The time of the request, on the host's monotonic clock.
    let since: UInt64
    var phase = Phase.queued(behind: nil)
    var items: [ClaimItem]
    /// The node of each item in the trie.
    var places: [PathTrie.Place] = []
    /// The messages that presenters have yet to answer before the claim can be granted.
    var unanswered: Set<MessageID> = []
    /// The first refusal of a presenter; the claim fails with it once the others have answered.
    var refusal: ClaimFailure?
    /// The sent requests to relinquish; each is followed by a reacquire when the claim ends.
    var relinquished: [(presenter: PresenterID, message: MessageID)] = []
    /// The messages about moves to send after the accessor has returned.
    var moveNotes: [Delivery] = []
    /// The moves by the accessor.
    var moves: [Move] = []

    /// Returns the node of an item in the trie; nil for a preparation, whose items have no nodes.
    func place(of index: Int) -> PathTrie.Place? { index < places.count ? places[index] : nil }

    /// Returns whether the claim only moved an item, because it claimed the item for moving.
    func merelyMoved(_ move: Move) -> Bool { items.contains { $0.access == .write(.forMoving) && move.from.isAtOrBelow($0.path) } }

    var isHeld: Bool { phase == .held }
    /// Whether the claim represents a delegation to a client rather than an access.
    var isDelegation: Bool {
        guard case .delegation = request.purpose else { return false }
        return true
    }
    /// Whether any rule lets this claim pass other claims.
    var mayPass: Bool { !request.surroundings.isEmpty || request.presenter != nil }
}

/// Whether the item of a granted claim existed before and after its accessor ran.
package struct Observation: Hashable, Sendable {
    package let existedBefore: Bool
    package let existsAfter: Bool

    package init(existedBefore: Bool, existsAfter: Bool) {
        self.existedBefore = existedBefore
        self.existsAfter = existsAfter
    }
}
