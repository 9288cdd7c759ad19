import CLinux
import Glibc
import SystemPackage

/// Performs what one tree's state machine asks for, and hands over its changes; touched by its hub's thread only.
final class TreeRunner {
    private(set) var machine: TreeStateMachine
    private unowned let hub: HubLoop
    let root: [UInt8]
    private var rootWatch: RootWatch
    private var mask: UInt32
    private var sweepInterval: Int64
    /// The patterns of excluded entries.
    private var exclude: [String]
    private let isShared: Bool
    private var views = TreeViews()

    private var listing = DirectoryListing()
    private var path: RootedPath

    /// Events that wait for the second half of a move, and until when.
    private var held: [UInt8] = []
    private var patience = MovePatience()
    private var sweepAt: Int64?
    private var upkeep = StampUpkeep()
    private var unflushedSince: Int64?
    private var metrics: TreeMetrics

    /// A tree that is watched for a watcher, and others that may join it.
    init(for view: TreeView, hub: HubLoop) {
        let options = view.options
        self.hub = hub
        root = view.root
        rootWatch = RootWatch(root: root, followsRoot: options.followsRoot)
        path = RootedPath(root: root)
        exclude = options.exclude
        isShared = options.sharing == .open
        machine = TreeStateMachine(
            root: root, attributes: options.attributes, reportsCloses: view.combines, exclude: options.exclude,
            awaitsRoot: options.awaitsRoot, seed: UInt64.random(in: .min ... .max))
        mask = (options.attributes ? RawEvent.Mask.tree.union(.attributes) : .tree).rawValue
        sweepInterval = Self.sweepInterval(options)
        metrics = TreeMetrics(view)
        enter(view, top: [])
    }

    private static func sweepInterval(_ options: TreeWatcher.Options) -> Int64 { max(10_000_000, options.sweepInterval.nanoseconds) }

    // MARK: Watchers

    func view(_ identifier: UInt64) -> TreeView? { views[identifier] }

    /// Whether a watcher can share the tree.
    func takesIn(_ view: TreeView) -> Bool {
        guard isShared, view.options.sharing != .alone else { return false }
        if view.root == root { return view.options.followsRoot == rootWatch.followsRoot || view.options.sharing == .join }
        guard view.options.sharing == .join, rootLoss == nil, machine.wasReady, let top = top(of: view) else { return false }
        var node = TreeIndex.Node.root
        for name in top.split(separator: 0x2F) {
            guard let child = Array(name).withUnsafeBytes({ machine.index.child(of: node, named: $0) }) else { return false }
            node = child
        }
        return machine.index.isDirectory(node)
    }

    /// A watcher's root, from the tree's; nil where it lies elsewhere.
    private func top(of view: TreeView) -> [UInt8]? {
        if view.root == root { return [] }
        let prefix = root == [0x2F] ? root : root + [0x2F]
        return view.root.starts(with: prefix) ? Array(view.root[prefix.count...]) : nil
    }

    /// Takes in one more watcher, for which more may have to be watched.
    func join(_ view: TreeView) {
        guard let top = top(of: view) else { return }
        // Patterns mean what they say from one root only.
        let kept = top.isEmpty ? exclude.filter(view.options.exclude.contains) : []
        let needsAttributes = view.options.attributes && !machine.attributes
        sweepInterval = min(sweepInterval, Self.sweepInterval(view.options))
        if needsAttributes { mask |= RawEvent.Mask.attributes.rawValue }
        machine.widen(attributes: needsAttributes, reportsCloses: view.combines, exclude: kept.count < exclude.count ? kept : nil)
        exclude = kept
        perform()
        // The watcher's part of the tree begins as it is now: neither what was pending nor what the wider tree has found is
        // news to it. Its readers would hear of both after `ready`, at the latest when held changes are due.
        flush()
        enter(view, top: top)
        for error in machine.presentDiagnostics { view.report(error) }
    }

    private func enter(_ view: TreeView, top: [UInt8]) {
        view.runner = self
        if isShared { view.show(ViewScope(top: top, exclude: view.options.exclude)) }
        views.add(view)
        machine.scopes = views.scopes
    }

    /// Ends a watcher; true where it was the last one.
    func leave(_ identifier: UInt64) -> Bool {
        guard views.end(identifier) else { return false }
        machine.scopes = views.scopes
        return views.isEmpty
    }

    func holds(_ watch: Int32) -> Bool { machine.index.node(watching: watch) != nil || machine.ancestorWatches.contains(watch) }

    // MARK: The hub's calls

    func begin() {
        machine.now = .init(wall: Clock.wall())
        perform()
        flush()
    }

    func end() {
        for node in machine.index.postorder(.root) {
            if machine.index.isDirectory(node), let watch = machine.index.watch(of: node), !hub.isWatched(watch, besides: self) {
                hub.source.removeWatch(watch)
            }
        }
        for watch in machine.ancestorWatches where !hub.isWatched(watch, besides: self) { hub.source.removeWatch(watch) }
        metrics.end()
    }

