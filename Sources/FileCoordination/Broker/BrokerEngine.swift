import SystemPackage

/// A process; its start time tells it from a later one with the same identifier, see proc_pid_stat(5).
struct ProcessIdentity: Hashable, Sendable {
    let number: Int32
    let start: UInt64
}

/// A connection to the broker, numbered by its host.
struct ConnectionID: Hashable, Sendable {
    let number: UInt64
}

/// The system calls that the broker needs in the middle of a decision.
struct BrokerSystem {
    /// Returns whether a signal or a debugger has stopped a process.
    var isStopped: (ProcessIdentity) -> Bool
    /// Takes back a delegation if nothing is in progress under it.
    ///
    /// - Returns: whether it was taken back; if not, the broker must ask the client.
    var revoke: (ConnectionID, UInt64) -> Bool
}

/// The broker's state machine: clients that connect, disconnect, report after a takeover, or are stopped, around the
/// ``Arbiter``.
///
/// It takes frames and returns effects. The host handles sockets, files and processes.
struct BrokerEngine {
    /// The effects that the host performs, in this order.
    enum Effect: Sendable {
        case send(ConnectionID, BrokerFrame)
        /// Closes a connection; the host reads no more from it.
        case hangUp(ConnectionID)
        /// Writes a record; the host does this before it sends the frames that depend on it.
        case record(ClaimsRecord)
        /// Sets the log level, also for the next broker.
        case log(Int)
        case leave
    }

    struct Client {
        let connection: ConnectionID
        let process: ProcessIdentity
        let name: String
        /// Unfinished claims.
        var live: Set<ClaimID> = []
        var isStopped = false
        var delegation: BrokerFrame.Delegation?
        /// Whether the broker asked for the delegation back.
        var isRecalled = false
        /// The number of claims since the last delegation, and the number that earns the next one.
        var claimsSince = 0
        var patience = Limits.patience
        /// The time at which its last claim or delegation ended.
        var lastEnd: UInt64 = 0
        /// The end of its turn: until then, its delegation is not asked for back.
        var turnEnd: UInt64 = 0
        /// The directories of its latest claims, latest first.
        var recent: [(directory: FilePath, time: UInt64)] = []
        /// The items of its claims since the last delegation; more than the limit say that there were more.
        var items: Set<FilePath> = []
    }

    enum Limits {
        static let claims = 4096
        static let items = 1024
        static let presenters = 65536
        static let pathBytes = 4096
        static let textBytes = 4096
        /// How long a broker waits for the clients of its predecessor.
        static let recovery: UInt64 = 2_000_000_000
        /// How long a presenter may take before the broker checks whether its process is stopped.
        static let answer: UInt64 = 50_000_000
        /// The interval of the checks whether a stopped process continues.
        static let stopped: UInt64 = 100_000_000
        /// How long a listing waits for delegations to come back.
        static let listing: UInt64 = 300_000_000
        /// How long a claim shows that its client will use the directory again.
        static let interest: UInt64 = 10_000_000_000
        static let patience = 16
        static let mostPatience = 512
        static let recentDirectories = 8
        /// The most items that are delegated one by one.
        static let delegatedItems = 8
        /// How soon after its last claim a client must ask again to get a turn.
        static let haste: UInt64 = 1_000_000
        /// How long a turn lasts while others wait.
        static let turn: UInt64 = 1_000_000
    }

    let epoch: UInt64
    let process: Int32
    let isResident: Bool
    let system: BrokerSystem
    private let began: UInt64
    /// The host's monotonic clock, in nanoseconds; the host sets it before each input.
    var time: UInt64 {
        didSet { arbiter.time = time }
    }
    var arbiter: Arbiter
    var clients: [ClientID: Client] = [:]
    var connections: [ConnectionID: (process: ProcessIdentity, client: ClientID?)] = [:]
    var recovery: Recovery?
    var listings: [(connection: ConnectionID, until: UInt64)] = []
    var nextDelegation: UInt64 = 0
    var effects: [Effect] = []
    /// The log level, by the numbers of syslog(3).
    private(set) var logLevel: Int

