import FileCoordination
import Synchronization
import SystemPackage

/// Checks an arbiter's trace while it runs, by the rules only, without knowledge of the arbiter's internals.
final class TraceChecker: Recorder {
    /// The results.
    struct Summary: Encodable, Sendable {
        var claims = 0
        var granted = 0
        var failed = 0
        var deadlocks = 0
        var messages = 0
        var moves = 0
        var increments = 0
        var mostWaiting = 0
        var violations: [String] = []

        mutating func add(_ other: Summary) {
            claims += other.claims
            granted += other.granted
            failed += other.failed
            deadlocks += other.deadlocks
            messages += other.messages
            moves += other.moves
            increments += other.increments
            mostWaiting = max(mostWaiting, other.mostWaiting)
            violations += other.violations
        }
    }

    fileprivate struct Claim {
        let request: ClaimRequest
        let order: Int
        var items: [ClaimItem]
        var isHeld = false
        var unanswered: Set<MessageID> = []
        var relinquished: Set<MessageID> = []
        /// The last kind of question to each presenter, with its broker: the next broker may have to ask everything
        /// again.
        var asked: [PresenterID: (rank: Int, epoch: UInt64)] = [:]
    }

    /// The limits of a trace's evidence, by its origin.
    enum Leniency {
        /// One arbiter's own trace proves everything.
        case none
        /// The merged traces of several processes: the order of claims at the broker may differ from the order of their
        /// times.
        case processes
        /// Some of the processes were stopped and passed over.
        case stoppedProcesses
    }

    fileprivate struct State {
        let leniency: Leniency
        /// How far the sum of the files may be wrong, because processes were killed.
        var slack = 0
        var summary = Summary()
        var events = 0
        var claims: [ClaimID: Claim] = [:]
        /// Unhandled messages, in order.
        var mailboxes: [PresenterID: [MessageID]] = [:]
        /// Requests to relinquish that a reacquire must follow.
        var owed: [MessageID: PresenterID] = [:]
        /// The expected sum of the files.
        var balance = 0

        mutating func complain(_ text: String) {
            if summary.violations.count < 20 { summary.violations.append(text) }
        }
    }

    private let state: Mutex<State>

    init(leniency: Leniency = .none) {
        state = Mutex(State(leniency: leniency))
    }

    var eventCount: Int { state.withLock { $0.events } }
    var summary: Summary { state.withLock { $0.summary } }

    func complain(_ text: String) { state.withLock { $0.complain(text) } }

    // MARK: Files

    func adding() {}
    func removing(_: Int) {}

    /// Records an addition to a file's number.
    func added() {
        state.withLock { state in
            state.balance += 1
            state.summary.increments += 1
        }
    }

    /// Records the removal of a file with this number.
    func removed(_ number: Int) { state.withLock { $0.balance -= number } }

    /// Handles a note of another process.
    func take(_ kind: UInt8, _ number: Int, _ text: String) {
        switch TraceLog.Note(rawValue: kind) {
        case .complaint: complain(text)
        case .added: added()
        case .removed: removed(number)
        case .adding, .removing, nil: break
        }
    }

    /// Allows for the last action of a process, which may or may not have happened.
    ///
    /// A process that was not killed may also have ended in the middle of a presenter's last action.
    func allowForEnd(of records: [TraceRecord]) {
        var open: [UInt8: Int] = [:]
        var slack = 0
        for case .note(let kind, let number, _) in records {
            switch TraceLog.Note(rawValue: kind) {
            case .adding: open[kind, default: 0] += 1
            case .added: open[kind - 1, default: 0] -= 1
            case .removing: slack += number
            case .removed: slack -= number
            default: break
            }
        }
        state.withLock { $0.slack += slack + open.values.reduce(0, +) }
    }

    /// Checks the invariants at the end.
    ///
    /// - Parameter sum: the sum of the files; nil when the run was given up.
    func finish(_ sum: Int?) {
        state.withLock { state in
            if let sum, abs(sum - state.balance) > state.slack {
                state.complain("the files add up to \(sum), and should to \(state.balance): writes were lost")
            }
            for claim in state.claims.values { state.complain("\(claim.request.id) was left \(claim.isHeld ? "held" : "waiting")") }
            for (message, presenter) in state.owed { state.complain("\(presenter) was never told to take back what it gave up at \(message)") }
        }
    }

