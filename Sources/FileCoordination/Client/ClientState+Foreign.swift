import Dispatch
import SystemPackage

/// Writes by other processes to the items of this process's presenters, as far as needed to tell them from
/// uncoordinated changes.
///
/// A writer starts after the presenter has given up its item, and the presenter gets the item back after the writer
/// ends. Changes of the item between the two belong to the writer, and the end of the write reports them. A presenter
/// of an enclosing directory hears only of the end. Changes that its watch reported before the end may also belong to
/// the writer.
struct ForeignWrites: Sendable {
    /// A change that the broker reported to a presenter.
    struct Change: Sendable {
        let presenter: PresenterID
        let paths: [FilePath]
        /// Whether notices that were sent before it may still come back.
        var awaitsNotices = true
        /// Whether file events of it may still arrive.
        var awaitsEvents = true
    }

    /// The messages that a presenter has received about the writers that have its item.
    struct Visit: Sendable {
        /// Whether a message said that the item changed or moved.
        var isTold = false
        /// Whether a message announced the deletion of the item.
        var isAnnounced = false
    }

    private(set) var changes: [MessageID: Change] = [:]
    private var visits: [PresenterID: Visit] = [:]
    /// Presenters that have their items back and whose watches have not yet seen the writers' results; each with a
    /// count.
    private var returns: [PresenterID: Int] = [:]

    mutating func add(_ change: Change, toldBy message: MessageID) { changes[message] = change }

    /// Records that all notices that were sent before a change have come back.
    mutating func noticesHavePassed(_ message: MessageID) {
        changes[message]?.awaitsNotices = false
        forget(message)
    }

    /// Records that all file events of a change have arrived.
    mutating func eventsHavePassed(_ message: MessageID) {
        changes[message]?.awaitsEvents = false
        forget(message)
    }

    private mutating func forget(_ message: MessageID) {
        guard let change = changes[message], !change.awaitsNotices, !change.awaitsEvents else { return }
        changes[message] = nil
    }

    /// Returns whether a change of a path was already reported.
    func explains(_ path: FilePath) -> Bool {
        changes.values.contains { change in change.awaitsEvents && change.paths.contains { path.starts(with: $0) } }
    }

    /// Returns the unexplained part of a notice that came back: it was sent before its presenter's process knew the
    /// earlier changes.
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
        case .accommodateDeletion, .accommodateEviction: visits[presenter, default: Visit()].isAnnounced = true
        default: break
        }
    }

    /// Records that a presenter has its item back from all writers.
    mutating func beginReturn(to presenter: PresenterID) -> Visit {
        returns[presenter, default: 0] += 1
        return visits.removeValue(forKey: presenter) ?? Visit()
    }

    /// Records that a presenter's watch has seen the writers' results.
    mutating func endReturn(to presenter: PresenterID) {
        returns[presenter] = returns[presenter].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    func isReturning(_ presenter: PresenterID) -> Bool { returns[presenter] != nil }
}

extension ClientState {
    /// Returns whether changes of a presenter's item belong to a writer of another process.
    func isForeign(_ presenter: PresenterID) -> Bool { hasYielded(presenter) || foreign.isReturning(presenter) }

    /// Returns whether a presenter has given its item to a writer of another process.
    private func hasYielded(_ presenter: PresenterID) -> Bool {
        mirror.messages.values.contains {
            $0.delivery.presenter == presenter && $0.delivery.message == .relinquishToWriter && $0.delivery.cause.client != client
        }
    }

    /// Removes from a returning notice of this client the changes that its presenter learns in another way.
    ///
    /// - Returns: nil if nothing remains; the broker treats the notice as handled.
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

    /// Records a message about another process's access to a presenter's item.
    ///
    /// - Parameters:
    ///   - delivery: the broker's message.
    ///   - isReturned: whether the message returns the item after a write.
    ///   - effects: the effects to perform later.
    mutating func noteForeign(_ delivery: Delivery, isReturned: Bool, _ effects: inout Effects) {
        guard watchesFiles else { return }
        foreign.note(delivery.message, to: delivery.presenter)
        if delivery.message.isChange {
            let subitems = delivery.message.subitems
            let paths = subitems.isEmpty ? path(of: delivery.presenter).map { [$0] } ?? [] : subitems
            foreign.add(.init(presenter: delivery.presenter, paths: paths), toldBy: delivery.id)
            // Both directions keep their order: a message that arrives before the answer was sent before the question.
            ping(.change(delivery.id))
            effects.changes.append((delivery, paths))
        }
        if isReturned, !hasYielded(delivery.presenter) {
            effects.returned.append((delivery.presenter, foreign.beginReturn(to: delivery.presenter)))
        }
    }

    /// Asks the broker to confirm that it has handled all earlier frames.
    mutating func ping(_ ping: Ping) {
        nextPing += 1
        pings[nextPing] = ping
        send(.ping(nextPing))
    }

    /// Handles the confirmation of a ping.
    mutating func pong(_ number: UInt64) {
        switch pings.removeValue(forKey: number) {
        case .caller(let arrival)?: arrival.signal()
        case .change(let message)?: foreign.noticesHavePassed(message)
        case nil: break
        }
    }
}