    /// Makes a broker.
    ///
    /// - Parameters:
    ///   - epoch: greater than the epoch of every earlier broker.
    ///   - process: the broker's process.
    ///   - isResident: whether that process only runs the broker.
    ///   - time: the host's clock.
    ///   - former: the records of the predecessor.
    ///   - system: the system calls about processes.
    ///   - logLevel: the log level.
    init(
        epoch: UInt64, process: Int32, isResident: Bool, time: UInt64, former: FormerClaims, system: BrokerSystem, logLevel: Int = BrokerLog.standard
    ) {
        self.logLevel = logLevel
        self.epoch = epoch
        self.process = process
        self.isResident = isResident
        self.time = time
        self.system = system
        began = time
        // Clients set the highest bit in the message numbers of their own arbiters.
        arbiter = Arbiter(firstMessage: (epoch & 0x7fff_ffff) << 32)
        arbiter.time = time
        recovery = former.clients.isEmpty ? nil : Recovery(former, until: time + Limits.recovery)
    }

    /// Removes and returns the pending effects; the host calls this after each input.
    mutating func takeEffects() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    // MARK: Connections

    /// Adds a connection of a process of this user.
    mutating func connected(_ connection: ConnectionID, _ process: ProcessIdentity) { connections[connection] = (process, nil) }

    /// Removes a connection that was closed, or whose process has died.
    mutating func closed(_ connection: ConnectionID) {
        listings.removeAll { $0.connection == connection }
        guard let client = connections.removeValue(forKey: connection)?.client, clients[client] != nil else { return }
        forget(client)
    }

    private mutating func forget(_ id: ClientID) {
        clients[id] = nil
        recovery?.drop(id)
        effects.append(.record(.gone(id)))
        run(.clientGone(id))
        retryDeferred()
    }

    mutating func refuse(_ connection: ConnectionID, _ refusal: BrokerFrame.Refusal, _ reason: String) {
        effects.append(.send(connection, .refused(refusal, reason)))
        effects.append(.hangUp(connection))
        closed(connection)
    }

    mutating func received(_ frame: BrokerFrame, epoch: UInt64, on connection: ConnectionID) {
        guard let (process, client) = connections[connection] else { return }
        if case .hello(let hello) = frame, client == nil { return greet(hello, process, connection) }
        guard let client else { return refuse(connection, .misuse, "The first frame must be a hello.") }
        guard epoch == self.epoch else {
            return refuse(connection, .misuse, "A frame for the broker of epoch \(epoch) came to that of epoch \(self.epoch).")
        }
        switch frame {
        case .list:
            recallAll()
            listings.append((connection, time + Limits.listing))
        case .status: effects.append(.send(connection, .report(report())))
        case .stop: effects.append(.leave)
        case .ping(let number): effects.append(.send(connection, .pong(number)))
        case .setLogLevel(let level): log(level, askedOn: connection)
        case .hello, .welcome, .refused, .action, .delegated, .recall, .listing, .report, .pong, .retargeted, .logLevel:
            refuse(connection, .misuse, "A frame came that clients do not send after their hello.")
        case .reclaim, .event, .returned:
            guard clients[client] != nil else { return refuse(connection, .misuse, "An observer does not claim.") }
            do {
                if clients[client]?.isStopped == true { goOn(client) }
                switch frame {
                case .reclaim(let holdings, let hasMissed):
                    try reclaim(holdings, by: client)
                    if hasMissed { run(.missed(client)) }
                case .event(let event): try take(event, from: client)
                case .returned(let number, let holdings): try takeBack(number, holdings, from: client)
                default: break
                }
            } catch {
                refuse(connection, .misuse, error.description)
            }
        }
        answerListings()
    }

