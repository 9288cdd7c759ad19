import Logging
import Synchronization
import SystemPackage

// Which changes were made by coordinated writes, so that presenters do not hear of them twice, nor of their own at all.
extension CoordinationClient {
    /// Whether a change of a path belongs to a coordinated write: one that goes on, or one of which events may still come in.
    func isCoordinated(_ path: FilePath) -> Bool { state.withLock { $0.isCoordinated(path) } }

    /// Begins, moves or ends the watch of a presenter's item, as the presenter now stands.
    ///
    /// - Parameters:
    ///   - id: the presenter.
    ///   - hasMoved: whether its item has moved, rather than that it has another.
    func rewatch(_ id: PresenterID, hasMoved: Bool = false) {
        guard watchesFiles else { return }
        let path = state.withLock { $0.registry.entries[id]?.isWitness == true ? nil : $0.path(of: id) }
        let (old, isSame) = watches.withLock { watches -> (PresenterWatch?, Bool) in
            if watches[id]?.path == path { return (nil, true) }
            return (watches.removeValue(forKey: id), false)
        }
        defer { old?.cancel() }
        guard !isSame, let path else { return }
        do {
            let watch = try PresenterWatch(id, at: path, after: hasMoved ? old : nil, client: self)
            watches.withLock { $0[id] = watch }
        } catch {
            warnOnce("Presenters do not hear of uncoordinated changes of \(path): \(error). Coordinated ones are not affected.")
        }
    }

    /// Whether anybody watches, so that the ends of writes matter.
    var isWatching: Bool { watchesFiles && watches.withLock { !$0.isEmpty } }

    /// Lets the events of a write that has ended pass, and looks whether somebody else wrote after it.
    ///
    /// - Parameters:
    ///   - id: the claim that has ended.
    ///   - stamps: the items as its accessor left them.
    ///   - write: its number.
    func settleAftermath(of id: ClaimID, _ stamps: [FilePath: ItemStamp], write: UInt64) {
        let concerned = watches.withLock { watches in
            watches.filter { watch in stamps.keys.contains { watch.value.concerns($0) } }
        }
        Task.detached { [self] in
            for watch in concerned.values { await watch.settle() }
            state.withLock { $0.aftermath[id] = nil }
            for (presenter, watch) in concerned {
                guard let stamp = stamps[watch.path], stamp != ItemStamp(watch.path), isLatest(write, of: watch.path) else { continue }
                submit(.noticed(presenter, .didChange))
            }
            state.withLock { $0.forgetWrite(write, of: stamps.keys) }
        }
    }

    /// Lets the events of another process's write pass, of which the presenter has heard.
    func settleForeignAftermath(of delivery: Delivery) {
        guard isWatching, let path = delivery.message.subitem ?? state.withLock({ $0.path(of: delivery.presenter) }) else { return }
        let concerned = watches.withLock { $0.filter { $0.value.concerns(path) } }
        guard !concerned.isEmpty else { return }
        let write = state.withLock { state in
            state.foreignAftermath[delivery.id] = path
            return state.noteWrite(of: [path])
        }
        let stamp = ItemStamp(path)
        Task.detached { [self] in
            for watch in concerned.values { await watch.settle() }
            state.withLock { $0.foreignAftermath[delivery.id] = nil }
            for (presenter, watch) in concerned where watch.path == path && stamp != ItemStamp(path) && isLatest(write, of: path) {
                submit(.noticed(presenter, .didChange))
            }
            state.withLock { $0.forgetWrite(write, of: [path]) }
        }
    }

    /// Whether nobody has written an item under coordination since a write: else what it has become was that one's, and is looked at behind that.
    private func isLatest(_ write: UInt64, of path: FilePath) -> Bool {
        state.withLock { $0.latestWrites[path] == write && !$0.isCoordinated(path) }
    }

    /// Says once that presenters do not hear of all, or late.
    func warnOnce(_ message: String) {
        let isFirst = hasWarned.exchange(true, ordering: .relaxed) == false
        if isFirst { logger.warning("\(message)") }
    }
}

extension ClientState {
    /// Whether a change of a path belongs to a coordinated write: one that goes on, or one of which events may still come in.
    func isCoordinated(_ path: FilePath) -> Bool {
        isBeingWritten(path) || aftermath.values.contains { $0.contains { $0.writes(path) } }
            || foreignAftermath.values.contains { path.starts(with: $0) }
    }

    /// Gives a write that has ended its number.
    mutating func noteWrite(of paths: some Sequence<FilePath>) -> UInt64 {
        nextWrite += 1
        for path in paths { latestWrites[path] = nextWrite }
        return nextWrite
    }

    /// A write's events have passed.
    mutating func forgetWrite(_ write: UInt64, of paths: some Sequence<FilePath>) {
        for path in paths where latestWrites[path] == write { latestWrites[path] = nil }
    }
}

extension ClaimItem {
    /// Whether writing this item explains a change of a path.
    func writes(_ path: FilePath) -> Bool {
        guard access.writes else { return false }
        if path == self.path || (access.coversDescendants && path.starts(with: self.path)) { return true }
        return packageDepths.first.map { path.components.prefix($0).elementsEqual(self.path.components.prefix($0)) } ?? false
    }
}

extension Arbiter {
    /// Whether a held claim explains a change of a path.
    func isBeingWritten(_ path: FilePath, byOthersThan client: ClientID? = nil) -> Bool {
        trie.claims(covering: path).contains { id in
            guard let claim = claims[id], claim.isHeld, !claim.isDelegation, id.client != client else { return false }
            return claim.items.contains { $0.writes(path) }
        }
    }

    /// Tells a presenter of a change that nobody coordinated.
    mutating func notice(_ message: PresenterMessage, by id: PresenterID, _ actions: inout [ArbiterAction]) {
        guard let presenter = presenters[id] else { return }
        if case .didMove(let path) = message, path == presenter.path { return }
        // Its process does not know of the accesses of others.
        // Of versions nobody else may have told.
        if !message.isOfVersion, let path = message.subitem ?? presenter.path, isBeingWritten(path, byOthersThan: id.client) { return }
        let delivery = delivery(of: message, to: id, Cause(client: id.client, process: 0, purpose: .named("")))
        if case .didMove(let path) = message, let old = presenters[id]?.path {
            presenters[id]?.unhandledMoves.add(Move(from: old, to: path), toldBy: delivery.id)
            relocate(id, to: path)
        }
        send(delivery, &actions)
    }
}
