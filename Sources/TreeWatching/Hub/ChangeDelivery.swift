import Glibc

/// Delivers a tree's changes to its readers, unchanged or combined, and remembers the latest of them.
struct ChangeDelivery {
    typealias Barrier = @Sendable (TreeWatchingError?) -> Void

    private var readers: [any ChangeReader] = []
    private var barriers: [Barrier] = []
    private var history: ChangeHistory
    private var reduction: ChangeReduction?
    private let metrics: MetricRecorder

    init(root: [UInt8], options: TreeWatcher.Options, metrics: MetricRecorder) {
        self.metrics = metrics
        history = ChangeHistory(limit: options.historyLimit)
        reduction = ChangeReduction(root: root, options: options)
    }

    /// Whether related changes are combined or held back.
    var combines: Bool { reduction != nil }
    /// The time at which a held change is due, in monotonic nanoseconds.
    var deadline: Int64? { reduction?.deadline }
    /// Whether a caller waits until all changes are delivered.
    var awaitsBarrier: Bool { !barriers.isEmpty }

    // MARK: Changes

    /// Delivers changes.
    /// - Parameters:
    ///   - batch: The changes; nil if there are none.
    ///   - nextTick: The tick of the next change; a held change may get a later tick than it had.
    ///   - meetsBarriers: Whether to deliver held changes too and then tell the callers that wait.
    ///   - lookAt: Returns whether a close is expected for a file that was just created.
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
        if !readers.isEmpty { metrics.count(.watchChanges, by: batch.count) }
    }

    func changes(since tick: UInt64, last: UInt64) -> [TreeChangeBatch]? { history.changes(since: tick, last: last) }

    // MARK: Readers

    /// Adds a reader, which first receives the state of the tree.
    mutating func add(_ reader: any ChangeReader, present: TreeChangeBatch?) {
        readers.append(reader)
        if let present { reader.take(present) }
    }

    mutating func remove(_ reader: any ChangeReader) {
        readers.removeAll { $0 === reader }
        reader.finish()
    }

    mutating func add(_ barrier: @escaping Barrier) { barriers.append(barrier) }

    /// Ends every reader, and ends every wait with an error.
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