    private mutating func greet(_ hello: BrokerFrame.Hello, _ process: ProcessIdentity, _ connection: ConnectionID) {
        guard hello.version == brokerProtocolVersion else {
            return refuse(
                connection, .version,
                "The broker (process \(self.process)) speaks version \(brokerProtocolVersion) of the protocol, the client \(hello.version). "
                    + "Update the older of the two; `ubcontrol broker stop` ends the broker.")
        }
        guard clients[hello.client] == nil else {
            return refuse(connection, .misuse, "Another process is connected as \(hello.client).")
        }
        connections[connection] = (process, hello.client)
        effects.append(.send(connection, .welcome(.init(version: brokerProtocolVersion, process: self.process))))
        guard !hello.isObserver else { return }
        clients[hello.client] = Client(connection: connection, process: process, name: String(hello.name.prefix(256)))
        effects.append(.record(.client(hello.client, process)))
        if logLevel != BrokerLog.standard { effects.append(.send(connection, .logLevel(UInt64(logLevel)))) }
        run(.clientJoined(hello.client, process: process.number, name: String(hello.name.prefix(256))))
        guard let delegation = hello.delegation else { return }
        let isKnown = recovery?.held[Self.claim(of: delegation.number, hello.client)] != nil
        hold(delegation, for: hello.client)
        // Other clients may meanwhile use the same directories.
        if !isKnown { recall(hello.client) }
    }

    // MARK: The arbiter

    /// Gives an event to the arbiter, and sends its actions to the clients.
    mutating func run(_ event: ArbiterEvent) {
        for action in arbiter.handle(event) {
            switch action {
            case .grant(let id, _):
                guard let claim = arbiter.claims[id] else { continue }
                effects.append(.record(.held(claim.request, claim.items)))
                send(action, to: id.client)
                if case .end = event { considerTurn(with: claim) }
            case .fail(let id, _):
                clients[id.client]?.live.remove(id)
                send(action, to: id.client)
            case .deliver(let delivery): send(action, to: delivery.presenter.client)
            }
        }
        recallAwaited()
    }

    private mutating func send(_ action: ArbiterAction, to client: ClientID) {
        guard let connection = clients[client]?.connection else { return }
        effects.append(.send(connection, .action(action)))
    }

    private mutating func take(_ event: ArbiterEvent, from client: ClientID) throws(Misuse) {
        try check(event, from: client)
        switch event {
        case .request(let request): return admit(request, from: client)
        case .cancel(let id) where recovery?.removeDeferred(id) == true: return fail(id, .cancelled)
        case .deadline(let id) where recovery?.removeDeferred(id) == true: return fail(id, .deadline([takingOver]))
        case .end(let id, _):
            guard arbiter.claims[id]?.isHeld == true else { return }
            clients[client]?.live.remove(id)
            clients[client]?.lastEnd = time
            effects.append(.record(.released(id)))
            run(event)
            return considerDelegation(to: client)
        case .moved(_, let move): return follow(move, event)
        case .addPresenter(let id, _, _), .relocatePresenter(let id, _), .noticed(let id, .didMove):
            run(event)
            let path = arbiter.presenters[id]?.path
            effects.append(.record(.presenter(id, path)))
            if let path { recall(around: path, for: client) }
            return
        case .removePresenter(let id): effects.append(.record(.presenterGone(id)))
        default: break
        }
        run(event)
    }

    /// Applies a move to all records; waiting clients are told, so that they can tell the next broker.
    private mutating func follow(_ move: Move, _ event: ArbiterEvent) {
        let concerned = arbiter.claims.values.filter { claim in claim.items.contains { $0.path.starts(with: move.from) } }.map(\.request.id)
        run(event)
        for claim in concerned.compactMap({ arbiter.claims[$0] }) {
            if claim.isHeld {
                effects.append(.record(.held(claim.request, claim.items)))
            } else if let connection = clients[claim.request.id.client]?.connection {
                effects.append(.send(connection, .retargeted(claim.request.id, claim.items)))
            }
        }
        for presenter in arbiter.presenters.values where presenter.path?.starts(with: move.to) == true {
            effects.append(.record(.presenter(presenter.id, presenter.path)))
        }
    }

    private mutating func admit(_ request: ClaimRequest, from client: ClientID) {
        if let reason = objection(to: request, from: client) { return fail(request.id, .rejected(reason)) }
        clients[client]?.live.insert(request.id)
        clients[client]?.claimsSince += 1
        // A client that asks does not use its turn.
        if let end = clients[client]?.turnEnd, end > time { clients[client]?.turnEnd = time }
        note(request, by: client)
        if recovery?.defers(request) == true { return }
        run(.request(request))
    }

