import Glibc
import SystemPackage

/// One watcher's view of a tree: its part of the changes, its readers and its waits.
///
/// Only its hub's thread uses it.
final class TreeView {
    let identifier: UInt64
    let root: [UInt8]
    let options: TreeWatcher.Options
    let metrics: MetricRecorder
    unowned var runner: TreeRunner!
    private var delivery: ChangeDelivery
    /// Nil where the tree is watched for nobody else.
    private var filter: ViewFilter?
    private var path: RootedPath

    init(identifier: UInt64, root: [UInt8], options: TreeWatcher.Options, metrics: MetricRecorder) {
        self.identifier = identifier
        self.root = root
        self.options = options
        self.metrics = metrics
        path = RootedPath(root: root)
        delivery = ChangeDelivery(root: root, options: options, metrics: metrics)
    }

    /// The watcher's part of a shared tree.
    private(set) var scope: ViewScope?

    /// Shows a part of a shared tree from now on.
    func show(_ scope: ViewScope) {
        self.scope = scope
        filter = ViewFilter(scope: scope, root: root, attributes: options.attributes, closes: delivery.combines)
    }

    /// Why the watcher's root is missing though the tree's may be there.
    var loss: TreeChange.RootLoss? { filter?.loss }
    /// Whether related changes are combined or held back.
    var combines: Bool { delivery.combines }
    /// The time at which a held change is due, in monotonic nanoseconds.
    var deadline: Int64? { delivery.deadline }
    /// Whether a caller waits until all changes are delivered.
    var awaitsBarrier: Bool { delivery.awaitsBarrier }

    /// Hands over what has changed.
    func deliver(_ batch: TreeChangeBatch?, nextTick: inout UInt64, meetsBarriers: Bool) {
        let batch = batch.flatMap { batch in filter == nil ? batch : filter!.take(batch) }
        delivery.deliver(batch, nextTick: &nextTick, meetsBarriers: meetsBarriers && awaitsBarrier) { [runner] relative in
            path.set(relative)
            return runner!.closesAfterWriting(path.text)
        }
    }

    func report(_ error: TreeWatchingError) {
        if let place = error.path, filter != nil {
            let own = TreeChangeBatch.filePath(root)
            guard place.starts(with: own) || own.starts(with: place) else { return }
        }
        metrics.count(.watchFailures)
        options.diagnostics(error)
    }

    /// Ends every reader, and ends every wait with an error.
    func end(_ error: TreeWatchingError) { delivery.end(error) }

    // MARK: Readers

    /// Adds a reader, which first receives the state of the tree.
    func add(_ reader: any ChangeReader) {
        delivery.add(reader, present: runner.present(to: self))
    }

    func removeReader(_ reader: any ChangeReader) { delivery.remove(reader) }

    /// Calls back when everything that was raised before is delivered.
    func addBarrier(_ barrier: @escaping @Sendable (TreeWatchingError?) -> Void) {
        runner.synchronise()
        delivery.add(barrier)
    }

    /// Every entry that is known, parents before their children, as created.
    func entries() -> TreeChangeBatch {
        let all = runner.entries()
        return filter?.select(all) ?? all
    }

    func changes(since tick: UInt64) -> [TreeChangeBatch]? { delivery.changes(since: tick, last: runner.lastTick) }

    /// Why the root is not at its path; nil while it is.
    var rootLoss: TreeChange.RootLoss? { runner.rootLoss ?? loss }
}
