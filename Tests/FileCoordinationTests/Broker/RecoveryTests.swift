import SystemPackage
import Testing

@testable import FileCoordination

/// What a broker makes of what its predecessor's clients say.
@Suite struct RecoveryTests {
    private let holder = ClientID(1)
    private let waiter = ClientID(2)

    /// A broker that knows two clients of its predecessor, one of which held a claim for writing.
    private func broker(holding path: FilePath) -> (BrokerEngine, ClaimRequest) {
        let request = ClaimRequest(id: ClaimID(holder, 1), purpose: .named("holder"), items: [ClaimItem(path, .write([]))])
        var former = FormerClaims()
        former.clients = [holder: ProcessIdentity(number: 11, start: 1), waiter: ProcessIdentity(number: 12, start: 1)]
        former.held = [request.id: (request, request.items)]
        let system = BrokerSystem(isStopped: { _ in false }, revoke: { _, _ in false })
        return (BrokerEngine(epoch: 2, process: 10, isResident: true, time: 0, former: former, system: system), request)
    }

    private func greet(_ client: ClientID, _ broker: inout BrokerEngine) {
        let connection = ConnectionID(number: client.number)
        broker.connected(connection, ProcessIdentity(number: Int32(client.number) + 10, start: 1))
        broker.received(.hello(.init(client: client, name: "test", isObserver: false)), epoch: 0, on: connection)
    }

    private func grants(_ broker: inout BrokerEngine) -> [ClaimID: [FilePath]] {
        var grants: [ClaimID: [FilePath]] = [:]
        for case .send(_, .action(.grant(let id, let grant))) in broker.takeEffects() { grants[id] = grant.paths }
        return grants
    }

    @Test("A claim that followed a move waits at the next broker for who holds the new name, and is granted that")
    func movedClaim() {
        var (broker, held) = broker(holding: "/d/new")
        let request = ClaimRequest(id: ClaimID(waiter, 1), purpose: .named("waiter"), items: [ClaimItem("/d/old", .write([]))])
        var waiting = Holdings()
        waiting.claims = [.init(request: request, items: [ClaimItem("/d/new", .write([]))], isHeld: false)]
        greet(waiter, &broker)
        broker.received(.reclaim(waiting, hasMissed: true), epoch: 2, on: ConnectionID(number: waiter.number))
        #expect(grants(&broker).isEmpty)

        var holding = Holdings()
        holding.claims = [.init(request: held, items: held.items, isHeld: true)]
        greet(holder, &broker)
        broker.received(.reclaim(holding, hasMissed: true), epoch: 2, on: ConnectionID(number: holder.number))
        #expect(grants(&broker).isEmpty)

        broker.received(.event(.end(held.id, [])), epoch: 2, on: ConnectionID(number: holder.number))
        #expect(grants(&broker) == [request.id: ["/d/new"]])
    }

    @Test("A presenter that has answered and heard more is not asked again when another broker sends the question once more")
    func answeredQuestion() {
        var mirror = ClientMirror()
        let presenter = PresenterID(waiter, 1)
        let cause = Cause(client: holder, process: 11, purpose: .named("holder"))
        func delivery(_ number: UInt64, _ message: PresenterMessage, for claim: UInt64? = nil) -> ArbiterAction {
            .deliver(
                Delivery(id: MessageID(number), presenter: presenter, message: message, cause: cause, awaitedBy: claim.map { ClaimID(holder, $0) }))
        }
        func isAsked(_ action: ArbiterAction) -> Bool {
            if case .apply = mirror.receive(action) { return true }
            return false
        }
        _ = mirror.handle(.addPresenter(presenter, "/d", observedAttributes: []), isOnline: true)
        for (number, message) in [(UInt64(1), PresenterMessage.relinquishToReader), (2, .saveChanges)] {
            #expect(isAsked(delivery(number, message, for: 1)))
            _ = mirror.handle(.handled(MessageID(number), .done), isOnline: true)
        }
        #expect(isAsked(delivery(3, .didChange)) && isAsked(delivery(4, .saveChanges, for: 2)))
        #expect(!isAsked(delivery(1, .relinquishToReader, for: 1)) && !isAsked(delivery(2, .saveChanges, for: 1)))
        #expect(isAsked(delivery(5, .reacquire(MessageID(1)))))
        #expect(mirror.holdings.messages.map(\.delivery.id.number) == [3, 4, 5])
    }

    @Test("C-50: presenters that were told something by the broker, and wait for each other under a delegation, are told so", arguments: 0...2)
    func deadlockUnderDelegation(toldBefore: Int) {
        var state = ClientState(client: waiter, isAlone: false, trace: nil)
        state.connected(1, nil, after: state.hello(name: "test"), isOther: false)
        let presenters = [PresenterID(waiter, 1), PresenterID(waiter, 2)]
        let paths: [FilePath] = ["/d/a", "/d/b"]
        for (presenter, path) in zip(presenters, paths) { _ = state.handle(.addPresenter(presenter, path, observedAttributes: [])) }
        func tell(_ index: Int) {
            let cause = Cause(client: holder, process: 11, purpose: .named("holder"))
            let delivery = Delivery(
                id: MessageID(UInt64(index)), presenter: presenters[index], message: .didChange, cause: cause, awaitedBy: nil)
            _ = state.receive(.deliver(delivery))
        }
        for index in 0..<toldBefore { tell(index) }
        state.accept(.init(number: 1, roots: ["/"]))
        for index in toldBefore..<2 { tell(index) }

        func claim(_ index: Int) -> [ArbiterAction] {
            state.handle(
                .request(
                    ClaimRequest(
                        id: ClaimID(waiter, UInt64(index)), purpose: .presenter(presenters[index]), presenter: presenters[index],
                        surroundings: [.message(MessageID(UInt64(index)))], items: [ClaimItem(paths[1 - index], .write([]))])))
        }
        #expect(claim(0).contains { if case .deliver = $0 { true } else { false } })
        #expect(claim(1).contains { if case .fail(_, .cycle) = $0 { true } else { false } })
    }