    mutating func fail(_ id: ClaimID, _ failure: ClaimFailure) {
        clients[id.client]?.live.remove(id)
        send(.fail(id, failure), to: id.client)
    }

    /// The wait step of a claim while a broker takes over.
    private var takingOver: WaitStep {
        WaitStep(kind: .broker, process: process, purpose: "", paths: [], activity: "recover")
    }

    // MARK: Listings

    private func report() -> BrokerReport {
        let clients = clients.values.sorted { $0.process.number < $1.process.number }.map {
            BrokerReport.Client(
                process: $0.process.number, name: $0.name, isStopped: system.isStopped($0.process),
                delegated: $0.delegation?.roots.map(\.string) ?? [])
        }
        return BrokerReport(
            process: process, isResident: isResident, version: brokerProtocolVersion, epoch: epoch, age: Double(time - began) / 1e9,
            clients: clients, claims: self.clients.values.reduce(0) { $0 + $1.live.count }, presenters: arbiter.presenters.count)
    }

    /// Answers the pending listings when all delegations are back, or the wait is over.
    mutating func answerListings() {
        guard !listings.isEmpty else { return }
        let isComplete = !clients.values.contains { $0.isRecalled }
        let due = listings.filter { isComplete || $0.until <= time }
        guard !due.isEmpty else { return }
        listings.removeAll { isComplete || $0.until <= time }
        var snapshot = arbiter.snapshot()
        let stopped = Set(clients.values.map(\.process).filter(system.isStopped).map(\.number))
        for index in snapshot.claims.indices { snapshot.claims[index].isStopped = stopped.contains(snapshot.claims[index].process) }
        for index in snapshot.presenters.indices { snapshot.presenters[index].isStopped = stopped.contains(snapshot.presenters[index].process) }
        for listing in due { effects.append(.send(listing.connection, .listing(snapshot))) }
    }

    /// Sets the log level of the broker and its clients; nil only reads it.
    private mutating func log(_ level: UInt64?, askedOn connection: ConnectionID) {
        if let level {
            guard let level = Int(exactly: level), BrokerLog.levels.contains(level) else {
                return refuse(connection, .misuse, "There is no log level \(level): they go from 0 to 7.")
            }
            logLevel = level
            effects.append(.log(level))
            for client in clients.values { effects.append(.send(client.connection, .logLevel(UInt64(level)))) }
        }
        effects.append(.send(connection, .logLevel(UInt64(logLevel))))
    }

    // MARK: Time

    /// Does all work that is due.
    mutating func tick() {
        watchAnswers()
        recallAwaited()
        endRecoveryInTime()
        answerListings()
    }

    /// The time of the next ``tick()`` if nothing else happens.
    var nextTick: UInt64? {
        var next: UInt64 = .max
        if arbiter.messages.values.contains(where: { $0.claim != nil }) { next = min(next, time + Limits.answer) }
        if clients.values.contains(where: \.isStopped) { next = min(next, time + Limits.stopped) }
        if let recovery { next = min(next, max(recovery.until, time + Limits.answer)) }
        for (id, client) in clients where client.turnEnd > time && isAwaited(client, id) { next = min(next, client.turnEnd) }
        for listing in listings { next = min(next, listing.until) }
        return next == .max ? nil : next
    }

    /// Passes over presenters whose processes are stopped, and notifies those that continue.
    private mutating func watchAnswers() {
        let late = arbiter.messages.values.filter { $0.claim != nil && $0.since + Limits.answer <= time }.map(\.delivery.presenter.client)
        for id in Set(late) {
            guard let client = clients[id], !client.isStopped, system.isStopped(client.process) else { continue }
            clients[id]?.isStopped = true
            run(.passedOver(id))
        }
        for (id, client) in clients where client.isStopped && !system.isStopped(client.process) { goOn(id) }
    }

    private mutating func goOn(_ client: ClientID) {
        clients[client]?.isStopped = false
        run(.resumed(client))
    }
}
