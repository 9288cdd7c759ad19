import CLinux
import Dispatch
import Glibc
import SystemPackage
import TreeWatching

/// Receives each event of the arbiter with the actions that follow, in the arbiter's order; a broker's actions come
/// without an event.
///
/// The closure must be quick, and must not coordinate.
package typealias CoordinationTrace = @Sendable (ArbiterEvent?, [ArbiterAction]) -> Void

/// The state that a client guards with its lock: the authority, and the clients and presenters that its decisions
/// affect.
struct ClientState {
    typealias Outcome = CoordinationClient.Outcome

    /// A claim that is not granted yet, or whose caller has not seen the outcome yet.
    struct Waiter {
        let coordinator: UInt64
        let request: ClaimRequest
        var outcome: Outcome?
        var resume: (@Sendable (Outcome) -> Void)?
        /// The error that a cancellation throws.
        var cancellation: (any Error)?
        private let began = ContinuousClock.now
        /// It records for the task that accesses, because the client serves all of them.
        private let metrics = MetricRecorder()

        init(coordinator: UInt64, request: ClaimRequest) { (self.coordinator, self.request) = (coordinator, request) }

        /// Records how long the claim has waited for its outcome.
        func record(_ outcome: Outcome) {
            let isGranted = if case .success = outcome { true } else { false }
            let isWrite = request.items.contains(where: \.access.writes)
            metrics.time(
                .coordinationWait, ContinuousClock.now - began,
                [.access: isWrite ? "write" : "read", .outcome: isGranted ? "granted" : "failed"])
        }
    }

    /// The effects to perform after the lock is released.
    struct Effects {
        var resumptions: [(resume: @Sendable (Outcome) -> Void, outcome: Outcome)] = []
        var mailboxes: [(presenter: PresenterID, executor: TurnExecutor)] = []
        /// Presenters whose items have moved, according to a broker.
        var moved: [PresenterID] = []
        /// Changes by other processes, and their places, according to a broker.
        var changes: [(delivery: Delivery, paths: [FilePath])] = []
        /// Presenters that have their items back from writers of other processes.
        var returned: [(presenter: PresenterID, visit: ForeignWrites.Visit)] = []
    }

    /// The authority that decides.
    enum Authority {
        /// The client's own arbiter decides everything: no other process is involved.
        case own
        /// The client's own arbiter decides about some subtrees, while the delegation lasts.
        case delegated(Delegated)
        /// A broker decides; the client may still be looking for it.
        case broker
    }

    /// A delegation to the client.
    struct Delegated {
        let number: UInt64
        let roots: [Root]
        var word: SharedWord?
        var isBusy = false

        struct Root {
            let path: FilePath
            let depth: Int
        }
    }

    let client: ClientID
    /// Receives every event with its actions, in the arbiter's order; called with the lock held.
    let trace: CoordinationTrace?
    var authority: Authority
    var arbiter: Arbiter
    var mirror = ClientMirror()
    /// The connection; nil if there is none.
    var connection: Connection?
    /// The time when the last connection ended.
    var lostConnection = ContinuousClock.now
    var registry = PresenterRegistry()
    var waiters: [ClaimID: Waiter] = [:]
    /// Errors that presenters threw, kept until the claim that they refused has failed.
    var refusals: [MessageID: any Error] = [:]
    /// The items of ended writes, kept while their file events may still arrive.
    var aftermath: [ClaimID: [ClaimItem]] = [:]
    /// The known writes by other processes.
    var foreign = ForeignWrites()
    /// Whether presenters hear of uncoordinated changes.
    let watchesFiles: Bool
    /// The number of the latest of these writes for each item.
    var latestWrites: [FilePath: UInt64] = [:]
    var nextWrite: UInt64 = 0
    /// The pings that wait for the broker's confirmation.
    var pings: [UInt64: Ping] = [:]
    var nextPing: UInt64 = 0
    var nextClaim: UInt64 = 0
    var nextCoordinator: UInt64 = 0

    /// The kinds of waiters for the broker's confirmation.
    enum Ping {
        /// A blocked thread.
        case caller(DispatchSemaphore)
        /// A change by another process, named by the message that reported it.
        case change(MessageID)
    }

