import SystemPackage

@testable import FileCoordination

/// A slow arbiter that is plainly right: it looks at every pair of claims, every time, and says whether what the real one did was allowed,
/// and whether it left anything undone.
struct ArbiterModel {
    struct Claim {
        let request: ClaimRequest
        let order: Int
        var items: [ClaimItem] { didSet { locks = items.map(Lock.init) } }
        var locks: [Lock] = []
        var state = State.queued
        var unanswered: Set<MessageID> = []
        var isRefused = false
        var moves: [Move] = []
        var relinquished: [(PresenterID, MessageID)] = []

        init(_ request: ClaimRequest, order: Int) {
            self.request = request
            self.order = order
            items = request.items
            locks = items.map(Lock.init)
        }

        enum State { case queued, asking, held }
        var isHeld: Bool { state == .held }
    }

    struct Presenter {
        var path: FilePath?
        var pending: [Delivery] = []
        var moves: [(claim: ClaimID, move: Move, message: MessageID?)] = []
    }

    private(set) var claims: [ClaimID: Claim] = [:]
    private(set) var presenters: [PresenterID: Presenter] = [:]
    private var order = 0
    private(set) var complaints: [String] = []

    var claimsInOrder: [Claim] { claims.values.sorted { $0.order < $1.order } }

    private mutating func complain(_ text: String) { complaints.append(text) }

    // MARK: The rules

    /// The lock of an item: a path, with a slash at its end, and whether what lies below counts.
    struct Lock {
        let path: String
        let below: Bool
        let writes: Bool

        init(_ item: ClaimItem) {
            let components = item.path.components.map(\.string)
            path = components.prefix(item.packageDepths.first ?? components.count).map { $0 + "/" }.joined()
            below = item.access.coversDescendants
            writes = item.access.writes
        }

        func meets(_ other: Lock) -> Bool {
            guard writes || other.writes else { return false }
            return path == other.path || (below && other.path.hasPrefix(path)) || (other.below && path.hasPrefix(other.path))
        }
    }

    private func conflict(_ left: Claim, _ right: Claim) -> Bool {
        guard left.request.purpose != right.request.purpose, left.request.id != right.request.id else { return false }
        guard !left.request.isPreparation, !right.request.isPreparation else { return false }
        return left.locks.contains { one in right.locks.contains { one.meets($0) } }
    }

    private func surroundings(_ claim: Claim) -> Set<Surrounding> {
        let questions = claim.request.presenter.flatMap { presenters[$0]?.pending } ?? []
        let awaited = questions.filter { delivery in claims.values.contains { $0.unanswered.contains(delivery.id) } }
        return Set(claim.request.surroundings).union(awaited.map { .message($0.id) })
    }

    /// Everything that is waited for, directly or not.
    private func reach(_ start: Surrounding, passing: Bool) -> Set<Surrounding> {
        var found: Set<Surrounding> = []
        var open = [start]
        while let next = open.popLast() {
            for awaited in awaited(next, passing: passing) where found.insert(awaited).inserted { open.append(awaited) }
        }
        return found
    }

    private func awaited(_ node: Surrounding, passing: Bool) -> [Surrounding] {
        let nested = claimsInOrder.filter { $0.request.surroundings.contains(node) }.map { Surrounding.claim($0.request.id) }
        switch node {
        case .claim(let id):
            guard let claim = claims[id] else { return [] }
            switch claim.state {
            case .held: return nested
            case .asking where !claim.unanswered.isEmpty: return claim.unanswered.map { .message($0) }
            case .asking: return claimsInOrder.filter { $0.isHeld && conflict($0, claim) }.map { .claim($0.request.id) }
            case .queued: return blockers(claim, passing: passing).map { .claim($0) }
            }
        case .message(let id):
            for presenter in presenters.values {
                guard let index = presenter.pending.firstIndex(where: { $0.id == id }) else { continue }
                return nested + (index > 0 ? [.message(presenter.pending[index - 1].id)] : [])
            }
            return []
        }
    }

    private func blockers(_ claim: Claim, passing: Bool) -> [ClaimID] {
        guard !claim.request.isPreparation else { return [] }
        let around = passing ? surroundings(claim) : []
        return claimsInOrder.filter { rival in
            guard conflict(claim, rival) else { return false }
            if rival.isHeld { return true }
            guard rival.order < claim.order else { return false }
            return around.isEmpty || reach(.claim(rival.request.id), passing: false).isDisjoint(with: around)
        }.map(\.request.id)
    }

