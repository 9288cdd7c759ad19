import Logging
import Synchronization
import SystemPackage

/// The watches of the items of a client's presenters.
///
/// Each watch reports the changes that no coordinator made. The end of a coordinated write is told by the arbiter; the
/// watches then only check whether another program wrote afterwards.
final class PresenterWatches: Sendable {
    /// Whether presenters hear of uncoordinated changes.
    private let isEnabled: Bool
    private let logger: Logger
    private let watches = Mutex<[PresenterID: PresenterWatch]>([:])
    /// The warnings that were given: that some hear nothing is told also after others hear late.
    private let warned = Mutex<Set<Shortfall>>([])

    /// What presenters lack.
    enum Shortfall { case late, all }

    /// Runs the work that waits for the watching thread, outside the cooperative pool.
    let aside = TurnExecutor("file presenters' watches")

    init(isEnabled: Bool, logger: Logger) {
        self.isEnabled = isEnabled
        self.logger = logger
    }

    // MARK: Items

    /// Starts, moves or ends the watch of a presenter's item to match the presenter's state.
    ///
    /// Several threads may do so at once, because a move is known to the thread that hears of it and to the presenter's
    /// turn. The state, not the caller, therefore tells whether the item is the one that is watched already: a watch
    /// that moves continues from what the presenter knows, so that it reports what happened on the way. A watch that
    /// another thread has replaced meanwhile is dropped before it reports anything.
    ///
    /// - Parameters:
    ///   - id: the presenter.
    ///   - client: knows its item, and hears of changes.
    func follow(_ id: PresenterID, of client: CoordinationClient) {
        guard isEnabled else { return }
        while true {
            let item = client.state.withLock { $0.presentedItem(of: id) }
            let old = watches.withLock { $0[id] }
            if old?.presented == item { return }
            let new = item.flatMap { newWatch(of: $0, for: id, after: old, client) }
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

    private func newWatch(of item: PresentedItem, for id: PresenterID, after old: PresenterWatch?, _ client: CoordinationClient) -> PresenterWatch? {
        do {
            return try PresenterWatch(id, of: item, after: old?.presented.number == item.number ? old : nil, client: client)
        } catch {
            warnOnce(.all, "Presenters do not hear of uncoordinated changes of \(item.path): \(error). Coordinated ones are not affected.")
            return nil
        }
    }

    /// Follows every watched item, because some have moved.
    func followAll(of client: CoordinationClient) {
        for id in watches.withLock({ Array($0.keys) }) { follow(id, of: client) }
    }

    var all: [PresenterWatch] { watches.withLock { Array($0.values) } }

    /// Whether no item is watched, so that the ends of writes do not matter.
    var isEmpty: Bool { watches.withLock { $0.isEmpty } }

    /// Returns the watches that may report changes of these items.
    func concerning(_ items: some Sequence<FilePath>) -> [PresenterID: PresenterWatch] {
        watches.withLock { watches in watches.filter { watch in items.contains { watch.value.concerns($0) } } }
    }

    // MARK: Coordinated writes

    /// Waits for the file events of an ended write, then checks whether another program wrote afterwards.
    ///
    /// - Parameters:
    ///   - id: the ended claim.
    ///   - items: the items that it wrote.
    ///   - stamps: the stamps of the items when its accessor returned.
    ///   - concerned: the watches that may report the write.
    ///   - write: the number of the write.
    ///   - client: the client of the writer and the presenters.
    func settleAftermath(
        of id: ClaimID, _ items: [ClaimItem], _ stamps: [FilePath: ItemStamp], _ concerned: [PresenterID: PresenterWatch], write: UInt64,
        client: CoordinationClient
    ) {
        Task.detached(executorPreference: aside) { [self] in
            for watch in concerned.values { await watch.settle() }
            client.state.withLock { $0.aftermath[id] = nil }
            for watch in concerned.values where items.contains(where: { $0.writes(watch.path) }) { watch.check() }
            tellOfSubitems(concerned, changedSince: stamps, write: write, client)
        }
    }

    /// Waits for the file events of another process's write that the presenter already knows.
    func settleForeignAftermath(of delivery: Delivery, at paths: [FilePath], client: CoordinationClient) {
        let concerned = concerning(paths)
        guard !concerned.isEmpty else { return client.state.withLock { $0.foreign.eventsHavePassed(delivery.id) } }
        let write = client.state.withLock { $0.noteWrite(of: paths) }
        let stamps = Dictionary(paths.map { ($0, ItemStamp($0)) }) { first, _ in first }
        Task.detached(executorPreference: aside) { [self] in
            for watch in concerned.values { await watch.settle() }
            client.state.withLock { $0.foreign.eventsHavePassed(delivery.id) }
            // A change of what lies in one of the places was attributed to the write too.
            for watch in concerned.values where paths.contains(where: { watch.path.starts(with: $0) }) { watch.check() }
            tellOfSubitems(concerned, changedSince: stamps, write: write, client)
        }
    }

    /// Checks an item that its presenter has back from writers of other processes.
    func takeBack(_ id: PresenterID, after visit: ForeignWrites.Visit, client: CoordinationClient) {
        if visit.isTold { watches.withLock { $0[id] }?.rebase(after: .foreign(isAnnounced: visit.isAnnounced)) }
        endReturn(of: id, client: client)
    }

    /// Attributes no more changes of an item to the writers that had it.
    ///
    /// Until this point, every look at the item did that. So what has happened since the writers' result was looked at is
    /// looked for again: an event of it may have come, and is not repeated.
    func endReturn(of id: PresenterID, client: CoordinationClient) {
        client.state.withLock { $0.foreign.endReturn(to: id) }
        guard let watch = watches.withLock({ $0[id] }) else { return }
        Task.detached(executorPreference: aside) {
            await watch.settle()
            watch.check()
        }
    }

    /// Tells the presenters of directories about changes of an item right after a coordinated write.
    private func tellOfSubitems(
        _ concerned: [PresenterID: PresenterWatch], changedSince stamps: [FilePath: ItemStamp], write: UInt64, _ client: CoordinationClient
    ) {
        for (path, stamp) in stamps {
            let now = ItemStamp(path)
            // A directory changes with its contents, and each of them is reported separately.
            guard now != stamp, !now.isDirectory, !stamp.isDirectory else { continue }
            for (presenter, watch) in concerned where watch.covers(path) {
                client.notice(.subitemDidChange(path), by: presenter, ifLatestIs: write)
            }
        }
        client.state.withLock { $0.forgetWrite(write, of: stamps.keys) }
    }

    /// Warns once that presenters miss changes or hear of them late.
    func warnOnce(_ shortfall: Shortfall, _ message: String) {
        let isFirst = warned.withLock { $0.insert(shortfall).inserted }
        if isFirst { logger.warning("\(message)") }
    }
}

/// The item of a presenter, as a watch needs to know it.
struct PresentedItem: Equatable, Sendable {
    let path: FilePath
    /// Stays when the item moves.
    let number: UInt64
}
