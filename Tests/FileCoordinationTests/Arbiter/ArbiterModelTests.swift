import Foundation
import SystemPackage
import Testing
import UbiquityTesting

@testable import FileCoordination

/// Random operations against the slow arbiter.
@Suite struct ArbiterModelTests {
    /// How many runs; more when the environment asks for it.
    private static let seeds = ProcessInfo.processInfo.environment["UBIQUITY_MODEL_SEEDS"].flatMap(UInt64.init) ?? 24

    @Test(
        "C-02, C-08, C-50: whatever happens, the arbiter does what a slow and plainly right one allows, and leaves nothing undone",
        arguments: 1...seeds)
    func random(seed: UInt64) {
        var run = RandomRun(seed: seed)
        for _ in 0..<150 {
            run.step()
            guard run.model.complaints.isEmpty else { break }
        }
        run.drain()
        #expect(run.model.complaints.isEmpty, "seed \(seed), last events: \(run.history.suffix(40).joined(separator: "\n"))")
        #expect(run.model.claims.isEmpty, "seed \(seed): somebody starved")
        #expect(run.arbiter.claims.isEmpty && run.arbiter.followers.values.allSatisfy(\.isEmpty) && run.arbiter.issuedWithin.isEmpty)
    }
}

/// One run of random operations, with the model beside the arbiter.
private struct RandomRun {
    private(set) var arbiter = Arbiter()
    private(set) var model = ArbiterModel()
    private(set) var history: [String] = []
    private var random: SeededRandom
    private var number: UInt64 = 0
    private let clients = [ClientID(1), ClientID(2), ClientID(3)]
    private let names = ["a", "b", "c.pkg", "d"]

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        for client in clients { send(.clientJoined(client, process: Int32(client.number), name: "")) }
    }

    private mutating func send(_ event: ArbiterEvent) {
        let actions = arbiter.handle(event)
        history.append("\(event) → \(actions)")
        model.follow(event, actions)
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    private mutating func pick<Element>(_ elements: some Collection<Element>) -> Element? { elements.randomElement(using: &random) }
    private mutating func next() -> UInt64 {
        number += 1
        return number
    }

    private mutating func path() -> FilePath {
        var path: FilePath = "/"
        for _ in 0..<Int.random(in: 1...3, using: &random) { path.append(names.randomElement(using: &random)!) }
        return path
    }

    private func packages(above path: FilePath) -> [Int] { FilePackages(extensions: ["pkg"]).depths(above: path) }

    private mutating func item() -> ClaimItem {
        let path = path()
        let writing: [FileCoordinator.WritingOptions] = [[], [], .forDeleting, .forMoving, .forMerging, .forReplacing]
        let access: Access = chance(45) ? .read(chance(50) ? [] : .withoutChanges) : .write(pick(writing)!)
        return ClaimItem(path, access, packageDepths: packages(above: path))
    }

    private mutating func request() {
        let client = pick(clients)!
        let id = ClaimID(client, next())
        let own = arbiter.presenters.keys.filter { $0.client == client }.sorted { $0.number < $1.number }
        let presenter = chance(25) ? pick(own) : nil
        var purpose: Purpose = presenter.map { .presenter($0) } ?? .coordinator(client, id.number)
        if presenter == nil, chance(20) { purpose = .named(pick(["p", "q"])!) }
        var surroundings: [Surrounding] = []
        if chance(25), let outer = pick(model.claimsInOrder.filter(\.isHeld)) {
            surroundings = [.claim(outer.request.id)]
            if chance(50) { purpose = outer.request.purpose }
        } else if chance(15), let asked = pick(own.filter { !(model.presenters[$0]?.pending.isEmpty ?? true) }) {
            surroundings = [.message(model.presenters[asked]!.pending[0].id)]
        }
        let items = (0..<(chance(70) ? 1 : 2)).map { _ in item() }
        send(
            .request(
                ClaimRequest(
                    id: id, coordinator: id.number, purpose: purpose, presenter: presenter, surroundings: surroundings, items: items,
                    isPreparation: chance(5))))
    }

    private mutating func end() {
        guard let claim = pick(model.claimsInOrder.filter(\.isHeld)) else { return }
        send(.end(claim.request.id, claim.items.map { _ in Observation(existedBefore: chance(50), existsAfter: chance(50)) }))
    }

    private mutating func handle() {
        let waiting = model.presenters.filter { !$0.value.pending.isEmpty }.keys.sorted { $0.number < $1.number }
        guard let presenter = pick(waiting), let delivery = model.presenters[presenter]?.pending.first else { return }
        send(.handled(delivery.id, delivery.message.isQuestion && chance(5) ? .refused("no") : .done))
    }

    private mutating func move() {
        let writers = model.claimsInOrder.filter { $0.isHeld && !$0.request.isPreparation && $0.items.contains { $0.access.writes } }
        guard let claim = pick(writers), let item = pick(claim.items.filter(\.access.writes)) else { return }
        let to = path()
        guard !to.starts(with: item.path) else { return }
        var depths = packages(above: to)
        if to.extension == "pkg" { depths.append(to.components.count) }
        send(.moved(claim.request.id, Move(from: item.path, to: to, packageDepths: depths)))
    }

    mutating func step() {
        // The model's time grows with the fourth power of the number of claims.
        switch Int.random(in: (model.claims.count < 10 ? 0 : 38)..<100, using: &random) {
        case ..<38: request()
        case ..<62: end()
        case ..<84: handle()
        case ..<88: move()
        case ..<91:
            if let claim = pick(model.claimsInOrder) { send(chance(50) ? .cancel(claim.request.id) : .deadline(claim.request.id)) }
        case ..<95:
            if model.presenters.count < 8 {
                send(.addPresenter(PresenterID(pick(clients)!, next()), chance(90) ? path() : nil, observedAttributes: []))
            }
        case ..<97:
            if let presenter = pick(model.presenters.keys.sorted { $0.number < $1.number }) { send(.removePresenter(presenter)) }
        case ..<99:
            if let presenter = pick(model.presenters.keys.sorted { $0.number < $1.number }) {
                send(.relocatePresenter(presenter, chance(80) ? path() : nil))
            }
        default:
            let client = pick(clients)!
            send(.clientGone(client))
            send(.clientJoined(client, process: Int32(client.number), name: ""))
        }
    }

    /// Answers everything and ends everything, innermost first, until nobody is left.
    mutating func drain() {
        for _ in 0..<5000 where model.complaints.isEmpty {
            let waiting = model.presenters.filter { !$0.value.pending.isEmpty }.keys.sorted { $0.number < $1.number }
            if let presenter = waiting.first, let delivery = model.presenters[presenter]?.pending.first {
                send(.handled(delivery.id, .done))
            } else if let held = model.claimsInOrder.last(where: \.isHeld) {
                send(.end(held.request.id, []))
            } else {
                return
            }
        }
    }
}
