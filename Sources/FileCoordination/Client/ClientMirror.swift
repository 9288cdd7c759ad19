import Glibc
import SystemPackage

/// A client's claims, messages and presenters at the broker: enough to report them to the next broker.
struct ClientMirror: Sendable {
    struct Claim: Sendable {
        let request: ClaimRequest
        var items: [ClaimItem]
        var isHeld = false
        var moves: [Move] = []
        var moveNotes: [Delivery] = []
    }

    /// A message that a presenter of this process received.
    struct Message: Sendable {
        let delivery: Delivery
        /// Its place in the order of arrival.
        let order: UInt64
        var answer: ArbiterEvent.Answer?
    }

    private(set) var claims: [ClaimID: Claim] = [:]
    private(set) var presenters: [PresenterID: Holdings.Presenter] = [:]
    /// Unhandled messages, and handled ones that a broker may send again.
    private(set) var messages: [MessageID: Message] = [:]
    private var nextOrder: UInt64 = 0
    /// Events for other processes and for presenters of this process that no broker has received yet.
    private var announcements: [ArbiterEvent] = []

    /// Records the client's own events.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - isOnline: whether a broker receives the event too.
    /// - Returns: the actions that need no broker.
    mutating func handle(_ event: ArbiterEvent, isOnline: Bool) -> [ArbiterAction] {
        switch event {
        case .request(let request): claims[request.id] = Claim(request: request, items: request.items)
        case .end(let id, _): claims[id] = nil
        case .cancel(let id):
            // The client does not wait for the broker's answer. If the broker has granted the claim meanwhile, the
            // client ends it then.
            guard claims[id]?.isHeld == false else { return [] }
            claims[id] = nil
            return [.fail(id, .cancelled)]
        case .deadline(let id):
            guard !isOnline, claims[id]?.isHeld == false else { return [] }
            claims[id] = nil
            return [.fail(id, .deadline([WaitStep(kind: .broker, process: getpid(), purpose: "", paths: [], activity: "connect")]))]
        case .moved(let id, let move):
            guard let claim = claims[id] else { return [] }
            claims[id]?.items += claim.items.compactMap { $0.moved(move) }
            claims[id]?.moves.append(move)
        case .addPresenter(let id, let path, let observed):
            presenters[id] = Holdings.Presenter(id: id, path: path, observedAttributes: observed)
        case .removePresenter(let id):
            presenters[id] = nil
            messages = messages.filter { $0.value.delivery.presenter != id }
        case .relocatePresenter(let id, let path): presenters[id]?.relocate(to: path)
        // A broker may know a write that explains the move.
        case .noticed(let id, .didMove(let path)): if !isOnline { presenters[id]?.path = path }
        case .handled(let id, let answer):
            if let presenter = messages[id]?.delivery.presenter { presenters[presenter]?.unhandledMoves.remove(id) }
            // An item that a presenter gave up matters until it is returned, because another broker may ask for it
            // again.
            if messages[id]?.delivery.awaitedBy == nil { messages[id] = nil } else { messages[id]?.answer = answer }
        case .attributesChanged, .versionChanged: if !isOnline { announcements.append(event) }
        // For other changes it is enough to say that there may have been one.
        case .noticed(_, let message) where message.isOfVersion: if !isOnline { announcements.append(event) }
        case .noticed, .clientJoined, .clientGone, .adopted, .passedOver, .resumed, .missed: break
        }
        return []
    }

    /// The effect of a broker's action on the client.
    enum Consequence {
        case apply
        case ignore
        case tell(ArbiterEvent)
    }

    /// Handles an action of the broker.
    mutating func receive(_ action: ArbiterAction) -> Consequence {
        switch action {
        case .grant(let id, let grant):
            // No caller waits for the claim any more.
            guard let claim = claims[id], !claim.isHeld else { return claims[id] == nil ? .tell(.end(id, [])) : .ignore }
            claims[id]?.isHeld = true
            for (index, path) in grant.paths.enumerated() where index < claim.items.count { claims[id]?.items[index].path = path }
            return .apply
        case .fail(let id, _):
            guard claims[id]?.isHeld == false else { return .ignore }
            claims[id] = nil
            return .apply
        case .deliver(let delivery):
            guard presenters[delivery.presenter] != nil else { return .ignore }
            if let known = messages[delivery.id] {
                guard let answer = known.answer else { return .ignore }
                return .tell(.handled(delivery.id, answer))
            }
            note(delivery)
            switch delivery.message {
            case .reacquire(let message): forgetAnswers(of: delivery.presenter, givenFor: message)
            case .didMove(let path): presenters[delivery.presenter]?.move(to: path, toldBy: delivery.id)
            default: break
            }
            forgetOldAnswers(of: delivery.presenter)
            return .apply
        }
    }