    /// The source has failed: the root counts as lost, and everything ends.
    func fail(_ error: TreeWatchingError) {
        machine.nextTick = hub.nextTick
        machine.loseRoot(.unwatchable)
        flush()
        metrics.end()
        views.fail(error)
    }

    func receive(_ events: UnsafeRawBufferPointer, at time: Int64) {
        if held.isEmpty {
            takeIn(events, at: time, givingUp: false)
        } else {
            held.append(contentsOf: events)
            takeInHeld(at: time, givingUp: false)
        }
    }

    /// Events have been read, which are taken in next.
    func noteRead() { machine.noteRead() }

    /// The kernel's queue is empty and all of it is taken in; true where that made work, which is done.
    func drained(since: Int64) -> Bool {
        if !held.isEmpty { return false }
        let hasWork = machine.drained(since: since)
        if hasWork { perform() }
        if !machine.dirtyFiles.isEmpty { upkeep.plan() }
        return hasWork
    }

    // MARK: Events

    private func takeInHeld(at time: Int64, givingUp: Bool) {
        let events = held
        held = []
        events.withUnsafeBytes { takeIn($0, at: time, givingUp: givingUp) }
    }

    private func takeIn(_ events: UnsafeRawBufferPointer, at time: Int64, givingUp: Bool) {
        machine.nextTick = hub.nextTick
        defer { hub.nextTick = machine.nextTick }
        var offset = 0
        while true {
            switch machine.receive(events, from: &offset, at: .init(wall: time), givingUp: givingUp) {
            case .done:
                patience.end()
                removeStaleWatches()
                return
            case .work:
                removeStaleWatches()
                performWork()
            case .probe:
                path.set(machine.probedPath)
                let exists = (try? hub.source.status(of: path.text, followingLinks: false)) != nil
                machine.answer(exists: exists)
            case .stalled:
                held = Array(events[offset...])
                patience.wait(isSame: offset == 0, at: Clock.monotonic())
                removeStaleWatches()
                return
            }
        }
    }

    // MARK: Work

    private func perform() {
        machine.nextTick = hub.nextTick
        performWork()
        hub.nextTick = machine.nextTick
    }

    private func performWork() {
        var steps = 0
        while let work = machine.nextWork() {
            switch work {
            case .refresh(let node, let mode): refresh(node, mode)
            case .check(let parent, let name): check(parent, name)
            case .checkRoot: checkRoot()
            }
            removeStaleWatches()
            steps += 1
            if steps & 31 == 0 {
                hub.readAhead()
                if isFlushDue { flush() }
            }
        }
        reportDiagnostics()
    }

    private func refresh(_ node: TreeIndex.Node, _ mode: TreeStateMachine.RefreshMode) {
        setPath(to: node)
        var next = machine.watched(node, addWatch(node), mode: mode)
        if case .verify(let known, let watch) = next {
            setPath(to: known)
            let result = addWatch(known)
            next = machine.verified(node, watch, known: known, result, mode: mode)
            setPath(to: node)
        }
        guard case .list(let mode) = next else { return }
        listing.removeAll()
        do throws(Errno) {
            try hub.source.list(path.text, into: &listing) { hub.readAhead() }
            if node == .root { try rootWatch.checkListed(path.text, hub.source) }
            machine.listed(node, listing, mode: mode)
            machine.completed(node)
        } catch {
            machine.unlisted(node, error)
        }
    }

    private func addWatch(_ node: TreeIndex.Node) -> Result<Int32, Errno> {
        do throws(Errno) {
            if node == .root { return .success(try rootWatch.add(path.text, mask: mask, hub.source)) }
            return .success(try hub.source.addWatch(path.text, mask: mask))
        } catch {
            return .failure(error)
        }
    }

    private func check(_ parent: TreeIndex.Node, _ name: [UInt8]) {
        path.set(machine.path(of: parent), name)
        let status = try? hub.source.status(of: path.text, followingLinks: false)
        // Unread events may have changed the path that was looked at.
        if hub.hasUnreadEvents, machine.postpone(parent, name) { return }
        machine.looked(at: name, in: parent, status)
    }

    private func removeStaleWatches() {
        if machine.staleWatches.isEmpty { return }
        machine.staleWatches.forEach(removeUnused)
        machine.staleWatches.removeAll(keepingCapacity: true)
    }

    /// Removes a watch that neither this tree nor another uses.
    private func removeUnused(_ watch: Int32) {
        if !holds(watch), !hub.isWatched(watch, besides: self) { hub.source.removeWatch(watch) }
    }

    private func reportDiagnostics() {
        for diagnostic in machine.diagnostics { views.report(diagnostic) }
        machine.diagnostics.removeAll()
        if machine.needsSweep { if sweepAt == nil { sweepAt = Clock.monotonic() + sweepInterval } } else { sweepAt = nil }
    }

    // MARK: The root

