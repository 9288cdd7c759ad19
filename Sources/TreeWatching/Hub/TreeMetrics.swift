import Logging
import SystemPackage

/// What is recorded and logged of one watched tree, whichever watchers share it.
///
/// Only its hub's thread uses it. Without a difference it compares two numbers.
struct TreeMetrics {
    private let recorder: MetricRecorder
    private let root: [UInt8]
    private var overflows = 0
    private var watched = 0

    /// Records for the tree of a watcher, which others may join.
    init(_ view: TreeView) { (recorder, root) = (view.metrics.another(), view.root) }

    /// Records the differences since the last call.
    ///
    /// - Parameters:
    ///   - overflows: the number of overflows so far.
    ///   - watched: the number of directories that are watched.
    mutating func note(overflows: Int, watched: Int) {
        if overflows != self.overflows { overflow(overflows - self.overflows) }
        if watched != self.watched { recorder.set(.watchedDirectories, to: watched) }
        (self.overflows, self.watched) = (overflows, watched)
    }

    private func overflow(_ count: Int) {
        recorder.count(.watchOverflows, by: count)
        let root = TreeChangeBatch.filePath(root)
        Logger.ubiquity.debug(
            "\(root): the kernel's queue of events has overflowed, and the tree is scanned again",
            metadata: .facts([.event: "watchOverflow", .path: root.string, .count: "\(count)"]))
    }

    /// The tree is watched no more.
    mutating func end() { note(overflows: overflows, watched: 0) }
}
