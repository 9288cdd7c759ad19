import SystemPackage

@testable import FileCoordination

/// Drives an arbiter in a few words, and notes what it decides.
struct ArbiterScript {
    private(set) var arbiter = Arbiter()
    private(set) var grants: [ClaimID: Grant] = [:]
    private(set) var failures: [ClaimID: ClaimFailure] = [:]
    private(set) var deliveries: [Delivery] = []
    private var number: UInt64 = 0
    let client = ClientID(1)

    init() {
        send(.clientJoined(client, process: 11, name: "one"))
    }

    @discardableResult mutating func send(_ event: ArbiterEvent) -> [ArbiterAction] {
        let actions = arbiter.handle(event)
        for action in actions {
            switch action {
            case .grant(let id, let grant): grants[id] = grant
            case .fail(let id, let failure): failures[id] = failure
            case .deliver(let delivery): deliveries.append(delivery)
            }
        }
        return actions
    }

    private mutating func next() -> UInt64 {
        number += 1
        return number
    }

    // MARK: Claims

    mutating func claim(
        _ items: [ClaimItem], as purpose: String? = nil, for presenter: PresenterID? = nil, within surroundings: [Surrounding] = [],
        by client: ClientID? = nil, isPreparation: Bool = false
    ) -> ClaimID {
        let id = ClaimID(client ?? self.client, next())
        let own: Purpose = presenter.map { .presenter($0) } ?? .coordinator(id.client, id.number)
        send(
            .request(
                ClaimRequest(
                    id: id, coordinator: id.number, purpose: purpose.map { .named($0) } ?? own, presenter: presenter,
                    surroundings: surroundings, items: items, isPreparation: isPreparation)))
        return id
    }

    mutating func read(
        _ path: FilePath, _ options: FileCoordinator.ReadingOptions = [], packages: [Int] = [], as purpose: String? = nil,
        for presenter: PresenterID? = nil, within surroundings: [Surrounding] = [], by client: ClientID? = nil
    ) -> ClaimID {
        claim([ClaimItem(path, .read(options), packageDepths: packages)], as: purpose, for: presenter, within: surroundings, by: client)
    }

    mutating func write(
        _ path: FilePath, _ options: FileCoordinator.WritingOptions = [], packages: [Int] = [], as purpose: String? = nil,
        for presenter: PresenterID? = nil, within surroundings: [Surrounding] = [], by client: ClientID? = nil
    ) -> ClaimID {
        claim([ClaimItem(path, .write(options), packageDepths: packages)], as: purpose, for: presenter, within: surroundings, by: client)
    }

    mutating func end(_ id: ClaimID, existedBefore: Bool = true, existsAfter: Bool = true) {
        send(.end(id, [Observation(existedBefore: existedBefore, existsAfter: existsAfter)]))
    }

    func isGranted(_ id: ClaimID) -> Bool { grants[id] != nil }
    func isWaiting(_ id: ClaimID) -> Bool { grants[id] == nil && failures[id] == nil }

    // MARK: Presenters

    mutating func present(_ path: FilePath?, by client: ClientID? = nil, observing attributes: Set<String> = []) -> PresenterID {
        let id = PresenterID(client ?? self.client, next())
        send(.addPresenter(id, path, observedAttributes: attributes))
        return id
    }

    /// All that a presenter was ever sent, in order.
    func messages(to presenter: PresenterID) -> [PresenterMessage] {
        deliveries.filter { $0.presenter == presenter }.map(\.message)
    }

    /// The messages that a presenter has not handled.
    func pending(of presenter: PresenterID) -> [Delivery] {
        let ids = Set(arbiter.presenters[presenter]?.pending ?? [])
        return deliveries.filter { ids.contains($0.id) }
    }

    /// Lets a presenter handle all that it was sent.
    mutating func handleAll(_ presenter: PresenterID) {
        while let next = pending(of: presenter).first { send(.handled(next.id, .done)) }
    }
}

extension PresenterMessage {
    var isReacquire: Bool {
        if case .reacquire = self { return true }
        return false
    }
}
