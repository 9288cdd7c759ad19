import Logging
import Synchronization
import SystemPackage

// Which changes were made by coordinated writes, so that presenters do not hear of them twice, nor of their own at all.
extension CoordinationClient {
    /// Whether a change of a path belongs to a coordinated write: one that goes on, or one of which events may still come in.
    func isCoordinated(_ path: FilePath) -> Bool { state.withLock { $0.isCoordinated(path) } }

    /// Whether what happens to the item of a presenter belongs to a coordinated write.
    func isExplained(_ presenter: PresenterID, at path: FilePath) -> Bool {
        state.withLock { $0.isCoordinated(path) || $0.isForeign(presenter) }
    }

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

    /// Where what waits for the watching thread runs, apart from the cooperative pool.
    static let aside = TurnExecutor("file presenters' watches")

    /// The watches that may hear of changes of these items.
    func watches(of items: some Sequence<FilePath>) -> [PresenterID: PresenterWatch] {
        watches.withLock { watches in watches.filter { watch in items.contains { watch.value.concerns($0) } } }
    }

    /// Lets the events of a write that has ended pass, and looks whether somebody else wrote after it.
    ///
    /// - Parameters:
    ///   - id: the claim that has ended.
    ///   - items: what it wrote.
    ///   - stamps: the items as its accessor left them.
    ///   - concerned: the watches that may hear of it.
    ///   - write: its number.
    func settleAftermath(
        of id: ClaimID, _ items: [ClaimItem], _ stamps: [FilePath: ItemStamp], _ concerned: [PresenterID: PresenterWatch], write: UInt64
    ) {
        Task.detached(executorPreference: Self.aside) { [self] in
            for watch in concerned.values { await watch.settle() }
            state.withLock { $0.aftermath[id] = nil }
            for watch in concerned.values where items.contains(where: { $0.writes(watch.path) }) { watch.check() }
            tellOfSubitems(concerned, changedSince: stamps, write: write)
        }
    }

    /// Lets the events of another process's write pass, of which the presenter has heard.
    func settleForeignAftermath(of delivery: Delivery, at paths: [FilePath]) {
        let concerned = watches(of: paths)
        guard !concerned.isEmpty else { return state.withLock { $0.foreign.eventsHavePassed(delivery.id) } }
        let write = state.withLock { $0.noteWrite(of: paths) }
        let stamps = Dictionary(paths.map { ($0, ItemStamp($0)) }) { first, _ in first }
        Task.detached(executorPreference: Self.aside) { [self] in
            for watch in concerned.values { await watch.settle() }
            state.withLock { $0.foreign.eventsHavePassed(delivery.id) }
            for watch in concerned.values where paths.contains(watch.path) { watch.check() }
            tellOfSubitems(concerned, changedSince: stamps, write: write)
        }
    }

    /// Looks at an item that its presenter has back from writers of other processes.
    func takeBack(_ id: PresenterID, after visit: ForeignWrites.Visit) {
        let watch = watches.withLock { $0[id] }
        if visit.isTold { watch?.rebase(after: .foreign(isAnnounced: visit.isAnnounced)) }
        // Until here a look at the item finds what the writers did, and does not tell it as another's.
        state.withLock { $0.foreign.endReturn(to: id) }
        guard let watch, !visit.isTold else { return }
        // Nobody has written after all, so what has happened meanwhile is to be told.
        Task.detached(executorPreference: Self.aside) {
            await watch.settle()
            watch.check()
        }
    }

    /// Tells the presenters of directories of what somebody has done to an item right after a coordinated write.
    private func tellOfSubitems(_ concerned: [PresenterID: PresenterWatch], changedSince stamps: [FilePath: ItemStamp], write: UInt64) {
        for (path, stamp) in stamps {
            let now = ItemStamp(path)
            // A directory changes with what lies in it, which is told by itself.
            guard now != stamp, !now.isDirectory, !stamp.isDirectory, isLatest(write, of: path) else { continue }
            for (presenter, watch) in concerned where watch.covers(path) { submit(.noticed(presenter, .subitemDidChange(path))) }
        }
        state.withLock { $0.forgetWrite(write, of: stamps.keys) }
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
            || foreign.explains(path)
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
