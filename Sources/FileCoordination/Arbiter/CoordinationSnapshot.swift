package import SystemPackage

/// All claims and presenters at one moment.
package struct CoordinationSnapshot: Sendable {
    /// A claim, held or waiting.
    package struct Claim: Sendable {
        /// The progress of a claim.
        package enum State: String, Sendable, Codable {
            case queued, asking, answered, held
        }

        package let id: ClaimID
        package let process: Int32
        package let processName: String
        /// Whether the process is stopped, by a signal or a debugger.
        package var isStopped = false
        package let purpose: String
        package let state: State
        package let isPreparation: Bool
        package let items: [(path: FilePath, writes: Bool)]
        /// The time since the request.
        package let age: Duration
        /// The claims and presenters that it waits for; empty when it is held.
        package let waitsFor: [WaitStep]
    }

    /// A registered presenter.
    package struct Presenter: Sendable {
        package let id: PresenterID
        package let process: Int32
        package let processName: String
        /// Whether the process is stopped, by a signal or a debugger.
        package var isStopped = false
        package let path: FilePath?
        /// The messages that it has not handled yet, in order.
        package let unanswered: [Message]
    }

    /// A message that its presenter has not handled yet.
    package struct Message: Sendable {
        package let id: MessageID
        package let name: String
        package let age: Duration
        /// Whether a claim waits for the answer.
        package let isAwaited: Bool
    }

    /// In the order of arrival.
    package var claims: [Claim]
    /// In the order of registration.
    package var presenters: [Presenter]

    package init(claims: [Claim], presenters: [Presenter]) {
        self.claims = claims
        self.presenters = presenters
    }
}

extension Arbiter {
    /// Lists claims and presenters; ages are relative to ``time``.
    package func snapshot() -> CoordinationSnapshot {
        let claims = self.claims.values.sorted { $0.order < $1.order }.map { claim in
            CoordinationSnapshot.Claim(
                id: claim.request.id, process: clients[claim.request.id.client]?.process ?? 0,
                processName: clients[claim.request.id.client]?.name ?? "", purpose: claim.request.purpose.description, state: claim.listedState,
                isPreparation: claim.request.isPreparation, items: claim.items.map { ($0.path, $0.access.writes) },
                age: age(since: claim.since), waitsFor: claim.isHeld ? [] : obstacles(of: claim.request.id))
        }
        let presenters = self.presenters.values.sorted { ($0.id.client.number, $0.id.number) < ($1.id.client.number, $1.id.number) }.map {
            presenter in
            CoordinationSnapshot.Presenter(
                id: presenter.id, process: clients[presenter.id.client]?.process ?? 0, processName: clients[presenter.id.client]?.name ?? "",
                path: presenter.path,
                unanswered: presenter.pending.compactMap { messages[$0] }.map { pending in
                    CoordinationSnapshot.Message(
                        id: pending.delivery.id, name: pending.delivery.message.name, age: age(since: pending.since),
                        isAwaited: pending.claim != nil)
                })
        }
        return CoordinationSnapshot(claims: claims, presenters: presenters)
    }

    private func age(since: UInt64) -> Duration { .nanoseconds(time > since ? time - since : 0) }

    /// Returns the latest held write claim of a purpose that covers a path: the claim that may report its move.
    func heldWrite(of purpose: Purpose, covering path: FilePath) -> ClaimID? {
        let claims = trie.claims(covering: path).compactMap { self.claims[$0] }
        let writers = claims.filter { claim in
            claim.isHeld && claim.request.purpose == purpose && claim.items.contains { $0.access.writes && path.isAtOrBelow($0.path) }
        }
        return writers.max { $0.order < $1.order }?.request.id
    }
}

extension Claim {
    fileprivate var listedState: CoordinationSnapshot.Claim.State {
        switch phase {
        case .queued: .queued
        case .asking: .asking
        case .answered: .answered
        case .held: .held
        }
    }
}