    /// A connection to a broker.
    struct Connection {
        let epoch: UInt64
        let word: SharedWord?
        /// The delegation that this client accepts as soon as it has no claims or messages at the broker.
        var offer: BrokerFrame.Delegation?
        /// The bytes of frames to send.
        var outbox: [UInt8] = []
    }

    init(client: ClientID, isAlone: Bool, watchesFiles: Bool = false, trace: CoordinationTrace?) {
        self.client = client
        self.watchesFiles = watchesFiles
        self.trace = trace
        authority = isAlone ? .own : .broker
        arbiter = Self.newArbiter(of: client)
    }

    /// Makes an arbiter for this client, with message numbers that no other arbiter uses.
    static func newArbiter(of client: ClientID) -> Arbiter {
        var arbiter = Arbiter(firstMessage: 1 << 63 | .random(in: 0..<1 << 31) << 32)
        _ = arbiter.handle(.clientJoined(client, process: getpid(), name: CommandLine.arguments.first ?? ""))
        return arbiter
    }

    // MARK: Events

    /// Gives an event to the authority.
    mutating func handle(_ event: ArbiterEvent) -> [ArbiterAction] {
        let actions: [ArbiterAction]
        switch authority {
        case .own: actions = decide(event)
        case .delegated(let delegated): actions = handle(event, under: delegated)
        case .broker:
            actions = mirror.handle(event, isOnline: connection != nil)
            send(.event(event))
            acceptWhenQuiet()
        }
        trace?(event, actions)
        return actions
    }

    mutating func decide(_ event: ArbiterEvent) -> [ArbiterAction] {
        arbiter.time = coarseNanoseconds()
        return arbiter.handle(event)
    }

    mutating func send(_ frame: BrokerFrame) {
        guard let epoch = connection?.epoch else { return }
        frame.append(to: &connection!.outbox, epoch: epoch)
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
            case .deliver(let delivery): post(delivery, &effects)
            }
        }
    }

    mutating func post(_ delivery: Delivery, _ effects: inout Effects) {
        let id = delivery.presenter
        guard let entry = registry.entries[id] else { return }
        registry.entries[id]?.mailbox.append(delivery)
        guard !entry.isDraining else { return }
        registry.entries[id]?.isDraining = true
        effects.mailboxes.append((id, entry.executor))
    }

    private mutating func resolve(_ id: ClaimID, _ outcome: Outcome, _ effects: inout Effects) {
        guard let resume = waiters[id]?.resume else {
            waiters[id]?.outcome = outcome
            return
        }
        waiters[id] = nil
        effects.resumptions.append((resume, outcome))
    }

    private mutating func error(_ failure: ClaimFailure, of id: ClaimID) -> any Error {
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
        case .rejected(let reason): return FileCoordinationError(.brokerUnavailable, reason, path: path)
        case .refused(let message, _, let refusal):
            return refusals.removeValue(forKey: message)
                ?? FileCoordinationError(
                    .presenterRefused, "A presenter refused the access to \(items): \(refusal.reason)", path: path, cause: refusal.error)
        }
    }

    // MARK: Lookups

    /// Returns the path of a presenter's item.
    func path(of id: PresenterID) -> FilePath? {
        if case .broker = authority { return mirror.presenters[id]?.path }
        return arbiter.presenters[id]?.path
    }

    func items(of id: ClaimID) -> [ClaimItem]? { arbiter.claims[id]?.items ?? mirror.claims[id]?.items }

    func isBeingWritten(_ path: FilePath) -> Bool { arbiter.isBeingWritten(path) || mirror.isBeingWritten(path) }

    func heldWrite(of purpose: Purpose, covering path: FilePath) -> ClaimID? {
        arbiter.heldWrite(of: purpose, covering: path) ?? mirror.heldWrite(of: purpose, covering: path)
    }

    mutating func snapshot() -> CoordinationSnapshot {
        arbiter.time = coarseNanoseconds()
        return arbiter.snapshot()
    }
}

/// Returns a coarse time for listings; it is read for every claim, so it must be cheap.
private func coarseNanoseconds() -> UInt64 { clinux_monotonic_nanoseconds(1) }
