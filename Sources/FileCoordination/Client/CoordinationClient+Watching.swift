import Logging
import Synchronization
import SystemPackage

// Finds the changes that belong to coordinated writes, so that presenters do not hear of them twice, nor of their own
// writes.
extension CoordinationClient {
    /// Returns whether a change of a path belongs to a coordinated write that is in progress or whose file events may
    /// still arrive.
    func isCoordinated(_ path: FilePath) -> Bool { state.withLock { $0.isCoordinated(path) } }

    /// Returns whether a change of a presenter's item belongs to a coordinated write.
    func isExplained(_ presenter: PresenterID, at path: FilePath) -> Bool {
        state.withLock { $0.isCoordinated(path) || $0.isForeign(presenter) }
    }

    /// Starts, moves or ends the watch of a presenter's item to match the presenter's state.
    ///
    /// Several threads may do so at once, because a move is known to the thread that hears of it and to the presenter's
    /// turn. The state, not the caller, therefore tells whether the item is the one that is watched already: a watch
    /// that moves continues from what the presenter knows, so that it reports what happened on the way. A watch that
    /// another thread has replaced meanwhile is dropped before it reports anything.
    ///
    /// - Parameter id: the presenter.
    func rewatch(_ id: PresenterID) {
        guard watchesFiles else { return }
        while true {
            let item = state.withLock { $0.presentedItem(of: id) }
            let old = watches.withLock { $0[id] }
            if old?.presented == item { return }
            let new = item.flatMap { newWatch(of: $0, for: id, after: old) }
            let isReplaced = watches.withLock { watches in
                guard watches[id] === old else { return false }
                watches[id] = new
                new?.begin()
                return true
            }
            (isReplaced ? old : new)?.cancel()
            // An item that cannot be watched is tried again when it moves.
            if isReplaced, new == nil { return }
        }
    }

    private func newWatch(of item: PresentedItem, for id: PresenterID, after old: PresenterWatch?) -> PresenterWatch? {
        do {
            return try PresenterWatch(id, of: item, after: old?.presented.number == item.number ? old : nil, client: self)
        } catch {
            warnOnce("Presenters do not hear of uncoordinated changes of \(item.path): \(error). Coordinated ones are not affected.")
            return nil
        }
    }

    /// Whether any item is watched, so that the ends of writes matter.
    var isWatching: Bool { watchesFiles && watches.withLock { !$0.isEmpty } }

    /// Returns the watches that may report changes of these items.
    func watches(of items: some Sequence<FilePath>) -> [PresenterID: PresenterWatch] {
        watches.withLock { watches in watches.filter { watch in items.contains { watch.value.concerns($0) } } }
    }

    /// Waits for the file events of an ended write, then checks whether another program wrote afterwards.
    ///
    /// - Parameters:
    ///   - id: the ended claim.
    ///   - items: the items that it wrote.
    ///   - stamps: the stamps of the items when its accessor returned.
    ///   - concerned: the watches that may report the write.
    ///   - write: the number of the write.
    func settleAftermath(
        of id: ClaimID, _ items: [ClaimItem], _ stamps: [FilePath: ItemStamp], _ concerned: [PresenterID: PresenterWatch], write: UInt64
    ) {
        Task.detached(executorPreference: aside) { [self] in
            for watch in concerned.values { await watch.settle() }
            state.withLock { $0.aftermath[id] = nil }
            for watch in concerned.values where items.contains(where: { $0.writes(watch.path) }) { watch.check() }
            tellOfSubitems(concerned, changedSince: stamps, write: write)
        }
    }

    /// Waits for the file events of another process's write that the presenter already knows.
    func settleForeignAftermath(of delivery: Delivery, at paths: [FilePath]) {
        let concerned = watches(of: paths)
        guard !concerned.isEmpty else { return state.withLock { $0.foreign.eventsHavePassed(delivery.id) } }
        let write = state.withLock { $0.noteWrite(of: paths) }
        let stamps = Dictionary(paths.map { ($0, ItemStamp($0)) }) { first, _ in first }
        Task.detached(executorPreference: aside) { [self] in
            for watch in concerned.values { await watch.settle() }
            state.withLock { $0.foreign.eventsHavePassed(delivery.id) }
            for watch in concerned.values where paths.contains(watch.path) { watch.check() }
            tellOfSubitems(concerned, changedSince: stamps, write: write)
        }
    }

