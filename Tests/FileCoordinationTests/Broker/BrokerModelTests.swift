import Foundation
import SystemPackage
import Testing
import UbiquityTesting

@testable import FileCoordination

/// Clients and brokers in one simulated world: frames are bytes in queues, and brokers die with what they had not written down.
@Suite struct BrokerModelTests {
    private static let seeds = ProcessInfo.processInfo.environment["UBIQUITY_MODEL_SEEDS"].flatMap(UInt64.init) ?? 40

    @Test(
        "C-02: whatever comes between clients and brokers, no two conflicting claims are held, and in the end all have been granted",
        arguments: 1...seeds)
    func random(seed: UInt64) {
        var run = BrokerRun(seed: seed)
        for _ in 0..<400 where run.complaints.isEmpty { run.step() }
        run.drain()
        #expect(run.complaints.isEmpty, "seed \(seed): \(run.history.suffix(60).joined(separator: "\n"))")
    }
}

/// One run.
private struct BrokerRun {
    /// A client, with the queues of its connection.
    private struct Peer {
        var state: ClientState
        var connection: ConnectionID?
        var toBroker: [[UInt8]] = []
        var toClient: [[UInt8]] = []
        /// The hello that was sent, until the broker has answered.
        var hello: BrokerFrame.Hello?
        var hasBeenConnected = false
        var isAlive = true
    }

