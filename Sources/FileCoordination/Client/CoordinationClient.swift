import Dispatch
import Foundation
import Glibc
package import Logging
import Synchronization
package import SystemPackage
import TreeWatching

/// The process's part of coordination: its waiting claims, its registered presenters, and its connection to the
/// arbiter.
///
/// It performs all effects of the arbiter's actions after the lock is released: waiters continue, and presenters handle
/// their messages. Only the order of messages is fixed under the lock, so that it is the arbiter's order.
package final class CoordinationClient: Sendable {
    /// The client that an app's coordinators use.
    static let shared = CoordinationClient(
        id: ClientID(.random(in: 1...UInt64.max)),
        link: { logger in
            BrokerLink(logger: logger) { BrokerLink.Options(place: .standard(), program: BrokerStarter.program()) }
        })

    typealias Outcome = Result<Grant, any Error>

    let id: ClientID
    /// The connection to the broker; nil for a client that coordinates only within this process.
    let link: BrokerLink?
    let deadlines: Deadlines
    let logger: Logger
    let state: Mutex<ClientState>
    let watches: PresenterWatches
    let writes = WriteObservers()
    private let packages = Mutex(FilePackages())

    /// Makes a client that coordinates only within this process.
    package convenience init(
        clock: any Clock<Duration> = ContinuousClock(), watchesFiles: Bool = true, logger: Logger = .ubiquity,
        trace: CoordinationTrace? = nil
    ) {
        self.init(id: ClientID(1), clock: clock, watchesFiles: watchesFiles, logger: logger, trace: trace)
    }

    /// Makes a client of a separate broker, like that of another process.
    ///
    /// - Parameters:
    ///   - place: the broker's place.
    ///   - program: the program to start if no broker runs; without one, this process becomes the host.
    ///   - clock: measures deadlines.
    ///   - watchesFiles: whether presenters hear of uncoordinated changes.
    ///   - logger: receives problems that the client cannot solve.
    ///   - trace: receives every event with its actions.
    package convenience init(
        place: BrokerPlace, program: FilePath?, clock: any Clock<Duration> = ContinuousClock(), watchesFiles: Bool = true,
        logger: Logger = .ubiquity, trace: CoordinationTrace? = nil
    ) {
        self.init(
            id: ClientID(.random(in: 1...UInt64.max)), clock: clock, watchesFiles: watchesFiles, logger: logger, trace: trace,
            link: { BrokerLink(logger: $0) { BrokerLink.Options(place: place, program: program) } })
    }

    private init(
        id: ClientID, clock: any Clock<Duration> = ContinuousClock(), watchesFiles: Bool = true,
        logger: Logger = .ubiquity, trace: CoordinationTrace? = nil, link: ((Logger) -> BrokerLink)? = nil
    ) {
        self.id = id
        deadlines = Deadlines(clock: clock)
        watches = PresenterWatches(isEnabled: watchesFiles, logger: logger)
        self.logger = logger
        self.link = link?(logger)
        state = Mutex(ClientState(client: id, isAlone: link == nil, watchesFiles: watchesFiles, trace: trace))
        ForkedChild.watch()
    }

    /// Closes the connection permanently; held claims stay held within this process.
    package func disconnect() { link?.close() }

    /// Whether this process decides its accesses itself, within the delegation of the broker.
    package var isDelegated: Bool {
        state.withLock {
            guard case .delegated = $0.authority else { return false }
            return true
        }
    }

    /// The rule that tells which directories are file packages.
    package var filePackages: FilePackages {
        get { packages.withLock { $0 } }
        set { packages.withLock { $0 = newValue } }
    }

    func newCoordinator() -> UInt64 {
        state.withLock { state in
            state.nextCoordinator += 1
            return state.nextCoordinator
        }
    }

    // MARK: Claims

    /// Requests a claim.
    ///
    /// - Parameters:
    ///   - coordinator: the coordinator that asks.
    ///   - request: makes the request from the claim's number.
    /// - Returns: the claim, and its grant if it was granted at once; otherwise the caller must wait for the claim.
    /// - Throws: `brokerUnavailable` in a forked child.
    func begin(coordinator: UInt64, _ request: (ClaimID) -> ClaimRequest) throws(FileCoordinationError) -> (ClaimID, Grant?) {
        if ForkedChild.isOne {
            throw FileCoordinationError(
                .brokerUnavailable, "A forked child of a process that coordinates files cannot coordinate. Have it execute a program first.")
        }
        let (id, grant, effects) = state.withLock { state -> (ClaimID, Grant?, ClientState.Effects?) in
            state.nextClaim += 1
            let id = ClaimID(self.id, state.nextClaim)
            let request = request(id)
            let actions = state.handle(.request(request))
            if actions.count == 1, case .grant(id, let grant) = actions[0] { return (id, grant, nil) }
            state.waiters[id] = ClientState.Waiter(coordinator: coordinator, request: request)
            var effects = ClientState.Effects()
            state.apply(actions, &effects)
            return (id, nil, effects)
        }
        if let effects {
            let hasOutcome = { self.state.withLock { $0.waiters[id]?.outcome != nil } }
            if let link { link.ask(self, { perform(effects) }, until: hasOutcome) } else { perform(effects) }
        }
        return (id, grant)
    }

    /// Waits for a claim that was not granted at once.
    ///
    /// - Throws: the claim's failure; `CancellationError` when the task was cancelled first.
    nonisolated(nonsending) func wait(for id: ClaimID, deadline: FileCoordinator.Deadline?) async throws -> Grant {
        let timer = deadline.map { deadline in
            deadlines.call(after: deadline.remaining) { [self] in
                submit(.deadline(id))
                // A stopped broker cannot say what the access waits for. Its time begins when it has been asked.
                guard link != nil, isWaiting(id) else { return }
                _ = deadlines.call(after: .seconds(1)) { [self] in
                    if isWaiting(id) { cancel(id, as: FileCoordinationError.brokerIsSilent) }
                }
            }
        }
        defer { timer?.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                onOutcome(of: id) { continuation.resume(with: $0) }
            }
        } onCancel: {
            cancel(id, as: CancellationError())
        }
    }

    /// Returns whether a claim's caller has not seen its outcome.
    private func isWaiting(_ id: ClaimID) -> Bool { state.withLock { $0.waiters[id] != nil } }

    /// Blocks the calling thread until a claim is granted.
    ///
    /// - Throws: the claim's failure.
    func waitBlocking(for id: ClaimID) throws -> Grant {
        let arrival = Arrival()
        onOutcome(of: id) { arrival.set($0) }
        return try arrival.wait().get()
    }

    /// Calls a closure once with a claim's outcome, at once if the outcome is known.
    func onOutcome(of id: ClaimID, _ resume: @escaping @Sendable (Outcome) -> Void) {
        let known = state.withLock { state -> (ClientState.Waiter, Outcome)? in
            guard let waiter = state.waiters[id] else { return nil }
            guard let outcome = waiter.outcome else {
                state.waiters[id]!.resume = { outcome in
                    waiter.record(outcome)
                    resume(outcome)
                }
                return nil
            }
            state.waiters[id] = nil
            return (waiter, outcome)
        }
        guard let (waiter, outcome) = known else { return }
        waiter.record(outcome)
        resume(outcome)
    }

    /// Gives up a claim that still waits; a granted claim stays.
    func cancel(_ id: ClaimID, as error: any Error) {
        let effects = state.withLock { state in
            state.waiters[id]?.cancellation = error
            return state.effects(of: .cancel(id))
        }
        perform(effects)
    }

    /// Gives up all waiting claims of a coordinator.
    func cancelAll(of coordinator: UInt64) {
        let waiting = state.withLock { state in state.waiters.filter { $0.value.coordinator == coordinator }.map(\.key) }
        for id in waiting { cancel(id, as: CocoaError.coordinatorCancelled) }
    }

    /// Gives an event to the arbiter.
    func submit(_ event: ArbiterEvent) {
        perform(state.withLock { $0.effects(of: event) })
        switch event {
        case .moved: watches.followAll(of: self)
        // This runs elsewhere, because the event comes from the watching thread.
        case .noticed(let id, .didMove): Task.detached(executorPreference: watches.aside) { self.watches.follow(id, of: self) }
        default: break
        }
    }

    /// Announces an event to the presenters of all processes, even if this client has not contacted a broker yet.
    func announce(_ event: ArbiterEvent) {
        link?.start(self)
        submit(event)
    }

    /// Ends a claim.
    ///
    /// - Parameters:
    ///   - id: the claim.
    ///   - observations: the changes of the items by its accessor.
    ///   - written: the items that it wrote.
    func end(_ id: ClaimID, _ observations: [Observation], written: [FilePath]) {
        guard !written.isEmpty, !watches.isEmpty else { return submit(.end(id, observations)) }
        let items = state.withLock { $0.items(of: id) }?.filter(\.access.writes) ?? []
        let places = Set(written + items.map(\.path))
        let concerned = watches.concerning(places)
        // This comes before the end, because later changes belong to other writers.
        for watch in concerned.values where items.contains(where: { $0.writes(watch.path) }) { watch.rebase(after: .own) }
        let stamps = Dictionary(places.map { ($0, ItemStamp($0)) }) { first, _ in first }
        let (effects, write) = state.withLock { state in
            // One lock covers this and the end, so that no file event falls between them.
            state.aftermath[id] = items
            let write = state.noteWrite(of: places)
            return (state.effects(of: .end(id, observations)), write)
        }
        perform(effects)
        watches.settleAftermath(of: id, items, stamps, concerned, write: write, client: self)
    }

    /// Returns the innermost surrounding write claim that may report a move of a path.
    func claim(of purpose: Purpose, covering path: FilePath) -> ClaimID? {
        state.withLock { $0.heldWrite(of: purpose, covering: path) }
    }

    /// Returns all claims and presenters.
    package func snapshot() -> CoordinationSnapshot {
        state.withLock { $0.snapshot() }
    }

    /// Performs the effects that wait for the release of the lock.
    func perform(_ effects: ClientState.Effects) {
        link?.flush(self)
        for (resume, outcome) in effects.resumptions { resume(outcome) }
        for (presenter, executor) in effects.mailboxes {
            // The task is detached, because a presenter's turn is not nested in any accessor.
            Task.detached(executorPreference: executor) { await PresenterTurns(id: presenter, client: self).take() }
        }
        for id in effects.moved { watches.follow(id, of: self) }
        for (presenter, visit) in effects.returned { watches.takeBack(presenter, after: visit, client: self) }
        for (delivery, paths) in effects.changes { watches.settleForeignAftermath(of: delivery, at: paths, client: self) }
    }

    /// Handles a frame of the broker.
    func receive(_ frame: BrokerFrame) {
        let effects = state.withLock { state -> ClientState.Effects in
            switch frame {
            case .action(let action): return state.receive(action)
            case .delegated(let delegation): state.accept(delegation)
            case .recall(let number): state.giveBack(number)
            case .retargeted(let id, let items): state.mirror.retarget(id, items)
            case .logLevel(let level): LogState.shared.asked = UbiquityLog.Level(broker: Int(clamping: level))
            case .pong(let number): state.pong(number)
            default: break
            }
            return ClientState.Effects()
        }
        perform(effects)
    }
}

/// An outcome for which a thread waits.
private final class Arrival: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let outcome = Mutex<CoordinationClient.Outcome?>(nil)

    func set(_ outcome: CoordinationClient.Outcome) {
        self.outcome.withLock { $0 = outcome }
        semaphore.signal()
    }

    func wait() -> CoordinationClient.Outcome {
        semaphore.wait()
        return outcome.withLock { $0! }
    }
}

extension FileCoordinationError {
    static let brokerIsSilent = FileCoordinationError(
        .deadlineExceeded,
        "The access was not granted before its deadline, and the broker of file coordination does not answer. "
            + "See `ubcontrol broker status`.")
}

extension CocoaError {
    /// The error that an access of a cancelled coordinator throws.
    static var coordinatorCancelled: CocoaError {
        let message = "The coordinator was cancelled, so its accessor was not run. Make another coordinator to try again."
        return CocoaError(.userCancelled, userInfo: [NSLocalizedDescriptionKey: message])
    }
}
