import Foundation
import SystemPackage
import Testing

@testable import FileCoordination

/// What the broker delegates to processes that want one file, or different files of one directory.
@Suite(.timeLimit(.minutes(40))) struct TurnTests {
    private let first = ClientID(1)
    private let second = ClientID(2)

    /// A broker with two clients; the first one's delegation of everything is back.
    private struct Scene {
        var broker: BrokerEngine
        var frames: [ClientID: [BrokerFrame]] = [:]
        var records = 0
        var numbers: [ClientID: UInt64] = [:]
        /// The clients whose delegations are in use, so that the broker must ask for them.
        private let busy = Busy()

        private final class Busy: @unchecked Sendable {
            // One thread uses it.
            var connections: Set<ConnectionID> = []
        }

        init(_ clients: [ClientID]) {
            let busy = busy
            broker = BrokerEngine(
                epoch: 1, process: 10, isResident: true, time: 10_000_000_000, former: FormerClaims(),
                system: BrokerSystem(isStopped: { _ in false }, revoke: { connection, _ in !busy.connections.contains(connection) }))
            for client in clients {
                let connection = connection(client)
                broker.connected(connection, ProcessIdentity(number: Int32(client.number) + 10, start: 1))
                broker.received(.hello(.init(client: client, name: "test", isObserver: false)), epoch: 0, on: connection)
                broker.received(.reclaim(Holdings(), hasMissed: false), epoch: 1, on: connection)
            }
            for client in clients where broker.clients[client]?.delegation != nil { broker.recall(client) }
            collect()
            frames = [:]
            records = 0
        }

        private func connection(_ client: ClientID) -> ConnectionID { ConnectionID(number: client.number) }

        mutating func setBusy(_ client: ClientID) { busy.connections.insert(connection(client)) }

        mutating func collect() {
            for effect in broker.takeEffects() {
                switch effect {
                case .send(let connection, let frame): frames[ClientID(connection.number), default: []].append(frame)
                case .record: records += 1
                default: break
                }
            }
        }

        /// Time passes.
        mutating func wait(_ nanoseconds: UInt64) {
            broker.time += nanoseconds
            broker.tick()
            collect()
        }

        @discardableResult
        mutating func ask(_ client: ClientID, _ path: FilePath, _ access: Access = .write([])) -> ClaimID {
            numbers[client, default: 0] += 1
            let id = ClaimID(client, numbers[client]!)
            let request = ClaimRequest(id: id, purpose: .coordinator(client, 1), items: [ClaimItem(path, access)])
            broker.received(.event(.request(request)), epoch: 1, on: connection(client))
            collect()
            return id
        }

        mutating func end(_ id: ClaimID) {
            broker.received(.event(.end(id, [])), epoch: 1, on: connection(id.client))
            collect()
        }

        mutating func cancel(_ id: ClaimID) {
            broker.received(.event(.cancel(id)), epoch: 1, on: connection(id.client))
            collect()
        }

        mutating func present(_ client: ClientID, _ path: FilePath) {
            broker.received(.event(.addPresenter(PresenterID(client, 1), path, observedAttributes: [])), epoch: 1, on: connection(client))
            collect()
        }

        /// Answers every message to a presenter.
        mutating func answerAll() {
            while let message = broker.arbiter.messages.values.first?.delivery {
                broker.received(.event(.handled(message.id, .done)), epoch: 1, on: connection(message.presenter.client))
                collect()
            }
        }

        func isGranted(_ id: ClaimID) -> Bool {
            frames[id.client, default: []].contains { frame in
                guard case .action(.grant(id, _)) = frame else { return false }
                return true
            }
        }

        func delegated(_ client: ClientID) -> [[FilePath]] {
            frames[client, default: []].compactMap { frame in
                guard case .delegated(let delegation) = frame else { return nil }
                return delegation.roots
            }
        }

        func recalls(_ client: ClientID) -> Int {
            frames[client, default: []].count { frame in
                guard case .recall = frame else { return false }
                return true
            }
        }
    }

    /// A scene in which the second client has got a turn with `/d/f`, and the first one waits for it.
    private func turn() -> (Scene, waiting: ClaimID) {
        var scene = Scene([first, second])
        for client in [first, second] { scene.end(scene.ask(client, "/d/f")) }
        let claim = scene.ask(first, "/d/f")
        let other = scene.ask(second, "/d/f")
        #expect(!scene.isGranted(other) && scene.delegated(first).isEmpty)
        scene.end(claim)
        #expect(scene.isGranted(other) && scene.delegated(second) == [["/d/f"]])
        let waiting = scene.ask(first, "/d/f")
        scene.end(other)
        return (scene, waiting)
    }

    @Test("A process that waited and asks again at once gets the file for a turn, and then the next one gets it with two frames and three records")
    func idle() {
        var (scene, waiting) = turn()
        scene.frames = [:]
        scene.records = 0
        scene.wait(BrokerEngine.Limits.turn / 2)
        #expect(scene.frames.isEmpty && scene.records == 0)
        scene.wait(BrokerEngine.Limits.turn / 2)
        #expect(scene.isGranted(waiting) && scene.delegated(first) == [["/d/f"]])
        #expect(scene.frames[first]?.count == 2 && scene.frames[second] == nil)
        #expect(scene.records == 3)
    }

    @Test("A process that is in the middle of a claim when its turn ends is asked for the file, once")
    func busy() {
        var (scene, waiting) = turn()
        scene.setBusy(second)
        for _ in 0..<3 { scene.wait(BrokerEngine.Limits.turn) }
        #expect(scene.recalls(second) == 1 && !scene.isGranted(waiting))
    }

    @Test("The broker wakes up for the end of a turn only if somebody waits for it")
    func nextTick() {
        var (scene, waiting) = turn()
        #expect(scene.broker.nextTick == scene.broker.clients[second]?.turnEnd)
        scene.cancel(waiting)
        #expect(scene.broker.nextTick == nil)
    }

    @Test("A process that asks the broker in its turn does not use it, so the next one gets the file")
    func unused() {
        var (scene, waiting) = turn()
        scene.ask(second, "/d/other")
        #expect(scene.isGranted(waiting))
    }

    @Test("A process that comes only now and then gets no turn, nor does one with a presenter of another process at the file")
    func noTurn() {
        var scene = Scene([first, second])
        let claim = scene.ask(first, "/d/f")
        let rare = scene.ask(second, "/d/f")
        scene.end(claim)
        #expect(scene.isGranted(rare) && scene.delegated(second).isEmpty)
        scene.end(rare)

        scene.present(first, "/d")
        let again = scene.ask(first, "/d/f")
        let next = scene.ask(second, "/d/f")
        scene.end(again)
        scene.answerAll()
        #expect(scene.isGranted(next) && scene.delegated(second).isEmpty)
    }

    @Test("In a directory that others use, a process gets its own files delegated, and loses one that another wants")
    func items() {
        var scene = Scene([first, second])
        let kept = scene.ask(second, "/d/theirs")
        #expect(scene.isGranted(kept))
        // The recall of the first delegation has doubled the number.
        for round in 0..<4 * BrokerEngine.Limits.patience where scene.delegated(first).isEmpty {
            scene.end(scene.ask(first, round.isMultiple(of: 2) ? "/d/mine" : "/d/mine too"))
        }
        #expect(scene.delegated(first).map(Set.init) == [["/d/mine", "/d/mine too"]])
        scene.frames = [:]
        let new = scene.ask(second, "/d/new")
        #expect(scene.isGranted(new))
        #expect(scene.frames[first] == nil && scene.broker.clients[first]?.delegation != nil)
        let mine = scene.ask(second, "/d/mine")
        #expect(scene.isGranted(mine))
        #expect(scene.frames[first] == nil && scene.broker.clients[first]?.delegation == nil)
    }

    @Test("A process that claims ever other files of a shared directory gets none delegated")
    func manyItems() {
        var scene = Scene([first, second])
        let theirs = scene.ask(second, "/d/theirs")
        #expect(scene.isGranted(theirs))
        for number in 0..<200 { scene.end(scene.ask(first, FilePath("/d/\(number)"))) }
        #expect(scene.delegated(first).isEmpty)
    }

    @Test("No addition to a number in a file is lost while four clients of a broker add to it, claim after claim")
    func exclusion() async throws {
        try await withBroker { place in
            let url = URL(fileURLWithPath: place.directory.removingLastComponent().appending("number").string)
            try Data("0".utf8).write(to: url)
            let clients = (0..<4).map { _ in CoordinationClient(place: place, program: nil, watchesFiles: false) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in clients {
                    group.addTask {
                        let coordinator = FileCoordinator(client: client)
                        for _ in 0..<500 {
                            try await coordinator.write(url) { url in
                                let number = Int(String(decoding: try Data(contentsOf: url), as: UTF8.self)) ?? 0
                                try Data(String(number + 1).utf8).write(to: url)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(String(decoding: try Data(contentsOf: url), as: UTF8.self) == "2000")
            for client in clients { client.disconnect() }
        }
    }

    @Test("A change that a watch finds after the broker has taken an idle delegation back is the broker's to tell", arguments: [false, true])
    func noticedAfterwards(isTakenBack: Bool) throws {
        let memory = SharedWord.memory()
        defer { close(memory) }
        let (ours, brokers) = (try #require(SharedWord(memory)), try #require(SharedWord(memory)))
        var state = ClientState(client: first, isAlone: false, trace: nil)
        state.connected(1, ours, after: state.hello(name: ""), isOther: false)
        let presenter = PresenterID(first, 1)
        _ = state.handle(.addPresenter(presenter, "/d", observedAttributes: []))
        state.accept(.init(number: 1, roots: ["/"]))
        if isTakenBack { #expect(brokers.revoke(1)) }
        state.connection?.outbox = []
        let told = state.handle(.noticed(presenter, .subitemDidAppear("/d/f")))
        let frames = try sent(by: &state)
        guard isTakenBack else {
            #expect(told.count == 1 && frames.isEmpty)
            // Until it is handled, the broker has to ask.
            #expect(!brokers.revoke(1))
            return
        }
        #expect(told.isEmpty)
        guard frames.count == 2, case .returned(1, _) = frames[0], case .event(.noticed(presenter, .subitemDidAppear("/d/f"))) = frames[1] else {
            Issue.record("it sent \(frames)")
            return
        }
    }

    @Test("What a watch finds of a version goes the way of what its author tells, through the broker, and comes behind it")
    func versionsUnderDelegation() throws {
        var state = ClientState(client: first, isAlone: false, trace: nil)
        state.connected(1, nil, after: state.hello(name: ""), isOther: false)
        let presenter = PresenterID(first, 1)
        _ = state.handle(.addPresenter(presenter, "/d", observedAttributes: []))
        state.accept(.init(number: 1, roots: ["/"]))
        state.connection?.outbox = []
        let cause = Cause(client: first, process: 1, purpose: .named(""))
        #expect(state.handle(.versionChanged("/d", .resolved, version: "v", cause)).isEmpty)
        #expect(state.handle(.noticed(presenter, .version(.lost, "v"))).isEmpty)
        let frames = try sent(by: &state)
        guard frames.count == 2, case .event(.versionChanged) = frames[0], case .event(.noticed(presenter, .version(.lost, "v"))) = frames[1]
        else {
            Issue.record("it sent \(frames)")
            return
        }
    }

    /// Takes the frames that a client has yet to send.
    private func sent(by state: inout ClientState) throws -> [BrokerFrame] {
        var buffer = FrameBuffer()
        state.connection?.outbox.withUnsafeBytes { buffer.add($0) }
        state.connection?.outbox = []
        var frames: [BrokerFrame] = []
        while let next = try buffer.next() { frames.append(next.frame) }
        return frames
    }

    @Test("In its turn a process sends one frame, the end of the claim with which it began")
    func frames() throws {
        var state = ClientState(client: first, isAlone: false, trace: nil)
        let hello = state.hello(name: "")
        state.connected(1, nil, after: hello, isOther: false)
        func request(_ number: UInt64) -> ClaimRequest {
            ClaimRequest(id: ClaimID(first, number), purpose: .coordinator(first, 1), items: [ClaimItem("/d/f", .write([]))])
        }
        _ = state.handle(.request(request(1)))
        _ = state.receive(.grant(ClaimID(first, 1), Grant(paths: ["/d/f"], isObserved: false, isPresented: false)))
        state.accept(.init(number: 1, roots: ["/d/f"]))
        state.connection?.outbox = []
        _ = state.handle(.end(ClaimID(first, 1), []))
        for number in 2...100 as ClosedRange<UInt64> {
            #expect(state.handle(.request(request(number))).count == 1)
            _ = state.handle(.end(ClaimID(first, number), []))
        }
        let frames = try sent(by: &state)
        guard frames.count == 1, case .event(.end(ClaimID(first, 1), _)) = frames[0] else {
            Issue.record("it sent \(frames)")
            return
        }
    }
}
