internal import SystemPackage
internal import TreeWatching

/// Decides what happened to a container, from sightings of it and from the items that disappeared between them.
///
/// It is a value without effects: ``ContainerMonitor`` inspects, waits and reports.
struct WipeDetector: Sendable {
    /// The state of the container at the last report.
    private(set) var settled: ContainerSighting
    var limit: MassDeletionLimit?
    /// Whether too many items have disappeared since then.
    private var isTripped = false
    /// Items that disappeared since then without announcement.
    private var removed: Set<FilePath> = []
    /// The number of announced items that disappeared.
    private var expected = 0
    /// Items that appeared since then; their disappearance is no loss.
    private var born: Set<FilePath> = []
    /// The announced deletions and moves, each with the time until which the announcement counts.
    private var announced: [FilePath: ContinuousClock.Instant] = [:]
    /// The announcements of which some item has already disappeared.
    private var begun: Set<FilePath> = []
    private var loss: TreeChange.RootLoss?

    init(_ first: ContainerSighting, limit: MassDeletionLimit?) {
        settled = first
        self.limit = limit
    }

    /// Announces that an item, or a directory with its contents, is deleted under coordination.
    ///
    /// - Parameters:
    ///   - path: the item.
    ///   - time: the current time. The deletion may still wait for other accesses, for minutes.
    mutating func announce(_ path: FilePath, at time: ContinuousClock.Instant = .now) {
        announced[path] = time + .seconds(600)
        let late = removed.filter { $0.starts(with: path) }
        removed.subtract(late)
        expected += late.count
    }

    /// Records that an item appeared, perhaps again.
    mutating func appeared(_ path: FilePath) {
        if removed.remove(path) == nil { born.insert(path) }
    }

    /// Records that an item has another path.
    mutating func moved(_ from: FilePath, to path: FilePath) {
        if born.remove(from) != nil { born.insert(path) }
        removed.remove(path)
    }

    /// Records that an item disappeared.
    ///
    /// - Returns: whether the limit is now passed: the guard must act at once, before the wipe ends.
    mutating func vanished(_ path: FilePath) -> Bool {
        if born.remove(path) != nil { return false }
        if let place = announcement(of: path) {
            begun.insert(place)
            expected += 1
            return false
        }
        removed.insert(path)
        guard let limit, !isTripped else { return false }
        isTripped = limit.isPassed(by: removed.count, of: settled.items)
        return isTripped
    }

    /// Returns the announcement that covers an item.
    private func announcement(of path: FilePath) -> FilePath? {
        guard !announced.isEmpty else { return nil }
        var place = path
        while place.components.count > 0 {
            if announced[place] != nil { return place }
            place.removeLastComponent()
        }
        return nil
    }

    /// Records that the container's directory left its place, unless it was never seen there.
    mutating func lost(_ loss: TreeChange.RootLoss) { if loss != .absent { self.loss = loss } }

    /// Returns whether something is gone that may not have been noted yet.
    ///
    /// A container that goes during a look seems to have lost its mark only.
    func misses(_ now: ContainerSighting) -> Bool {
        switch now.attachment {
        case .attached: now.items < settled.items
        case .detached(.markGone): settled.attachment != now.attachment
        case .detached: false
        }
    }

    /// Whether the container was there before, so that the watcher has to say how it went.
    ///
    /// A loss that is noted may be an earlier one, after which the container was back.
    var wasThere: Bool { settled.isSignedIn && !settled.isGone }

    /// The report and the actions after a time without changes.
    struct Verdict: Hashable, Sendable {
        /// The kind of event; nil if nothing concerns the container as a whole.
        var kind: ContainerEvent.Kind?
        /// Whether to suspend stores until the user confirms the deletion.
        var isGuarded = false
        /// Whether to undo the guard's suspension, because the container itself shows what is missing.
        var isLifted = false
    }

    /// Decides what happened, after a time without changes.
    ///
    /// - Parameters:
    ///   - now: the current state of the container.
    ///   - time: the current time.
    /// - Returns: the report and the actions.
    mutating func settle(_ now: ContainerSighting, at time: ContinuousClock.Instant = .now) -> Verdict {
        let before = settled
        let wasTripped = isTripped
        let kind = kind(before, now)
        let isHere = now.isSignedIn && now.attachment == .attached
        let verdict = Verdict(
            kind: kind, isGuarded: isTripped && isHere, isLifted: wasTripped && now.isSignedIn && (!isTripped || now.attachment != .attached))
        // A deletion that has begun ends soon.
        for place in begun { announced[place] = min(announced[place] ?? time, time + .seconds(60)) }
        announced = now.isSignedIn ? announced.filter { $0.value > time } : [:]
        (settled, removed, expected, born, begun, loss, isTripped) = (now, [], 0, [], [], nil, false)
        // A missing container cannot be counted, so the old numbers stay for the comparison when it is back.
        if now.attachment != .attached, now.attachment != .detached(.markGone) { (settled.items, settled.epochs) = (before.items, before.epochs) }
        return verdict
    }

    private mutating func kind(_ before: ContainerSighting, _ now: ContainerSighting) -> ContainerEvent.Kind? {
        // Nothing is reported about another account's container.
        guard now.isSignedIn else { return before.isSignedIn ? .signedOut : nil }
        if case .detached(let reason) = now.attachment {
            guard now.attachment != before.attachment || !before.isSignedIn else { return nil }
            return self.kind(reason, before, now)
        }
        let gone = Set(before.epochs.keys).subtracting(now.epochs.keys)
        let removed = max(self.removed.count, before.items - now.items - expected)
        // The items that triggered the guard may be back.
        isTripped = limit?.isPassed(by: removed, of: before.items) == true
        if before.items > 0, now.items == 0 { return .contentsRemoved }
        if isTripped { return .massDeletion(removed: removed, of: before.items) }
        if !gone.isEmpty { return .storeContentGone(gone) }
        if before.attachment != .attached || !before.isSignedIn { return .restored }
        let begun = now.epochs.filter { name, epoch in before.epochs[name].map { $0 < epoch } ?? false }.min { $0.key < $1.key }
        return begun.map { .storeContentRemoved(store: $0.key, epoch: $0.value) }
    }

    private func kind(
        _ reason: ContainerAttachment.Reason, _ before: ContainerSighting, _ now: ContainerSighting
    ) -> ContainerEvent.Kind? {
        switch reason {
        case .unreadable(let error): return .unreadable(error)
        case .silent: return .unreadable(.timedOut)
        case .markGone where now.items == 0 && now.epochs.isEmpty && before.items + before.epochs.count > 0: return .contentsRemoved
        case .markGone: return .markGone
        case .containerGone, .rootGone, .contentGone, .massDeletion:
            switch loss {
            case .moved: return .containerMoved
            case .unmounted: return .unmounted
            case .deleted, .unwatchable, .absent, nil: return reason == .rootGone && loss == nil ? .containerMoved : .containerRemoved
            }
        }
    }
}