    /// What has to be asked on account of a claim, by presenter.
    private func questions(_ claim: Claim) -> [PresenterID: [PresenterMessage]] {
        var found: [PresenterID: [PresenterMessage]] = [:]
        for (id, presenter) in presenters where id != claim.request.presenter {
            guard let path = presenter.path else { continue }
            var (reads, writes, saves, deletes) = (false, false, false, false)
            var subitems: [FilePath] = []
            for item in claim.items {
                let isItem = path == item.path
                let isPackage = item.path != path && item.path.starts(with: path) && item.packageDepths.contains(path.components.count)
                let isAround = item.path != path && item.path.starts(with: path)
                let isBelow = item.path != path && path.starts(with: item.path) && (claim.request.isPreparation || item.access.coversDescendants)
                switch item.access {
                case .read(let options):
                    if (isItem || isPackage) && !claim.request.isPreparation { reads = true }
                    if (isItem || isPackage || isBelow) && !options.contains(.withoutChanges) { saves = true }
                case .write(let options):
                    if (isItem || isPackage || isBelow) && !claim.request.isPreparation { writes = true }
                    if (isItem || isPackage || isBelow) && options.contains(.forMerging) { saves = true }
                    guard options.contains(.forDeleting) || options.contains(.forReplacing) else { continue }
                    if isItem || isBelow { deletes = true }
                    if isAround && !claim.request.isPreparation { subitems.append(item.path) }
                }
            }
            var messages: [PresenterMessage] = writes ? [.relinquishToWriter] : reads ? [.relinquishToReader] : []
            if saves { messages.append(.saveChanges) }
            if deletes { messages.append(.accommodateDeletion) }
            messages += subitems.map { .accommodateSubitemDeletion($0) }
            if !messages.isEmpty { found[id] = messages }
        }
        return found
    }

    // MARK: Following the real one

    /// Takes in an event and what the real arbiter did about it.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - actions: what it decided, in order.
    mutating func follow(_ event: ArbiterEvent, _ actions: [ArbiterAction]) {
        var failure: (ClaimID, Bool)?
        switch event {
        case .request(let request):
            var claim = Claim(request, order: order)
            order += 1
            var askers = request.presenter.map { [$0] } ?? []
            for case .message(let id) in request.surroundings {
                for (presenter, state) in presenters where state.pending.contains(where: { $0.id == id }) && !askers.contains(presenter) {
                    askers.append(presenter)
                }
            }
            for asker in askers {
                for (_, move, _) in presenters[asker]?.moves ?? [] { claim.items = claim.items.map { $0.moved(move) ?? $0 } }
            }
            claims[request.id] = claim
        case .end(let id, _): claims[id] = claims[id]?.isHeld == true ? nil : claims[id]
        case .cancel(let id), .deadline(let id): failure = claims[id].map { (id, !$0.isHeld) }
        case .moved(let id, let move): follow(move, by: id)
        case .addPresenter(let id, let path, _): presenters[id] = Presenter(path: path)
        case .removePresenter(let id): remove(id)
        case .relocatePresenter(let id, let path): presenters[id]?.path = path
        case .handled(let id, let answer):
            for presenter in presenters.keys {
                presenters[presenter]?.pending.removeAll { $0.id == id }
                presenters[presenter]?.moves.removeAll { $0.message == id }
            }
            for claim in claims.values where claim.unanswered.contains(id) {
                claims[claim.request.id]?.unanswered.remove(id)
                if answer != .done { claims[claim.request.id]?.isRefused = true }
            }
        case .clientGone(let client):
            for id in presenters.keys where id.client == client { remove(id) }
            for id in claims.keys where id.client == client { claims[id] = nil }
        default: break
        }
        for action in actions { follow(action, expecting: failure) }
        if let (id, must) = failure, must, claims[id] != nil { complain("\(id) should have failed by \(event)") }
        checkNothingIsLeftUndone()
    }

    private mutating func remove(_ id: PresenterID) {
        let pending = presenters.removeValue(forKey: id)?.pending ?? []
        for claim in claims.keys { claims[claim]?.unanswered.subtract(pending.map(\.id)) }
    }

    private mutating func follow(_ move: Move, by mover: ClaimID) {
        guard let claim = claims[mover], claim.isHeld, move.from != move.to else { return }
        for id in claims.keys {
            if id == mover {
                claims[id]?.items += claim.items.compactMap { $0.moved(move) }
                continue
            }
            for (index, item) in (claims[id]?.items ?? []).enumerated() where claims[id]?.isHeld == true || !item.access.keepsName {
                if let moved = item.moved(move) { claims[id]?.items[index] = moved }
            }
        }
        for (id, presenter) in presenters {
            guard let path = presenter.path?.moved(from: move.from, to: move.to) else { continue }
            presenters[id]?.path = path
            if id != claim.request.presenter { presenters[id]?.moves.append((mover, move, nil)) }
        }
    }