    /// Removes a process.
    ///
    /// A process that ended normally has nothing left, except the actions of a presenter that received a message at the
    /// end.
    func leave(_ client: ClientID, isKilled: Bool) {
        state.withLock { state in
            for claim in state.claims.values where !isKilled && claim.request.id.client == client && claim.request.presenter == nil {
                state.complain("\(claim.request.id) was left \(claim.isHeld ? "held" : "waiting")")
            }
            state.remove(client)
        }
    }

    // MARK: The trace

    /// Checks an event with its actions; called in the arbiter's order.
    func see(_ event: ArbiterEvent?, _ actions: [ArbiterAction]) {
        state.withLock { state in
            state.events += 1
            var mover: ClaimID?
            switch event {
            case .request(let request):
                state.claims[request.id] = Claim(request: request, order: state.summary.claims, items: request.items)
                state.summary.claims += 1
                state.summary.mostWaiting = max(state.summary.mostWaiting, state.claims.values.count { !$0.isHeld })
            case .end(let id, _):
                if state.claims[id]?.isHeld != true { state.complain("\(id) ended without having been granted") }
                state.claims[id] = nil
                mover = id
            case .moved(let id, let move): state.follow(move, by: id)
            case .handled(let id, _): state.handled(id)
            case .removePresenter(let id): state.remove(id)
            case .relocatePresenter(let id, _), .noticed(let id, .didMove): state.excuse(id)
            case .clientGone(let client): state.remove(client)
            default: break
            }
            for (index, action) in actions.enumerated() {
                switch action {
                case .grant(let id, let grant): state.granted(id, grant)
                case .fail(let id, let reason): state.failed(id, reason)
                case .deliver(let delivery): state.sent(delivery, after: actions[..<index], endOf: mover)
                }
            }
        }
    }
}

extension TraceChecker.State {
    private static func locks(_ item: ClaimItem) -> (path: String, below: Bool, writes: Bool) {
        let names = item.path.components.map(\.string)
        let package = names.dropLast().firstIndex { $0.hasSuffix(".bundle") }
        return (names.prefix(package.map { $0 + 1 } ?? names.count).map { $0 + "/" }.joined(), item.access.coversDescendants, item.access.writes)
    }

    private func conflict(_ left: TraceChecker.Claim, _ right: TraceChecker.Claim) -> Bool {
        guard left.request.purpose != right.request.purpose, !left.request.isPreparation, !right.request.isPreparation else { return false }
        let others = right.items.map(Self.locks)
        return left.items.map(Self.locks).contains { one in
            others.contains { other in
                (one.writes || other.writes)
                    && (one.path == other.path || (one.below && other.path.hasPrefix(one.path)) || (other.below && one.path.hasPrefix(other.path)))
            }
        }
    }

    private func mayPass(_ claim: TraceChecker.Claim) -> Bool { !claim.request.surroundings.isEmpty || claim.request.presenter != nil }

    fileprivate mutating func granted(_ id: ClaimID, _ grant: Grant) {
        guard var claim = claims[id] else { return complain("\(id) was granted, which is not there") }
        if claim.isHeld { complain("\(id) was granted twice") }
        if !claim.unanswered.isEmpty, leniency != .stoppedProcesses { complain("\(id) was granted before presenters answered") }
        // Claims of presenters that do not know of a move yet are mapped to the new path.
        for (index, path) in grant.paths.enumerated() where index < claim.items.count { claim.items[index].path = path }
        for other in claims.values where other.request.id != id && conflict(other, claim) {
            if other.isHeld {
                complain("\(id) on \(grant.paths) was granted beside \(other.request.id) on \(other.items.map(\.path))")
            } else if leniency == .none, other.order < claim.order, !mayPass(claim), !mayPass(other) {
                // A presenter's own claim may have been mapped too when it was made, so it proves nothing.
                complain("\(id) on \(grant.paths) overtook \(other.request.id)")
            }
        }
        claim.isHeld = true
        claims[id] = claim
        summary.granted += 1
    }

    fileprivate mutating func failed(_ id: ClaimID, _ reason: ClaimFailure) {
        guard let claim = claims.removeValue(forKey: id) else { return complain("\(id) failed, which is not there") }
        if claim.isHeld { complain("\(id) failed while its accessor ran") }
        summary.failed += 1
        if case .cycle = reason { summary.deadlocks += 1 }
    }

