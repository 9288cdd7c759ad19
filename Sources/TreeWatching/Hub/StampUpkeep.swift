import SystemPackage

/// Records what changed files look like now, a few at a time, while there is nothing else to do.
///
/// Only the hub's thread uses it.
struct StampUpkeep {
    /// When to go on, in monotonic nanoseconds; nil while nothing is left to record.
    private(set) var due: Int64?

    private static let delay: Int64 = 50_000_000
    private static let most = 64

    /// Plans a first step, because files have changed.
    mutating func plan() { if due == nil { due = Clock.monotonic() + Self.delay } }

    /// Takes the step that is due.
    ///
    /// - Parameters:
    ///   - machine: Knows the files that have changed, and records their stamps.
    ///   - path: Takes the files' paths.
    ///   - hub: Has the files' source.
    mutating func step(_ machine: inout TreeStateMachine, _ path: inout RootedPath, _ hub: HubLoop) {
        due = nil
        var taken: [(TreeIndex.Node, FileStamp)] = []
        while taken.count < Self.most, let node = machine.dirtyFiles.popLast() {
            guard machine.index.isAlive(node), !machine.index.isDirectory(node), machine.index.isDirty(node) else { continue }
            path.set(machine.path(of: node))
            if let status = try? hub.source.status(of: path.text, followingLinks: false), !status.isDirectory { taken.append((node, status.stamp)) }
        }
        // A stamp counts only if the events of what it shows are not still to come.
        if !hub.hasUnreadEvents {
            for (node, stamp) in taken { machine.index.setStamp(stamp, of: node) }
        } else {
            machine.dirtyFiles.append(contentsOf: taken.map(\.0))
        }
        if !machine.dirtyFiles.isEmpty { due = Clock.monotonic() + (taken.count == Self.most ? 0 : Self.delay) }
    }
}