    /// Checks an item that its presenter has back from writers of other processes.
    func takeBack(_ id: PresenterID, after visit: ForeignWrites.Visit) {
        let watch = watches.withLock { $0[id] }
        if visit.isTold { watch?.rebase(after: .foreign(isAnnounced: visit.isAnnounced)) }
        // Until this point, a check of the item attributes changes to the writers and does not report them.
        state.withLock { $0.foreign.endReturn(to: id) }
        guard let watch, !visit.isTold else { return }
        // No write took place, so changes in the meantime must be reported.
        Task.detached(executorPreference: aside) {
            await watch.settle()
            watch.check()
        }
    }

    /// Tells the presenters of directories about changes of an item right after a coordinated write.
    private func tellOfSubitems(_ concerned: [PresenterID: PresenterWatch], changedSince stamps: [FilePath: ItemStamp], write: UInt64) {
        for (path, stamp) in stamps {
            let now = ItemStamp(path)
            // A directory changes with its contents, and each of them is reported separately.
            guard now != stamp, !now.isDirectory, !stamp.isDirectory, isLatest(write, of: path) else { continue }
            for (presenter, watch) in concerned where watch.covers(path) { submit(.noticed(presenter, .subitemDidChange(path))) }
        }
        state.withLock { $0.forgetWrite(write, of: stamps.keys) }
    }

    /// Returns whether no later coordinated write of an item exists; if one does, that write's own check covers the
    /// item.
    private func isLatest(_ write: UInt64, of path: FilePath) -> Bool {
        state.withLock { $0.latestWrites[path] == write && !$0.isCoordinated(path) }
    }

    /// Warns once that presenters miss changes or hear of them late.
    func warnOnce(_ message: String) {
        let isFirst = hasWarned.exchange(true, ordering: .relaxed) == false
        if isFirst { logger.warning("\(message)") }
    }
}

/// The item of a presenter, as a watch needs to know it.
struct PresentedItem: Equatable, Sendable {
    let path: FilePath
    /// Stays when the item moves.
    let number: UInt64
}

extension ClientState {
    /// Returns the item to watch for a presenter; nil if there is none.
    func presentedItem(of id: PresenterID) -> PresentedItem? {
        guard let entry = registry.entries[id], !entry.isWitness, let path = path(of: id) else { return nil }
        return PresentedItem(path: path, number: entry.item)
    }

    /// Returns whether a change of a path belongs to a coordinated write that is in progress or whose file events may
    /// still arrive.
    func isCoordinated(_ path: FilePath) -> Bool {
        isBeingWritten(path) || aftermath.values.contains { $0.contains { $0.writes(path) } }
            || foreign.explains(path)
    }

    /// Assigns a number to an ended write.
    mutating func noteWrite(of paths: some Sequence<FilePath>) -> UInt64 {
        nextWrite += 1
        for path in paths { latestWrites[path] = nextWrite }
        return nextWrite
    }

    /// Forgets a write whose file events have arrived.
    mutating func forgetWrite(_ write: UInt64, of paths: some Sequence<FilePath>) {
        for path in paths where latestWrites[path] == write { latestWrites[path] = nil }
    }
}

extension ClaimItem {
    /// Returns whether writing this item explains a change of a path.
    func writes(_ path: FilePath) -> Bool {
        guard access.writes else { return false }
        if path == self.path || (access.coversDescendants && path.starts(with: self.path)) { return true }
        return packageDepths.first.map { path.components.prefix($0).elementsEqual(self.path.components.prefix($0)) } ?? false
    }
}

extension Arbiter {
    /// Returns whether a held claim explains a change of a path.
    func isBeingWritten(_ path: FilePath, byOthersThan client: ClientID? = nil) -> Bool {
        trie.claims(covering: path).contains { id in
            guard let claim = claims[id], claim.isHeld, !claim.isDelegation, id.client != client else { return false }
            return claim.items.contains { $0.writes(path) }
        }
    }

    /// Tells a presenter about an uncoordinated change.
    mutating func notice(_ message: PresenterMessage, by id: PresenterID, _ actions: inout [ArbiterAction]) {
        guard let presenter = presenters[id] else { return }
        if case .didMove(let path) = message, path == presenter.path { return }
        // A change of a path that another client is writing is dropped: the presenter's process does not know the
        // accesses of other processes. Versions pass, because possibly no other source has reported them.
        let paths = message.subitems.isEmpty ? presenter.path.map { [$0] } ?? [] : message.subitems
        if !message.isOfVersion, paths.contains(where: { isBeingWritten($0, byOthersThan: id.client) }) { return }
        let delivery = delivery(of: message, to: id, Cause(client: id.client, process: 0, purpose: .named("")))
        if case .didMove(let path) = message, let old = presenters[id]?.path {
            presenters[id]?.unhandledMoves.add(Move(from: old, to: path), toldBy: delivery.id)
            relocate(id, to: path)
        }
        send(delivery, &actions)
    }
}
