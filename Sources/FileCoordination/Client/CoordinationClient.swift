import Dispatch
import Foundation
import Glibc
package import Logging
import Synchronization
package import SystemPackage
import TreeWatching

/// A process's side of coordination: who waits here, which presenters are registered here, and the way to the arbiter.
///
/// All effects of the arbiter's actions happen here, after the lock is released: waiters go on, presenters' mailboxes are worked off.
/// Only the order of the mailboxes is settled under the lock, so that it is the arbiter's.
package final class CoordinationClient: Sendable {
    /// The client that an app's coordinators use.
    static let shared = CoordinationClient(
        id: ClientID(.random(in: 1...UInt64.max)),
        link: { logger in
            BrokerLink(logger: logger) { BrokerLink.Options(place: .standard(), program: BrokerStarter.program()) }
        })

    typealias Outcome = Result<Grant, any Error>

    let id: ClientID
    /// The way to the broker; nil for a client that coordinates with nobody outside.
    private let link: BrokerLink?
    let deadlines: Deadlines
    let logger: Logger
    let state: Mutex<ClientState>
    /// Whether presenters hear of uncoordinated changes.
    let watchesFiles: Bool
    let watches = Mutex<[PresenterID: PresenterWatch]>([:])
    let writes = WriteObservers()
    let hasWarned = Atomic(false)
    private let packages = Mutex(FilePackages())

    /// Makes a client that coordinates within this process only.
    package convenience init(
        clock: any Clock<Duration> = ContinuousClock(), watchesFiles: Bool = true, logger: Logger = .ubiquity,
        trace: CoordinationTrace? = nil
    ) {
        self.init(id: ClientID(1), clock: clock, watchesFiles: watchesFiles, logger: logger, trace: trace)
    }

    /// Makes a client of a broker of one's own, as other processes would be.
    ///
    /// - Parameters:
    ///   - place: where the broker is, or is to be.
    ///   - program: what is started where there is none; without it, this process becomes the host.
    ///   - clock: measures deadlines.
    ///   - watchesFiles: whether presenters hear of uncoordinated changes.
    ///   - logger: hears of what cannot be helped.
    ///   - trace: sees what happens.
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
        self.watchesFiles = watchesFiles
        self.logger = logger
        self.link = link?(logger)
        state = Mutex(ClientState(client: id, isAlone: link == nil, watchesFiles: watchesFiles, trace: trace))
        ForkedChild.watch()
    }

    /// Hangs up for good; what is held stays held, as far as anybody here knows.
    package func disconnect() { link?.close() }

    /// Whether accesses are decided here, as far as the broker lets them be.
    package var isDelegated: Bool {
        state.withLock {
            guard case .delegated = $0.authority else { return false }
            return true
        }
    }

    /// Which directories are file packages.
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
    ///   - coordinator: who asks.
    ///   - request: makes the request, given the claim's number.
    /// - Returns: the claim, and the grant if it can be had at once; else somebody must wait for the claim.
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
    /// - Throws: what the claim failed with; `CancellationError` when the task was cancelled first.
    nonisolated(nonsending) func wait(for id: ClaimID, deadline: FileCoordinator.Deadline?) async throws -> Grant {
        var timers: [Deadlines.Timer] = []
        if let deadline {
            timers.append(deadlines.call(after: deadline.remaining) { [self] in submit(.deadline(id)) })
            // A broker that is stopped cannot tell for whom the access waits.
            if link != nil {
                timers.append(
                    deadlines.call(after: deadline.remaining + .seconds(1)) { [self] in cancel(id, as: FileCoordinationError.brokerIsSilent) })
            }
        }
        defer { for timer in timers { timer.cancel() } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                onOutcome(of: id) { continuation.resume(with: $0) }
            }
        } onCancel: {
            cancel(id, as: CancellationError())
        }
    }

    /// Blocks the calling thread until a claim is granted.
    ///
    /// - Throws: what the claim failed with.
    func waitBlocking(for id: ClaimID) throws -> Grant {
        let arrival = Arrival()
        onOutcome(of: id) { arrival.set($0) }
        return try arrival.wait().get()
    }

    /// Has a closure called once with a claim's outcome, at once if it is known.
    func onOutcome(of id: ClaimID, _ resume: @escaping @Sendable (Outcome) -> Void) {
        let known = state.withLock { state -> Outcome? in
            guard let outcome = state.waiters[id]?.outcome else {
                state.waiters[id]?.resume = resume
                return nil
            }
            state.waiters[id] = nil
            return outcome
        }
        if let known { resume(known) }
    }

    /// Gives a claim up that still waits; one that is granted stays.
    func cancel(_ id: ClaimID, as error: any Error) {
        let effects = state.withLock { state in
            state.waiters[id]?.cancellation = error
            return state.effects(of: .cancel(id))
        }
        perform(effects)
    }

    /// Gives up all claims of a coordinator that still wait.
    func cancelAll(of coordinator: UInt64) {
        let waiting = state.withLock { state in state.waiters.filter { $0.value.coordinator == coordinator }.map(\.key) }
        for id in waiting { cancel(id, as: CocoaError.coordinatorCancelled) }
    }

    /// Passes an event on to the arbiter.
    func submit(_ event: ArbiterEvent) {
        perform(state.withLock { $0.effects(of: event) })
        switch event {
        case .moved: for id in watches.withLock({ Array($0.keys) }) { rewatch(id, hasMoved: true) }
        // Aside, for this comes from the watching thread.
        case .noticed(let id, .didMove): Task.detached(executorPreference: Self.aside) { self.rewatch(id, hasMoved: true) }
        default: break
        }
    }

    /// Passes on what presenters of all processes are to hear, also where nothing was asked of the broker yet.
    func announce(_ event: ArbiterEvent) {
        link?.start(self)
        submit(event)
    }

    /// Ends a claim.
    ///
    /// - Parameters:
    ///   - id: the claim.
    ///   - observations: what its accessor did to the items.
    ///   - written: the items that it wrote.
    func end(_ id: ClaimID, _ observations: [Observation], written: [FilePath]) {
        guard !written.isEmpty, isWatching else { return submit(.end(id, observations)) }
        let items = state.withLock { $0.items(of: id) }?.filter(\.access.writes) ?? []
        let places = Set(written + items.map(\.path))
        let concerned = watches(of: places)
        // Before the end: what comes after it is another's.
        for watch in concerned.values where items.contains(where: { $0.writes(watch.path) }) { watch.rebase(after: .own) }
        let stamps = Dictionary(places.map { ($0, ItemStamp($0)) }) { first, _ in first }
        let (effects, write) = state.withLock { state in
            // Under one lock with the end, so that no event falls between.
            state.aftermath[id] = items
            let write = state.noteWrite(of: places)
            return (state.effects(of: .end(id, observations)), write)
        }
        perform(effects)
        settleAftermath(of: id, items, stamps, concerned, write: write)
    }

    /// The write claim with which code within these surroundings may report a move of a path, the innermost first.
    func claim(of purpose: Purpose, covering path: FilePath) -> ClaimID? {
        state.withLock { $0.heldWrite(of: purpose, covering: path) }
    }

    /// Whether a presenter of this process has yet to handle a message.
    package var hasUnhandledMessages: Bool { state.withLock { $0.registry.entries.values.contains { $0.isDraining && $0.presenter != nil } } }

    /// Who holds and awaits what.
    package func snapshot() -> CoordinationSnapshot {
        state.withLock { $0.snapshot() }
    }

    /// Does what is left to do once the lock is released.
    func perform(_ effects: ClientState.Effects) {
        link?.flush(self)
        for (resume, outcome) in effects.resumptions { resume(outcome) }
        for (presenter, executor) in effects.mailboxes {
            // Detached: a presenter's turn is nested in nobody's accessor.
            Task.detached(executorPreference: executor) { await self.drain(presenter) }
        }
        for id in effects.moved { rewatch(id, hasMoved: true) }
        for (presenter, visit) in effects.returned { takeBack(presenter, after: visit) }
        for (delivery, paths) in effects.changes { settleForeignAftermath(of: delivery, at: paths) }
    }

    /// Takes in a frame from the broker.
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

    // MARK: Presenters

    /// The number that stands for a presenter, registered or not.
    func id(of presenter: any FilePresenter) -> PresenterID {
        state.withLock { $0.registry.id(of: presenter, in: id) }
    }

    var presenters: [any FilePresenter] {
        state.withLock { state in
            state.registry.entries.filter { !$0.value.isWitness }.sorted { $0.key.number < $1.key.number }.compactMap(\.value.presenter)
        }
    }

    package func add(_ presenter: any FilePresenter) {
        // Both are the presenter's own code, so they run outside the lock.
        let location = presenter.presentedItemURL.flatMap { try? Location($0) }
        let observed = Set(presenter.observedPresentedItemUbiquityAttributes.map(\.rawValue))
        let effects = state.withLock { state -> ClientState.Effects in
            let id = state.registry.id(of: presenter, in: id)
            guard state.registry.entries[id] == nil else { return ClientState.Effects() }
            state.registry.entries[id] = PresenterRegistry.Entry(presenter: presenter, location: location, observed: observed)
            return state.effects(of: .addPresenter(id, location?.path, observedAttributes: observed))
        }
        perform(effects)
        rewatch(self.id(of: presenter))
        waitForBroker()
    }

    /// Returns once the broker knows of what has happened so far, or cannot be reached within two seconds.
    func waitForBroker() {
        guard let link else { return }
        let arrival = DispatchSemaphore(value: 0)
        state.withLock { $0.ping(.caller(arrival)) }
        link.start(self)
        link.flush(self)
        _ = arrival.wait(timeout: .now() + 2)
    }

    package func remove(_ presenter: any FilePresenter) {
        let (id, effects) = state.withLock { state -> (PresenterID?, ClientState.Effects) in
            guard let id = state.registry.id(ofDeparting: presenter, in: self.id) else { return (nil, ClientState.Effects()) }
            state.registry.remove(id)
            return (id, state.effects(of: .removePresenter(id)))
        }
        perform(effects)
        if let id { rewatch(id) }
    }
}

/// An outcome that a thread waits for.
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
    /// What an access of a cancelled coordinator throws (C-55).
    static var coordinatorCancelled: CocoaError {
        let message = "The coordinator was cancelled, so its accessor was not run. Make another coordinator to try again."
        return CocoaError(.userCancelled, userInfo: [NSLocalizedDescriptionKey: message])
    }
}