    private(set) var complaints: [String] = []
    private(set) var history: [String] = []
    private var random: SeededRandom
    private var peers: [ClientID: Peer] = [:]
    private var broker: BrokerEngine
    private var written = FormerClaims()
    private var time: UInt64 = 1_000_000_000
    private var held: [ClaimID: [ClaimItem]] = [:]
    private var waiting: Set<ClaimID> = []
    private var presenters: [PresenterID] = []
    private var next: UInt64 = 0
    private var connections: UInt64 = 0
    private let names = ["a", "b", "c"]

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        broker = Self.newBroker(1, 1_000_000_000, FormerClaims())
        for number in 1...3 as ClosedRange<UInt64> {
            let id = ClientID(number)
            peers[id] = Peer(state: ClientState(client: id, isAlone: false, trace: nil))
        }
    }

    private static func newBroker(_ epoch: UInt64, _ time: UInt64, _ former: FormerClaims) -> BrokerEngine {
        BrokerEngine(
            epoch: epoch, process: 1, isResident: true, time: time, former: former,
            system: BrokerSystem(isStopped: { _ in false }, revoke: { _, _ in false }))
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    private var ids: [ClientID] { peers.keys.sorted { $0.number < $1.number } }

    private mutating func path() -> FilePath {
        var path: FilePath = "/"
        for _ in 0..<Int.random(in: 1...3, using: &random) { path.append(names.randomElement(using: &random)!) }
        return path
    }

    private mutating func note(_ text: String) { history.append(text) }

    // MARK: Moves of the world

    mutating func step() {
        // Slow enough that nobody misses the time in which a new broker waits for its clients.
        // Often so quick that clients get turns.
        time += UInt64.random(in: 0..<(chance(50) ? 200_000 : 10_000_000), using: &random)
        broker.time = time
        switch Int.random(in: 0..<100, using: &random) {
        case ..<18: request()
        case ..<36: end()
        case ..<40: cancel()
        case ..<44: present()
        case ..<48: handle()
        case ..<96: for _ in 0..<3 { carry() }
        case ..<98: kill()
        default: crash()
        }
    }

    private mutating func request() {
        let client = ids.randomElement(using: &random)!
        next += 1
        let id = ClaimID(client, next)
        let options: [FileCoordinator.WritingOptions] = [[], [], .forDeleting, .forMerging]
        let access: Access = chance(40) ? .read(.withoutChanges) : .write(options.randomElement(using: &random)!)
        let item = ClaimItem(path(), access)
        note("\(id) wants \(item)")
        waiting.insert(id)
        submit(.request(ClaimRequest(id: id, purpose: .coordinator(client, next), items: [item])), client)
    }

    private mutating func end() {
        guard let id = held.keys.sorted(by: { $0.number < $1.number }).randomElement(using: &random) else { return }
        note("\(id) ends")
        held[id] = nil
        submit(.end(id, []), id.client)
    }

    private mutating func cancel() {
        guard let id = waiting.sorted(by: { $0.number < $1.number }).randomElement(using: &random) else { return }
        note("\(id) is cancelled")
        submit(.cancel(id), id.client)
    }

    private mutating func present() {
        let client = ids.randomElement(using: &random)!
        if presenters.count < 4 {
            next += 1
            presenters.append(PresenterID(client, next))
            submit(.addPresenter(PresenterID(client, next), path(), observedAttributes: []), client)
        } else {
            let gone = presenters.remove(at: Int.random(in: 0..<presenters.count, using: &random))
            peers[gone.client]?.state.registry.entries[gone] = nil
            submit(.removePresenter(gone), gone.client)
        }
    }

    private mutating func handle() {
        for id in presenters {
            guard let delivery = mailboxes[id]?.first else { continue }
            mailboxes[id]?.removeFirst()
            note("\(id) has handled \(delivery.message.name) \(delivery.id)")
            return submit(.handled(delivery.id, .done), id.client)
        }
    }

    private var mailboxes: [PresenterID: [Delivery]] = [:]

    private mutating func submit(_ event: ArbiterEvent, _ client: ClientID) {
        guard let actions = peers[client]?.state.handle(event) else { return }
        take(actions)
        flush(client)
    }

    private mutating func flush(_ client: ClientID) {
        guard let bytes = peers[client]?.state.connection?.outbox, !bytes.isEmpty else { return }
        peers[client]?.state.connection?.outbox = []
        peers[client]?.toBroker.append(bytes)
    }

    /// Checks and carries out what a client's own arbiter, or the broker, has decided.
    private mutating func take(_ actions: [ArbiterAction]) {
        for action in actions {
            switch action {
            case .grant(let id, let grant):
                guard waiting.remove(id) != nil, let items = peers[id.client]?.state.items(of: id) else {
                    complaints.append("\(id) was granted twice, or unasked")
                    continue
                }
                note("\(id) holds \(grant.paths)")
                for (other, theirs) in held where items.contains(where: { one in theirs.contains { conflict(one, $0) } }) {
                    complaints.append("\(id) \(items) was granted beside \(other) \(theirs)")
                }
                held[id] = items
            case .fail(let id, _):
                if waiting.remove(id) == nil { complaints.append("\(id) failed, which does not wait") }
            case .deliver(let delivery): if presenters.contains(delivery.presenter) { mailboxes[delivery.presenter, default: []].append(delivery) }
            }
        }
    }

    private func conflict(_ one: ClaimItem, _ other: ClaimItem) -> Bool {
        (one.access.writes || other.access.writes)
            && (one.path == other.path || (one.access.coversDescendants && other.path.starts(with: one.path))
                || (other.access.coversDescendants && one.path.starts(with: other.path)))
    }

    // MARK: The wire

    /// Lets something get from one side to the other.
    private mutating func carry() {
        let id = ids.randomElement(using: &random)!
        guard let peer = peers[id] else { return }
        guard let connection = peer.connection else { return connect(id) }
        if !peer.toBroker.isEmpty, chance(50) {
            let bytes = peers[id]!.toBroker.removeFirst()
            for (frame, epoch) in frames(bytes) { broker.received(frame, epoch: epoch, on: connection) }
        } else if !peer.toClient.isEmpty {
            let bytes = peers[id]!.toClient.removeFirst()
            for (frame, epoch) in frames(bytes) { receive(frame, epoch, id) }
        }
        broker.tick()
        perform()
    }

    private mutating func connect(_ id: ClientID) {
        connections += 1
        let connection = ConnectionID(number: connections)
        let hello = peers[id]!.state.hello(name: "")
        var bytes: [UInt8] = []
        BrokerFrame.hello(hello).append(to: &bytes, epoch: 0)
        peers[id]?.hello = hello
        peers[id]?.connection = connection
        peers[id]?.toBroker = [bytes]
        peers[id]?.toClient = []
        broker.connected(connection, ProcessIdentity(number: Int32(id.number), start: 1))
    }

    private mutating func frames(_ bytes: [UInt8]) -> [(frame: BrokerFrame, epoch: UInt64)] {
        var buffer = FrameBuffer()
        bytes.withUnsafeBytes { buffer.add($0) }
        var found: [(BrokerFrame, UInt64)] = []
        do { while let next = try buffer.next() { found.append(next) } } catch { complaints.append("\(error)") }
        return found
    }

    private mutating func receive(_ frame: BrokerFrame, _ epoch: UInt64, _ id: ClientID) {
        switch frame {
        case .welcome:
            guard let hello = peers[id]?.hello else { return }
            let isOther = peers[id]?.hasBeenConnected == true
            peers[id]?.state.connected(epoch, nil, after: hello, isOther: isOther)
            peers[id]?.hasBeenConnected = true
        case .action(let action):
            let mirror = peers[id]!.state.mirror
            var trial = mirror
            if case .apply = trial.receive(action) {
                _ = peers[id]?.state.receive(action)
                take([action])
            } else {
                _ = peers[id]?.state.receive(action)
            }
        case .delegated(let delegation):
            note("\(id) is delegated \(delegation.roots)")
            peers[id]?.state.accept(delegation)
        case .recall(let number):
            note("\(id) is asked to give back \(number)")
            peers[id]?.state.giveBack(number)
        case .refused(_, let reason): complaints.append("\(id) was refused: \(reason)")
        default: break
        }
        flush(id)
    }

    private mutating func perform() {
        for effect in broker.takeEffects() {
            switch effect {
            case .record(let record): written.apply(record)
            case .send(let connection, let frame):
                guard let id = peers.first(where: { $0.value.connection == connection })?.key else { continue }
                var bytes: [UInt8] = []
                frame.append(to: &bytes, epoch: broker.epoch)
                peers[id]?.toClient.append(bytes)
            case .hangUp, .leave, .log: break
            }
        }
    }

    // MARK: Deaths

    /// A client's process dies, and another comes.
    private mutating func kill() {
        let id = ids.randomElement(using: &random)!
        note("\(id) dies")
        // What it had sent arrives.
        if let connection = peers[id]?.connection {
            for bytes in peers[id]!.toBroker { for (frame, epoch) in frames(bytes) { broker.received(frame, epoch: epoch, on: connection) } }
            broker.closed(connection)
        } else {
            broker.formerClientDied(id)
        }
        peers[id] = nil
        held = held.filter { $0.key.client != id }
        waiting = waiting.filter { $0.client != id }
        presenters.removeAll { $0.client == id }
        next += 1
        let new = ClientID(100 + next)
        peers[new] = Peer(state: ClientState(client: new, isAlone: false, trace: nil))
        perform()
    }

    /// The broker dies, with what was under way in both directions.
    private mutating func crash() {
        note("the broker dies")
        broker = Self.newBroker(broker.epoch + 1, time, written)
        for id in ids {
            peers[id]?.connection = nil
            peers[id]?.toBroker = []
            peers[id]?.state.connection = nil
            // What had arrived is read before the end is.
            if chance(50) { for bytes in peers[id]!.toClient { for (frame, epoch) in frames(bytes) { receive(frame, epoch, id) } } }
            peers[id]?.toClient = []
            peers[id]?.state.connection = nil
        }
        // The dead of the time between are found at once.
        for id in broker.recovery?.awaited.keys.map({ $0 }) ?? [] where peers[id] == nil { broker.formerClientDied(id) }
        perform()
    }

    /// Ends and answers everything, until nobody waits.
    mutating func drain() {
        for _ in 0..<20_000 where complaints.isEmpty {
            time += 2_000_000
            broker.time = time
            let isQuiet = peers.values.allSatisfy { $0.connection != nil && $0.toBroker.isEmpty && $0.toClient.isEmpty }
            if isQuiet, held.isEmpty, waiting.isEmpty, mailboxes.values.allSatisfy(\.isEmpty) { return }
            if chance(30) { end() }
            if chance(30) { handle() }
            for id in mailboxes.keys where !presenters.contains(id) { mailboxes[id] = nil }
            carry()
        }
        if complaints.isEmpty { complaints.append("somebody starved: \(waiting) wait, \(held.keys) are held") }
    }
}