    private mutating func follow(_ action: ArbiterAction, expecting failure: (ClaimID, Bool)?) {
        switch action {
        case .deliver(let delivery):
            let id = delivery.presenter
            if presenters[id] == nil { complain("\(delivery.message) was sent to \(id), who is not there") }
            presenters[id]?.pending.append(delivery)
            if case .didMove = delivery.message, let index = presenters[id]?.moves.firstIndex(where: { $0.message == nil }) {
                presenters[id]?.moves[index].message = delivery.id
            }
            guard let claim = delivery.awaitedBy else { return }
            if claims[claim]?.state == .queued { startAsking(claim) }
            claims[claim]?.unanswered.insert(delivery.id)
        case .grant(let id, let grant):
            guard let claim = claims[id] else { return complain("\(id) was granted, which is not there") }
            if grant.paths != claim.items.map(\.path) { complain("\(id) was granted \(grant.paths), not \(claim.items.map(\.path))") }
            switch claim.state {
            case .held: complain("\(id) was granted twice")
            case .queued:
                let blockers = blockers(claim, passing: true)
                if !blockers.isEmpty { complain("\(id) was granted before \(blockers)") }
                if !questions(claim).isEmpty { complain("\(id) was granted without asking") }
            case .asking:
                if !claim.unanswered.isEmpty { complain("\(id) was granted before the answers") }
                if claim.isRefused { complain("\(id) was granted, which a presenter refused") }
                for rival in claims.values where rival.isHeld && conflict(rival, claim) { complain("\(id) was granted beside \(rival.request.id)") }
            }
            claims[id]?.state = .held
        case .fail(let id, let reason):
            guard let claim = claims[id], !claim.isHeld else { return complain("\(id) failed, which does not wait") }
            if case .cycle = reason {
                checkYoungestOfCycle(claim)
            } else if case .refused = reason, claim.isRefused, claim.unanswered.isEmpty {
                // All have answered.
            } else if failure?.0 != id {
                complain("\(id) failed for no reason: \(reason)")
            }
            claims[id] = nil
        }
    }

    /// A claim begins to ask; what it asks is seen once all its messages are.
    private mutating func startAsking(_ id: ClaimID) {
        guard let claim = claims[id] else { return }
        let blockers = blockers(claim, passing: true)
        if !blockers.isEmpty { complain("\(id) asks before \(blockers) have ended") }
        claims[id]?.state = .asking
        expected[id] = questions(claim)
    }

    private var expected: [ClaimID: [PresenterID: [PresenterMessage]]] = [:]

    private mutating func checkYoungestOfCycle(_ claim: Claim) {
        let start = Surrounding.claim(claim.request.id)
        let around = reach(start, passing: true)
        guard around.contains(start) else { return complain("\(claim.request.id) failed, but waits not for itself") }
        // Some cycle through it must consist, as to waiting claims, of older ones only.
        var found: Set<Surrounding> = []
        var open = [start]
        while let next = open.popLast() {
            for awaited in awaited(next, passing: true) where found.insert(awaited).inserted {
                if case .claim(let id) = awaited, let other = claims[id], !other.isHeld, other.order > claim.order { continue }
                open.append(awaited)
            }
        }
        if !found.contains(start) { complain("\(claim.request.id) failed, but is not the youngest of any cycle") }
    }

    /// No claim waits that could go on, no cycle remains, and whoever was asked was asked the right things.
    private mutating func checkNothingIsLeftUndone() {
        for (id, asked) in expected {
            for (presenter, messages) in asked {
                let sent = presenters[presenter]?.pending.filter { $0.message.isQuestion && (claims[id]?.unanswered.contains($0.id) ?? false) }
                if let sent, claims[id] != nil, sent.map(\.message) != messages {
                    complain("\(id) asked \(presenter) \(sent.map(\.message)), not \(messages)")
                }
            }
        }
        expected = [:]
        for claim in claims.values where !claim.isHeld {
            let id = claim.request.id
            if claim.isRefused, claim.unanswered.isEmpty { complain("\(id) is refused, and has not failed") }
            let waits = awaited(.claim(id), passing: true)
            if waits.isEmpty { complain("\(id) waits for nobody: \(claim.state)") }
            if reach(.claim(id), passing: true).contains(.claim(id)) { complain("\(id) waits for itself, and nobody says so") }
        }
    }
}