    /// Drops a presenter's answers for a claim that has ended, because no broker asks for them again.
    private mutating func forgetAnswers(of presenter: PresenterID, givenFor relinquish: MessageID) {
        guard let claim = messages.removeValue(forKey: relinquish)?.delivery.awaitedBy else { return }
        for (id, message) in messages
        where message.answer != nil && message.delivery.awaitedBy == claim && message.delivery.presenter == presenter {
            messages[id] = nil
        }
    }

    /// Keeps only the latest answers: no message reports the end of a claim for which a presenter gave up nothing.
    private mutating func forgetOldAnswers(of presenter: PresenterID) {
        guard messages.count > Self.answersKept else { return }
        let answered = messages.values.filter {
            $0.answer != nil && $0.delivery.presenter == presenter && !$0.delivery.message.isRelinquish
        }
        guard answered.count > Self.answersKept, let oldest = answered.min(by: { $0.order < $1.order }) else { return }
        messages[oldest.delivery.id] = nil
    }

    private static let answersKept = 64

    private mutating func note(_ delivery: Delivery, answer: ArbiterEvent.Answer? = nil) {
        nextOrder += 1
        messages[delivery.id] = Message(delivery: delivery, order: nextOrder, answer: answer)
    }

    /// Moves the items of a waiting claim.
    mutating func retarget(_ id: ClaimID, _ items: [ClaimItem]) {
        guard claims[id]?.isHeld == false else { return }
        claims[id]?.items = items
    }

    // MARK: Change of authority

    /// The complete state, to report to a broker.
    var holdings: Holdings {
        var holdings = Holdings()
        holdings.presenters = presenters.values.sorted { $0.id.number < $1.id.number }
        holdings.claims = claims.values.sorted { $0.request.id.number < $1.request.id.number }.map {
            Holdings.Claim(request: $0.request, items: $0.items, isHeld: $0.isHeld, moves: $0.moves, moveNotes: $0.moveNotes)
        }
        holdings.messages = messages.values.sorted { $0.order < $1.order }.map { .init(delivery: $0.delivery, isAnswered: $0.answer != nil) }
        return holdings
    }

    /// Takes over the state of the client's own arbiter.
    mutating func take(_ holdings: Holdings) {
        for presenter in holdings.presenters { presenters[presenter.id] = presenter }
        for claim in holdings.claims {
            claims[claim.request.id] = Claim(
                request: claim.request, items: claim.items, isHeld: claim.isHeld, moves: claim.moves, moveNotes: claim.moveNotes)
        }
        for message in holdings.messages where messages[message.delivery.id] == nil {
            note(message.delivery, answer: message.isAnswered ? .done : nil)
        }
    }

    mutating func takeAnnouncements() -> [ArbiterEvent] {
        defer { announcements = [] }
        return announcements
    }

    /// Fails every waiting claim.
    mutating func failWaiting(_ failure: ClaimFailure) -> [ArbiterAction] {
        let waiting = claims.filter { !$0.value.isHeld }.keys.sorted { $0.number < $1.number }
        for id in waiting { claims[id] = nil }
        return waiting.map { .fail($0, failure) }
    }

    /// Returns the latest held write claim of a purpose that covers a path.
    func heldWrite(of purpose: Purpose, covering path: FilePath) -> ClaimID? {
        claims.values.filter { claim in
            claim.isHeld && claim.request.purpose == purpose && claim.items.contains { $0.access.writes && path.isAtOrBelow($0.path) }
        }.map(\.request.id).max { $0.number < $1.number }
    }

    /// Returns whether a held claim explains a change of a path.
    func isBeingWritten(_ path: FilePath) -> Bool {
        claims.values.contains { $0.isHeld && $0.items.contains { $0.writes(path) } }
    }
}
