import Dispatch
import SystemPackage

/// What writers of other processes do to the items of presenters here, as far as it must be known to tell it from what nobody coordinates.
///
/// A writer is let in once the item's presenter has given it up, and the presenter gets it back when the writer is done: what happens to the item
/// between the two is the writer's, and told by its end. The presenter of a directory around the item only hears of the end; what its watch has
/// reported until then may be the writer's too.
struct ForeignWrites: Sendable {
    /// A change of which the broker has told a presenter.
    struct Change: Sendable {
        let presenter: PresenterID
        let paths: [FilePath]
        /// Whether notices that were sent before may still come back.
        var awaitsNotices = true
        /// Whether events of it may still come in.
        var awaitsEvents = true
    }

    /// What a presenter has heard of the writers that it has given its item to.
    struct Visit: Sendable {
        /// That the item has changed or moved.
        var isTold = false
        /// That the item is to be deleted.
        var isAnnounced = false
    }

    private(set) var changes: [MessageID: Change] = [:]
    private var visits: [PresenterID: Visit] = [:]
    /// Presenters that have their item back, whose watches do not know yet what the writers have left; each with how often.
    private var returns: [PresenterID: Int] = [:]

    mutating func add(_ change: Change, toldBy message: MessageID) { changes[message] = change }

    /// No notice that was sent before a change was told comes back any more.
    mutating func noticesHavePassed(_ message: MessageID) {
        changes[message]?.awaitsNotices = false
        forget(message)
    }

    /// No event of a change comes in any more.
    mutating func eventsHavePassed(_ message: MessageID) {
        changes[message]?.awaitsEvents = false
        forget(message)
    }

    private mutating func forget(_ message: MessageID) {
        guard let change = changes[message], !change.awaitsNotices, !change.awaitsEvents else { return }
        changes[message] = nil
    }

    /// Whether a change of a path is one that was told already.
    func explains(_ path: FilePath) -> Bool {
        changes.values.contains { change in change.awaitsEvents && change.paths.contains { path.starts(with: $0) } }
    }

    /// What is left of a notice that has come back from the broker: it was sent before its presenter's process knew of the changes that came before it.
    func remainder(of notice: PresenterMessage, to presenter: PresenterID) -> PresenterMessage? {
        let known = changes.values.filter { $0.presenter == presenter && $0.awaitsNotices }
        guard !known.isEmpty else { return notice }
        func isKnown(_ path: FilePath) -> Bool { known.contains { change in change.paths.contains { path.starts(with: $0) } } }
        switch notice {
        case .subitemDidAppear(let path), .subitemDidChange(let path): return isKnown(path) ? nil : notice
        case .subitemDidMove(let from, let to):
            switch (isKnown(from), isKnown(to)) {
            case (true, true): return nil
            case (true, false): return .subitemDidAppear(to)
            case (false, true): return .subitemDidChange(from)
            case (false, false): return notice
            }
        default: return notice
        }
    }

    // MARK: The item itself

    mutating func note(_ message: PresenterMessage, to presenter: PresenterID) {
        switch message {
        case .didChange, .didMove: visits[presenter, default: Visit()].isTold = true
        case .accommodateDeletion: visits[presenter, default: Visit()].isAnnounced = true
        default: break
        }
    }

    /// A presenter has its item back from all writers.
    mutating func beginReturn(to presenter: PresenterID) -> Visit {
        returns[presenter, default: 0] += 1
        return visits.removeValue(forKey: presenter) ?? Visit()
    }

    /// A presenter's watch knows what the writers have left.
    mutating func endReturn(to presenter: PresenterID) {
        returns[presenter] = returns[presenter].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    func isReturning(_ presenter: PresenterID) -> Bool { returns[presenter] != nil }
}

extension ClientState {
    /// Whether what happens to the item of a presenter is the doing of a writer of another process that it has given the item to.
    func isForeign(_ presenter: PresenterID) -> Bool { hasYielded(presenter) || foreign.isReturning(presenter) }

    /// Whether a presenter has given its item to a writer of another process.
    private func hasYielded(_ presenter: PresenterID) -> Bool {
        mirror.messages.values.contains {
            $0.delivery.presenter == presenter && $0.delivery.message == .relinquishToWriter && $0.delivery.cause.client != client
        }
    }

    /// Takes off a notice of this client's, on its way back from the broker, what its presenter hears of otherwise.
    ///
    /// - Returns: nil where nothing is left; the broker takes it as handled.
    mutating func withoutEcho(_ action: ArbiterAction) -> ArbiterAction? {
        guard case .deliver(let delivery) = action, delivery.cause.client == client, delivery.cause.process == 0, delivery.message.isChange else {
            return action
        }
        guard let message = foreign.remainder(of: delivery.message, to: delivery.presenter) else {
            send(.event(.handled(delivery.id, .done)))
            return nil
        }
        return .deliver(
            Delivery(id: delivery.id, presenter: delivery.presenter, message: message, cause: delivery.cause, awaitedBy: delivery.awaitedBy))
    }

    /// Takes note of what another process does to the item of a presenter.
    ///
    /// - Parameters:
    ///   - delivery: what the broker says of it.
    ///   - isReturned: whether it gives back what a writer had.
    ///   - effects: what is left to do.
    mutating func noteForeign(_ delivery: Delivery, isReturned: Bool, _ effects: inout Effects) {
        guard watchesFiles else { return }
        foreign.note(delivery.message, to: delivery.presenter)
        if delivery.message.isChange {
            let subitems = delivery.message.subitems
            let paths = subitems.isEmpty ? path(of: delivery.presenter).map { [$0] } ?? [] : subitems
            foreign.add(.init(presenter: delivery.presenter, paths: paths), toldBy: delivery.id)
            // Both ways keep their order: what comes back before the answer was sent before the question.
            ping(.change(delivery.id))
            effects.changes.append((delivery, paths))
        }
        if isReturned, !hasYielded(delivery.presenter) {
            effects.returned.append((delivery.presenter, foreign.beginReturn(to: delivery.presenter)))
        }
    }

    /// Asks the broker for a sign that it has taken in everything before.
    mutating func ping(_ ping: Ping) {
        nextPing += 1
        pings[nextPing] = ping
        send(.ping(nextPing))
    }

    /// The broker has taken in everything before a ping.
    mutating func pong(_ number: UInt64) {
        switch pings.removeValue(forKey: number) {
        case .caller(let arrival)?: arrival.signal()
        case .change(let message)?: foreign.noticesHavePassed(message)
        case nil: break
        }
    }
}