    /// Why the root is not at its path; nil while it is.
    var rootLoss: TreeChange.RootLoss? {
        if case .lost(let loss) = machine.phase { return loss }
        return nil
    }

    /// A file system has been mounted or unmounted somewhere.
    func mountsChanged() { machine.mountsChanged() }

    /// Looks whether the root is at its path, and watches the directories above it.
    private func checkRoot() {
        let former = machine.ancestorWatches
        machine.ancestorWatches = []
        let finding = rootWatch.look(hub.source, former: former, remove: removeUnused)
        machine.ancestorWatches = finding.ancestors
        machine.isReturnHeard = finding.isReturnHeard
        var isAlive = false
        if finding.status?.isDirectory != true || !finding.isSame, let watch = machine.index.watch(of: .root) {
            isAlive = hub.isWatched(watch, besides: self) || hub.source.removeWatch(watch)
        }
        machine.rootChecked(finding.status, isSame: finding.isSame, isAlive: isAlive)
    }

    // MARK: Time

    /// The next instant at which ``expire(at:)`` has something to do.
    var deadline: Int64? {
        [patience.until, sweepAt, upkeep.due, views.deadline].compactMap { $0 }.min()
    }

    /// Does what is due; true where that may have left something to look at when the queue is drained.
    func expire(at now: Int64) -> Bool {
        var hasActed = false
        if let until = patience.until, until <= now {
            hasActed = true
            patience.end()
            takeInHeld(at: Clock.wall(), givingUp: true)
            flush()
        }
        if let sweepAt, sweepAt <= now {
            self.sweepAt = nil
            machine.now = .init(wall: Clock.wall())
            if machine.sweep() {
                perform()
                hasActed = true
            }
            // A large part that cannot be watched takes at most a twentieth of the time.
            let took = Clock.monotonic() - now
            if machine.needsSweep { self.sweepAt = Clock.monotonic() + max(sweepInterval, took * 20) } else { self.sweepAt = nil }
            flush()
        }
        if let due = upkeep.due, due <= now { upkeep.step(&machine, &path, hub) }
        if let deadline = views.deadline, deadline <= now { flush() }
        return hasActed
    }

    // MARK: Handing over

    /// Whether a batch is due: when the queue is drained, or after a millisecond or 4,096 changes.
    var isFlushDue: Bool {
        if machine.changes.isEmpty { return false }
        if machine.changes.count >= 4_096 { return true }
        let now = Clock.monotonic()
        guard let unflushedSince else {
            unflushedSince = now
            return false
        }
        return now - unflushedSince >= 1_000_000
    }

    /// Hands over what has changed.
    /// - Parameter isSettled: Whether all earlier events have been taken in, as barriers require.
    func flush(isSettled: Bool = false) {
        unflushedSince = nil
        // While the root is lost there is nothing to wait for.
        let meetsBarriers = isSettled && held.isEmpty && (machine.wasReady || rootLoss != nil)
        reportDiagnostics()
        metrics.note(overflows: machine.overflows, watched: machine.index.watchedCount)
        var nextTick = max(hub.nextTick, machine.nextTick)
        let batch = machine.changes.isEmpty ? nil : machine.changes.take()
        views.deliver(batch, nextTick: &nextTick, meetsBarriers: meetsBarriers)
        machine.nextTick = nextTick
        hub.nextTick = nextTick
    }

    /// Whether a regular file that was just created is held open by its writer, so that a close is to come.
    func closesAfterWriting(_ path: [CChar]) -> Bool {
        guard let status = try? hub.source.status(of: path, followingLinks: false) else { return true }
        return status.closesAfterWriting
    }

    // MARK: Readers

    /// The state of the tree for a new reader; nil while the state is not known.
    func present(to view: TreeView) -> TreeChangeBatch? {
        flush()
        var present = TreeChangeBuffer(root: view.root)
        if let loss = view.rootLoss {
            present.append(.rootLost, tick: lastTick, time: Clock.wall(), loss: loss)
        } else if machine.wasReady {
            present.append(.ready, tick: lastTick, time: Clock.wall())
        }
        return present.isEmpty ? nil : present.take()
    }

    /// Every entry that is known, parents before their children, as created.
    func entries() -> TreeChangeBatch {
        var buffer = TreeChangeBuffer(root: root)
        let time = Clock.wall()
        for node in machine.index.postorder(.root).reversed() where node != .root {
            buffer.append(.created, node, in: machine.index, tick: lastTick, time: time)
        }
        return buffer.take()
    }

    /// Has the source give everything that was raised before.
    func synchronise() { hub.source.synchronise() }

    /// Whether a caller waits until all changes are delivered.
    var awaitsBarrier: Bool { views.awaitsBarrier }

    /// The tick of the last change.
    var lastTick: UInt64 { hub.nextTick - 1 }

    // MARK: Paths

    private func setPath(to node: TreeIndex.Node) {
        var bytes: [UInt8] = []
        machine.index.appendPath(of: node, to: &bytes)
        path.set(bytes)
    }
}