    /// Checks the order of messages: relinquish, save or accommodate, then after the accessor moves, changes,
    /// reacquire.
    fileprivate mutating func sent(_ delivery: Delivery, after earlier: ArraySlice<ArbiterAction>, endOf mover: ClaimID?) {
        summary.messages += 1
        mailboxes[delivery.presenter, default: []].append(delivery.id)
        switch delivery.message {
        case .relinquishToReader, .relinquishToWriter: owed[delivery.id] = delivery.presenter
        case .didMove: excuse(delivery.presenter)
        case .reacquire(let message):
            if owed.removeValue(forKey: message) != delivery.presenter {
                complain("\(delivery.presenter) takes back what it did not give at \(message)")
            }
            // A claim's own process may learn of its failure later than other processes.
            if claims.values.contains(where: { $0.relinquished.contains(message) && ($0.isHeld || leniency == .none) }) {
                complain("\(delivery.presenter) reacquires during the access")
            }
        default: break
        }
        func rank(_ message: PresenterMessage) -> Int {
            switch message {
            case .relinquishToReader, .relinquishToWriter: 0
            case .saveChanges: 1
            case .accommodateDeletion, .accommodateSubitemDeletion: 2
            case .didMove, .subitemDidMove: 3
            case .reacquire: 5
            default: 4
            }
        }
        if let id = delivery.awaitedBy {
            guard let claim = claims[id], !claim.isHeld else {
                // The claim was given up meanwhile, or its process was killed; or it passed over a presenter.
                if leniency == .none || (leniency == .processes && claims[id] != nil) { complain("\(id) asks after it was granted") }
                return
            }
            let epoch = delivery.id.number >> 32
            if let last = claim.asked[delivery.presenter], last.epoch == epoch, last.rank > rank(delivery.message) {
                complain("\(id) asks \(delivery.presenter) in the wrong order")
            }
            claims[id]?.asked[delivery.presenter] = (rank(delivery.message), epoch)
            claims[id]?.unanswered.insert(delivery.id)
            if rank(delivery.message) == 0 { claims[id]?.relinquished.insert(delivery.id) }
        } else if mover != nil {
            for case .deliver(let before) in earlier
            where before.presenter == delivery.presenter && before.awaitedBy == nil && before.cause == delivery.cause
                && (rank(before.message) == 5) != (rank(delivery.message) == 5) && rank(before.message) > rank(delivery.message)
            {
                complain("\(delivery.presenter) hears \(before.message.name) before \(delivery.message.name)")
            }
        }
    }

    fileprivate mutating func handled(_ id: MessageID) {
        for presenter in mailboxes.keys {
            guard let index = mailboxes[presenter]?.firstIndex(of: id) else { continue }
            if index != 0 { complain("\(presenter) handled \(id) before an earlier message") }
            mailboxes[presenter]?.remove(at: index)
        }
        for claim in claims.keys { claims[claim]?.unanswered.remove(id) }
    }

    fileprivate mutating func remove(_ id: PresenterID) {
        for message in mailboxes.removeValue(forKey: id) ?? [] {
            for claim in claims.keys { claims[claim]?.unanswered.remove(message) }
        }
        owed = owed.filter { $0.value != id }
    }

    /// Forgets the questions to a presenter whose item has moved: the next broker does not ask about the old place.
    fileprivate mutating func excuse(_ id: PresenterID) {
        guard leniency != .none else { return }
        for message in mailboxes[id] ?? [] {
            for claim in claims.keys { claims[claim]?.unanswered.remove(message) }
        }
    }

    /// Removes a process.
    fileprivate mutating func remove(_ client: ClientID) {
        for id in claims.keys where id.client == client { claims[id] = nil }
        for id in Set(mailboxes.keys).union(owed.values) where id.client == client { remove(id) }
    }

    fileprivate mutating func follow(_ move: Move, by mover: ClaimID) {
        summary.moves += 1
        for (id, claim) in claims {
            if id == mover {
                claims[id]?.items += claim.items.compactMap { $0.moved(move) }
                continue
            }
            for (index, item) in claim.items.enumerated() where claim.isHeld || !item.access.keepsName {
                if let moved = item.moved(move) { claims[id]?.items[index] = moved }
            }
        }
    }
}
