import Glibc
import SystemPackage

/// Sees what the arbiter is told and what it decides, in its order.
///
/// It must be quick, and must not coordinate.
package typealias CoordinationTrace = @Sendable (ArbiterEvent, [ArbiterAction]) -> Void

/// What a client keeps under its lock: the arbiter, and who is concerned by its actions.
struct ClientState {
    typealias Outcome = CoordinationClient.Outcome

    /// A claim that is not granted yet, or whose caller has not looked yet.
    struct Waiter {
        let coordinator: UInt64
        let request: ClaimRequest
        var outcome: Outcome?
        var resume: (@Sendable (Outcome) -> Void)?
        /// What a cancellation is to be reported as.
        var cancellation: (any Error)?
    }

    /// What is left to do once the lock is released.
    struct Effects {
        var resumptions: [(resume: @Sendable (Outcome) -> Void, outcome: Outcome)] = []
        var mailboxes: [PresenterID] = []
    }

    /// Sees every event with the actions that followed, in the arbiter's order; called under the lock.
    let trace: CoordinationTrace?
    var arbiter = Arbiter()
    var registry = PresenterRegistry()
    var waiters: [ClaimID: Waiter] = [:]
    /// Errors that presenters threw, while the arbiter deals with the refusal.
    var refusals: [MessageID: any Error] = [:]
    /// The items of writes that have ended, while their events may still come in.
    var aftermath: [ClaimID: [ClaimItem]] = [:]
    var nextClaim: UInt64 = 0
    var nextCoordinator: UInt64 = 0

    init(trace: CoordinationTrace?) {
        self.trace = trace
    }

    /// Hands an event to the arbiter with the time.
    mutating func handle(_ event: ArbiterEvent) -> [ArbiterAction] {
        arbiter.time = monotonicNanoseconds()
        let actions = arbiter.handle(event)
        trace?(event, actions)
        return actions
    }

    mutating func effects(of event: ArbiterEvent) -> Effects {
        var effects = Effects()
        apply(handle(event), &effects)
        return effects
    }

    mutating func apply(_ actions: [ArbiterAction], _ effects: inout Effects) {
        for action in actions {
            switch action {
            case .grant(let id, let grant): resolve(id, .success(grant), &effects)
            case .fail(let id, let failure): resolve(id, .failure(error(failure, of: id)), &effects)
            case .deliver(let delivery):
                let id = delivery.presenter
                guard registry.entries[id] != nil else { continue }
                registry.entries[id]?.mailbox.append(delivery)
                if registry.entries[id]?.isDraining == false {
                    registry.entries[id]?.isDraining = true
                    effects.mailboxes.append(id)
                }
            }
        }
    }

    private mutating func resolve(_ id: ClaimID, _ outcome: Outcome, _ effects: inout Effects) {
        guard let resume = waiters[id]?.resume else {
            waiters[id]?.outcome = outcome
            return
        }
        waiters[id] = nil
        effects.resumptions.append((resume, outcome))
    }

    private func error(_ failure: ClaimFailure, of id: ClaimID) -> any Error {
        guard let waiter = waiters[id] else { return CancellationError() }
        let items = waiter.request.items.map(\.path.string).joined(separator: ", ")
        let path = waiter.request.items.first?.path
        switch failure {
        case .cancelled: return waiter.cancellation ?? CancellationError()
        case .deadline(let steps):
            let whom = steps.map(\.description).joined(separator: "; ")
            return FileCoordinationError(
                .deadlineExceeded, "The access to \(items) was not granted before its deadline. It waited for \(whom).", path: path, waits: steps)
        case .cycle(let steps):
            let whom = steps.map(\.description).joined(separator: " waits for ")
            return FileCoordinationError(
                .deadlock,
                "The access to \(items) would wait for itself: \(whom) waits for the first again. "
                    + "Use one coordinator for nested accesses, or claim all items at once.",
                path: path, waits: steps)
        case .refused(let message, _, let reason):
            return refusals[message]
                ?? FileCoordinationError(.presenterRefused, "A presenter refused the access to \(items): \(reason)", path: path)
        }
    }

    mutating func snapshot() -> CoordinationSnapshot {
        arbiter.time = monotonicNanoseconds()
        return arbiter.snapshot()
    }
}

/// The time for listings; coarse, for it is read for every claim.
///
/// See clock_gettime(2).
private func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
