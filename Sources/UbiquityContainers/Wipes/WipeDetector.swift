internal import SystemPackage
internal import TreeWatching

/// Tells from sightings of a container, and from what was seen to go between them, what befell it.
///
/// A value without effects: ``ContainerMonitor`` looks, waits and tells.
struct WipeDetector: Sendable {
    /// How the container was when that was told last.
    private(set) var settled: ContainerSighting
    var limit: MassDeletionLimit?
    /// Whether too much has gone since then.
    private var isTripped = false
    /// Items that went since then, and of which nobody had said that they would.
    private var removed: Set<FilePath> = []
    /// How many others went.
    private var expected = 0
    /// Items that came since then: that these go is nobody's loss.
    private var born: Set<FilePath> = []
    /// What somebody deletes, or moves out, under coordination, and until when that is believed.
    private var announced: [FilePath: ContinuousClock.Instant] = [:]
    /// Those of which something has gone since then.
    private var begun: Set<FilePath> = []
    private var loss: TreeChange.RootLoss?

    init(_ first: ContainerSighting, limit: MassDeletionLimit?) {
        settled = first
        self.limit = limit
    }

    /// An item, or a directory with what is in it, is deleted under coordination.
    ///
    /// - Parameters:
    ///   - path: the item.
    ///   - time: now. Who deletes may still wait for others, for minutes.
    mutating func announce(_ path: FilePath, at time: ContinuousClock.Instant = .now) {
        announced[path] = time + .seconds(600)
        let late = removed.filter { $0.starts(with: path) }
        removed.subtract(late)
        expected += late.count
    }

    /// An item is there, perhaps again.
    mutating func appeared(_ path: FilePath) {
        if removed.remove(path) == nil { born.insert(path) }
    }

    /// An item has another path.
    mutating func moved(_ from: FilePath, to path: FilePath) {
        if born.remove(from) != nil { born.insert(path) }
        removed.remove(path)
    }

    /// An item is gone.
    ///
    /// - Returns: whether that makes it too many: the guard is to act now, and not when it is over.
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

    /// The announcement that an item is part of.
    private func announcement(of path: FilePath) -> FilePath? {
        guard !announced.isEmpty else { return nil }
        var place = path
        while place.components.count > 0 {
            if announced[place] != nil { return place }
            place.removeLastComponent()
        }
        return nil
    }

    /// The container's directory is no longer where it was; that it was never seen there explains nothing.
    mutating func lost(_ loss: TreeChange.RootLoss) { if loss != .absent { self.loss = loss } }

    /// Whether nothing has been said of why the container would be gone that was there before.
    var isUnexplained: Bool { loss == nil && settled.isSignedIn && !settled.isGone }

    /// What is to be told and done when nothing has happened for a while.
    struct Verdict: Hashable, Sendable {
        /// Nil for nothing that concerns the container as a whole.
        var kind: ContainerEvent.Kind?
        /// Whether stores are to be suspended until somebody says that it was meant.
        var isGuarded = false
        /// Whether what the guard did on the way is to be undone, for the container says itself what it lacks.
        var isLifted = false
    }

    /// Says what it was, nothing having happened for a while.
    ///
    /// - Parameters:
    ///   - now: how the container is.
    ///   - time: now.
    /// - Returns: what is to be told, and done.
    mutating func settle(_ now: ContainerSighting, at time: ContinuousClock.Instant = .now) -> Verdict {
        let before = settled
        let wasTripped = isTripped
        let kind = kind(before, now)
        let isHere = now.isSignedIn && now.attachment == .attached
        let verdict = Verdict(
            kind: kind, isGuarded: isTripped && isHere, isLifted: wasTripped && now.isSignedIn && (!isTripped || now.attachment != .attached))
        // What has begun is soon over.
        for place in begun { announced[place] = min(announced[place] ?? time, time + .seconds(60)) }
        announced = now.isSignedIn ? announced.filter { $0.value > time } : [:]
        (settled, removed, expected, born, begun, loss, isTripped) = (now, [], 0, [], [], nil, false)
        // A container that is gone cannot be counted: what it held is what it has to be compared with when it is back.
        if now.attachment != .attached, now.attachment != .detached(.markGone) { (settled.items, settled.epochs) = (before.items, before.epochs) }
        return verdict
    }

    private mutating func kind(_ before: ContainerSighting, _ now: ContainerSighting) -> ContainerEvent.Kind? {
        // Of another's container nothing is told.
        guard now.isSignedIn else { return before.isSignedIn ? .signedOut : nil }
        if case .detached(let reason) = now.attachment {
            guard now.attachment != before.attachment || !before.isSignedIn else { return nil }
            return self.kind(reason, before, now)
        }
        let gone = Set(before.epochs.keys).subtracting(now.epochs.keys)
        let removed = max(self.removed.count, before.items - now.items - expected)
        // What was found on the way may be back.
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
