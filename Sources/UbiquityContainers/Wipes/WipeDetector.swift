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
    /// Items that went since then.
    private var removed: Set<FilePath> = []
    /// Items that came since then: that these go is nobody's loss.
    private var born: Set<FilePath> = []
    /// What somebody deletes, or moves out, under coordination.
    private var announced: Set<FilePath> = []
    private var loss: TreeChange.RootLoss?

    init(_ first: ContainerSighting, limit: MassDeletionLimit?) {
        settled = first
        self.limit = limit
    }

    /// An item, or a directory with what is in it, is deleted under coordination.
    mutating func announce(_ path: FilePath) { announced.insert(path) }

    /// An item is there, perhaps again.
    mutating func appeared(_ path: FilePath) {
        if removed.remove(path) == nil { born.insert(path) }
    }

    /// An item is gone.
    ///
    /// - Returns: whether that makes it too many: the guard is to act now, and not when it is over.
    mutating func vanished(_ path: FilePath) -> Bool {
        if born.remove(path) != nil { return false }
        removed.insert(path)
        guard let limit, !isTripped, limit.isPassed(by: removed.count, of: settled.items) else { return false }
        isTripped = limit.isPassed(by: unannounced, of: settled.items)
        return isTripped
    }

    /// The container's directory is no longer where it was.
    mutating func lost(_ loss: TreeChange.RootLoss) { self.loss = loss }

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
    /// - Parameter now: how the container is.
    /// - Returns: what is to be told, and done.
    mutating func settle(_ now: ContainerSighting) -> Verdict {
        let before = settled
        let kind = kind(before, now)
        let verdict = Verdict(
            kind: kind, isGuarded: isTripped && now.isSignedIn && now.attachment == .attached, isLifted: isTripped && now.attachment != .attached)
        (settled, removed, born, announced, loss, isTripped) = (now, [], [], [], nil, false)
        // A container that is gone cannot be counted: what it held is what it has to be compared with when it is back.
        if now.attachment != .attached, now.attachment != .detached(.markGone) { (settled.items, settled.epochs) = (before.items, before.epochs) }
        return verdict
    }

    /// How many went of which nobody has said that they would.
    private var unannounced: Int { removed.count { path in !announced.contains { path.starts(with: $0) } } }

    private mutating func kind(_ before: ContainerSighting, _ now: ContainerSighting) -> ContainerEvent.Kind? {
        if before.isSignedIn != now.isSignedIn { return now.isSignedIn ? .restored : .signedOut }
        // Of another's container nothing is told.
        guard now.isSignedIn else { return nil }
        if case .detached(let reason) = now.attachment {
            guard now.attachment != before.attachment else { return nil }
            return self.kind(reason, before, now)
        }
        if before.attachment != .attached { return .restored }
        let gone = Set(before.epochs.keys).subtracting(now.epochs.keys)
        let removed = max(unannounced, before.items - now.items - (self.removed.count - unannounced))
        if limit?.isPassed(by: removed, of: before.items) == true { isTripped = true }
        if before.items > 0, now.items == 0 { return .contentsRemoved }
        if isTripped { return .massDeletion(removed: removed, of: before.items) }
        if !gone.isEmpty { return .storeContentGone(gone) }
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
            case .deleted, .unwatchable, nil: return reason == .rootGone && loss == nil ? .containerMoved : .containerRemoved
            }
        }
    }
}
