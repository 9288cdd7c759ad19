import Glibc

/// Hands a tree's changes to its readers, as they are or combined, and remembers the last of them.
struct ChangeDelivery {
    typealias Barrier = @Sendable (TreeWatchingError?) -> Void

    private var readers: [any ChangeReader] = []
    private var barriers: [Barrier] = []
    private var history: ChangeHistory
    private var reduction: ChangeReduction?

    init(root: [UInt8], options: TreeWatcher.Options) {
        history = ChangeHistory(limit: options.historyLimit)
        reduction = ChangeReduction(root: root, options: options)
    }

    /// Whether what belongs together is combined, or held back.
    var combines: Bool { reduction != nil }
    /// When something that is held back is due, monotonic nanoseconds.
    var deadline: Int64? { reduction?.deadline }
    /// Whether somebody waits for everything to be handed over.
    var awaitsBarrier: Bool { !barriers.isEmpty }

    // MARK: Changes

    /// Hands over what has changed.
    /// - Parameters:
    ///   - batch: What has changed; nil for nothing.
    ///   - nextTick: The tick of the next change; what is held back may be given a later one than it had.
    ///   - meetsBarriers: Whether those who wait are told, after what is held back has been handed over too.
    ///   - lookAt: Whether a close is to be expected of a file that was just created.
    mutating func deliver(_ batch: TreeChangeBatch?, nextTick: inout UInt64, meetsBarriers: Bool, lookAt: ([UInt8]) -> Bool) {
        if reduction != nil {
            let now = Clock.monotonic()
            if let batch { reduction!.take(batch, at: now, lookAt: lookAt) }
            reduction!.expire(at: meetsBarriers ? .max : now)
            if let batch = reduction!.taken() { give(batch) }
            nextTick = max(nextTick, reduction!.lastTick + 1)
        } else if let batch {
            give(batch)
        }
        if meetsBarriers { endBarriers(nil) }
    }

    private mutating func give(_ batch: TreeChangeBatch) {
        history.append(batch)
        for reader in readers { reader.take(batch) }
    }

    func changes(since tick: UInt64, last: UInt64) -> [TreeChangeBatch]? { history.changes(since: tick, last: last) }

    // MARK: Readers

    /// Adds a reader, which is told first where the tree stands.
    mutating func add(_ reader: any ChangeReader, present: TreeChangeBatch?) {
        readers.append(reader)
        if let present { reader.take(present) }
    }

    mutating func remove(_ reader: any ChangeReader) {
        readers.removeAll { $0 === reader }
        reader.finish()
    }

    mutating func add(_ barrier: @escaping Barrier) { barriers.append(barrier) }

    /// Ends every reader, and every wait with an error.
    mutating func end(_ error: TreeWatchingError) {
        for reader in readers { reader.finish() }
        readers = []
        endBarriers(error)
    }

    private mutating func endBarriers(_ error: TreeWatchingError?) {
        let ended = barriers
        barriers = []
        for barrier in ended { barrier(error) }
    }
}