    @Test("C-53: a presenter that last said where its item was is known to the next broker to be where the item is", arguments: [true, false])
    func lateRelocation(comesFirst: Bool) {
        let system = BrokerSystem(isStopped: { _ in false }, revoke: { _, _ in false })
        var first = BrokerEngine(epoch: 1, process: 9, isResident: true, time: 0, former: FormerClaims(), system: system)
        let presenter = PresenterID(holder, 1)
        var mirror = ClientMirror()
        var former = FormerClaims()
        greet(holder, &first)
        greet(waiter, &first)

        /// Brings what a broker has to say to the presenter's process, and writes the broker's records down.
        func deliver(_ broker: inout BrokerEngine) -> [PresenterMessage] {
            var heard: [PresenterMessage] = []
            for effect in broker.takeEffects() {
                switch effect {
                case .record(let record): former.apply(record)
                case .send(ConnectionID(number: holder.number), .action(let action)):
                    if case .apply = mirror.receive(action), case .deliver(let delivery) = action { heard.append(delivery.message) }
                default: break
                }
            }
            return heard
        }
        func happen(_ event: ArbiterEvent, to client: ClientID) {
            if client == holder { _ = mirror.handle(event, isOnline: true) }
            first.received(.event(event), epoch: 1, on: ConnectionID(number: client.number))
            for message in deliver(&first) where message == .relinquishToWriter {
                guard let question = mirror.messages.values.first(where: { $0.delivery.message == message && $0.answer == nil }) else { continue }
                happen(.handled(question.delivery.id, .done), to: holder)
            }
        }
        happen(.addPresenter(presenter, "/d/a", observedAttributes: []), to: holder)
        let move = Move(from: "/d/a", to: "/d/b")
        let items = [ClaimItem(move.from, .write(.forMoving)), ClaimItem(move.to, .write(.forReplacing))]
        happen(.request(ClaimRequest(id: ClaimID(waiter, 1), purpose: .named("mover"), items: items)), to: waiter)
        happen(.moved(ClaimID(waiter, 1), move), to: waiter)
        happen(.end(ClaimID(waiter, 1), []), to: waiter)
        #expect(mirror.presenters[presenter]?.path == "/d/b")
        happen(.relocatePresenter(presenter, "/d/a"), to: holder)
        #expect(mirror.presenters[presenter]?.path == "/d/b")

        var next = BrokerEngine(epoch: 2, process: 10, isResident: true, time: 0, former: former, system: system)
        var waiting = Holdings()
        let request = ClaimRequest(id: ClaimID(waiter, 2), purpose: .named("waiter"), items: [ClaimItem("/d/b", .write([]))])
        waiting.claims = [.init(request: request, items: request.items, isHeld: false)]
        for client in comesFirst ? [holder, waiter] : [waiter, holder] {
            greet(client, &next)
            let holdings = client == holder ? mirror.holdings : waiting
            next.received(.reclaim(holdings, hasMissed: false), epoch: 2, on: ConnectionID(number: client.number))
            #expect(next.arbiter.claims[request.id]?.isHeld != true)
        }
        #expect(deliver(&next).contains(.relinquishToWriter))
    }

    @Test("C-53: under a delegation too, a presenter is taken to be where the broker says its item went", arguments: [true, false])
    func lateRelocationUnderDelegation(isToldBefore: Bool) {
        var state = ClientState(client: waiter, isAlone: false, trace: nil)
        state.connected(1, nil, after: state.hello(name: "test"), isOther: false)
        let presenter = PresenterID(waiter, 1)
        _ = state.handle(.addPresenter(presenter, "/d/a", observedAttributes: []))
        func tell() {
            let cause = Cause(client: holder, process: 11, purpose: .named("holder"))
            _ = state.receive(.deliver(Delivery(id: MessageID(1), presenter: presenter, message: .didMove("/d/b"), cause: cause, awaitedBy: nil)))
        }
        if isToldBefore { tell() }
        state.accept(.init(number: 1, roots: ["/"]))
        if !isToldBefore { tell() }
        _ = state.handle(.relocatePresenter(presenter, "/d/a"))
        #expect(state.arbiter.presenters[presenter]?.path == "/d/b")
        #expect(state.mirror.presenters[presenter]?.path == "/d/b")
        _ = state.handle(.handled(MessageID(1), .done))
        _ = state.handle(.relocatePresenter(presenter, "/d/a"))
        #expect(state.arbiter.presenters[presenter]?.path == "/d/a")
        #expect(state.mirror.presenters[presenter]?.path == "/d/a")
    }
}
