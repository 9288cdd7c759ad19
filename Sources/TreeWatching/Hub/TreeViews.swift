/// The watchers of one tree, each with its view of it; changes are handed over to all of them.
///
/// Only the hub's thread uses it.
struct TreeViews {
    private var views: [TreeView] = []

    var isEmpty: Bool { views.isEmpty }

    subscript(identifier: UInt64) -> TreeView? { views.first { $0.identifier == identifier } }

    mutating func add(_ view: TreeView) { views.append(view) }

    /// Removes a watcher, and ends its readers and waits.
    ///
    /// - Parameter identifier: The watcher.
    /// - Returns: Whether it was one of them.
    mutating func end(_ identifier: UInt64) -> Bool {
        guard let position = views.firstIndex(where: { $0.identifier == identifier }) else { return false }
        let view = views.remove(at: position)
        let root = TreeChangeBatch.filePath(view.root)
        view.end(TreeWatchingError(.closed, "the watcher of \(root) was closed", path: root))
        return true
    }

    /// The parts of the tree that watchers see, for each one that does not see all of it.
    var scopes: [ViewScope] { views.compactMap(\.scope).filter { !$0.isWhole } }

    // MARK: Handing over

    func deliver(_ batch: TreeChangeBatch?, nextTick: inout UInt64, meetsBarriers: Bool) {
        for view in views { view.deliver(batch, nextTick: &nextTick, meetsBarriers: meetsBarriers) }
    }

    func report(_ error: TreeWatchingError) { for view in views { view.report(error) } }

    /// Tells every watcher why the tree is watched no more.
    func fail(_ error: TreeWatchingError) {
        for view in views {
            view.report(error)
            view.end(error)
        }
    }

    /// Whether a caller waits until all changes are delivered.
    var awaitsBarrier: Bool { views.contains(where: \.awaitsBarrier) }

    /// The time at which a held change is due, in monotonic nanoseconds.
    var deadline: Int64? { views.compactMap(\.deadline).min() }
}
