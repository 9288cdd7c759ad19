import SystemPackage

/// The state of one watched tree: it takes raw events, scan results and instants, and returns changes and file system
/// work.
///
/// The machine is pure: no I/O, no clock. The runner calls ``receive(_:from:at:givingUp:)`` with raw events. If the
/// result is ``Progress/work``, the runner performs each ``nextWork()`` until there is none, and reports each result.
/// ``changes`` collects the changes.
struct TreeStateMachine {
    typealias Node = TreeIndex.Node

    /// The state of the tree.
    enum Phase: Equatable {
        /// The first scan is running; nothing is reported yet.
        case starting
        /// The tree is watched.
        case watching
        /// Events were lost; a rescan reports the differences.
        case rescanning
        /// The root is not at its path.
        case lost(TreeChange.RootLoss)
    }

    /// The progress of ``receive(_:from:at:givingUp:)``.
    enum Progress: Equatable {
        /// All events are handled.
        case done
        /// There is work to do before the next event.
        case work
        /// Half of a move has no known partner; the machine needs more events or more time.
        case stalled
        /// The caller must tell, with ``answer(exists:)``, whether an entry exists at ``probedPath``.
        case probe
    }

    /// The work for the runner.
    enum Work: Equatable {
        /// Watch the directory and list it.
        case refresh(Node, RefreshMode)
        /// Look at one entry.
        case check(Node, name: [UInt8])
        /// Check whether the root is at its path, and watch its ancestors.
        case checkRoot
    }

    /// A name in a directory.
    struct Place {
        var directory: Node
        var name: [UInt8]
    }

    /// A listed directory and its ``DirectoryListing/identity``.
    struct Listed {
        var directory: Node
        var identity: UInt32
    }

    struct RefreshMode: OptionSet, Sendable {
        let rawValue: UInt8
        init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Known directories below are refreshed too; new directories always are.
        static let recursive = RefreshMode(rawValue: 1)
        /// The directory has not been reported yet.
        static let announce = RefreshMode(rawValue: 2)
        /// Differences are reported, because no event reports them.
        static let lossy = RefreshMode(rawValue: 4)
        /// The earlier listing may have been of another directory; if so, its entries that are not here are removed.
        static let verifying = RefreshMode(rawValue: 8)
        /// The modes that compare the known state with the current one.
        static let comparing: RefreshMode = [.lossy, .verifying]
    }

    /// The next step after an attempt to add a watch.
    enum AfterWatch: Equatable {
        case list(RefreshMode)
        /// The watch already belongs to another directory: add a watch there too, and pass the result to
        /// ``verified(_:_:known:_:mode:)``.
        case verify(Node, watch: Int32)
        case skip
    }

    /// The time of an input.
    struct Instant: Sendable {
        /// Nanoseconds since 1970.
        var wall: Int64
        init(wall: Int64) { self.wall = wall }
    }

    var index: TreeIndex
    var changes: TreeChangeBuffer
    var phase: Phase = .starting
    /// Whether ``TreeChange/Kind/ready`` has been reported.
    private(set) var wasReady = false
    /// Whether the root has been found at its path.
    var wasThere = false
    /// The tick of the next change.
    var nextTick: UInt64 = 1
    /// Watches that no node uses any more.
    var staleWatches: [Int32] = []
    /// Directories that are not watched or not listed, with the errors.
    var incomplete: [Node: Errno] = [:]
    /// Directories that were gone before they were watched; tried again when the queue is drained.
    var vanished = Recent<Node>()
    /// The errors since the last query.
    var diagnostics: [TreeWatchingError] = []
    /// The number of overflows of the queue while the root was there.
    var overflows = 0
    /// Files whose stamps must be updated when there is time.
    var dirtyFiles: [Node] = []
    /// Watches of the directories above the root.
    var ancestorWatches: [Int32] = []
    /// Whether these watches report the return of a lost root; otherwise the root is polled.
    var isReturnHeard = false
    /// Whether a file system has been mounted or unmounted since the last look at the root.
    var mountsHaveChanged = false
    /// Whether an event has reported another path of the root or a directory above it since the last check.
    var rootHasMoved = false

    private(set) var attributes: Bool
    /// Whether a reduction waits for writers to close their files.
    private(set) var reportsCloses: Bool
    private(set) var exclusion: Exclusion
    /// The parts of the tree that its watchers see, for each watcher that does not see all of it.
    var scopes: [ViewScope] = []
    /// Whether the root need not be there when watching begins.
    let awaitsRoot: Bool
    var now = Instant(wall: 0)
    /// When the kernel's queue was last seen empty, in nanoseconds since 1970: earlier changes have been reported.
    var quietSince: Int64 = 0
    var work: [Work] = []
    var missing: [Node] = []
    /// Directories that were watched and listed since the queue was last drained.
    ///
    /// An earlier rename or removal that is still queued may have made their paths wrong, and one in between may have
    /// made the listing that of another directory.
    var fresh = Recent<Listed>()
    /// The earlier listings of the directories that are being verified.
    var listedBefore: [Node: UInt32] = [:]
    /// Names whose known state may differ from the current one; the machine looks at them when the queue is drained.
    var doubts = Recent<Place>()
    /// How often looks have been postponed since there was nothing left to look at.
    private var postponements = 0
    var epoch: UInt16 = 1
    /// Cookies of moves that were handled with their first half.
    var consumedCookies: [UInt32] = []
    /// Source and target of the last move: if the next move leads back, the two may be an exchange.
    var lastMove: (from: Node, name: [UInt8], to: Node, newName: [UInt8])?
    var probeAnswer: Bool?
    /// The path in question for ``Progress/probe``, from the root.
    var probedPath: [UInt8] = []

    /// Makes a machine for a tree of which nothing is known yet.
    init(root: [UInt8], attributes: Bool = false, reportsCloses: Bool = false, exclude: [String] = [], awaitsRoot: Bool = false, seed: UInt64) {
        index = TreeIndex(seed: seed)
        changes = TreeChangeBuffer(root: root)
        exclusion = Exclusion(exclude)
        self.awaitsRoot = awaitsRoot
        self.attributes = attributes
        self.reportsCloses = reportsCloses
        work = [.checkRoot]
    }

    // MARK: Emitting

    @inline(__always)
    mutating func emit(_ code: TreeChangeRecord.Code, _ node: Node, source: [UInt8]? = nil) {
        if phase == .starting { return }
        changes.append(code, node, in: index, tick: nextTick, time: now.wall, source: source)
        nextTick += 1
    }

    mutating func emit(_ code: TreeChangeRecord.Code, loss: TreeChange.RootLoss = .deleted) {
        changes.append(code, tick: nextTick, time: now.wall, loss: loss)
        nextTick += 1
    }

    /// Reports that an entry has another path.
    ///
    /// If the move brings entries into a watcher's sight or out of it, each entry below a directory is reported too, to
    /// these watchers only.
    mutating func emitMove(_ code: TreeChangeRecord.Code, _ entry: Node, source: [UInt8], isExchange: Bool = false) {
        var below: [Node] = []
        if !scopes.isEmpty, index.isDirectory(entry), phase != .starting {
            let target = path(of: entry)
            if scopes.contains(where: { $0.isCrossed(from: source, to: target) }) { below = index.postorder(entry).dropLast() }
            for node in below { emitBelow(.leaves, node, source + path(of: node)[target.count...], path(of: node)) }
        }
        emit(code, entry, source: source)
        if isExchange, phase != .starting { changes.markExchange() }
        let target = below.isEmpty ? [] : path(of: entry)
        for node in below.reversed() { emitBelow(.enters, node, path(of: node), source + path(of: node)[target.count...]) }
    }

    private mutating func emitBelow(_ code: TreeChangeRecord.Code, _ node: Node, _ path: [UInt8], _ other: [UInt8]) {
        var record = TreeChangeRecord(tick: nextTick, time: now.wall, code: code)
        record.isDirectory = index.isDirectory(node)
        changes.append(record, path: path, source: other)
        nextTick += 1
    }

    /// Begins to report more, for one more watcher.
    ///
    /// - Parameters:
    ///   - attributes: Whether changes of attributes are reported too.
    ///   - reportsCloses: Whether closes are reported too.
    ///   - exclude: What goes on being left out; nil where that stays as it is.
    mutating func widen(attributes: Bool, reportsCloses: Bool, exclude: [String]?) {
        if attributes || exclude != nil, phase == .watching { work.append(.refresh(.root, [.recursive])) }
        self.attributes = self.attributes || attributes
        self.reportsCloses = self.reportsCloses || reportsCloses
        if let exclude { exclusion = Exclusion(exclude) }
    }

    func path(of node: Node) -> [UInt8] {
        var path: [UInt8] = []
        index.appendPath(of: node, to: &path)
        return path
    }

    // MARK: Changes of the tree

    mutating func markDirty(_ node: Node) {
        if index.isDirty(node) { return }
        index.setDirty(node)
        dirtyFiles.append(node)
    }

    /// Adds an entry that an event or a look found.
    mutating func add(_ name: UnsafeRawBufferPointer, in parent: Node, isDirectory: Bool, as code: TreeChangeRecord.Code) {
        if !exclusion.isEmpty, exclusion.excludes(name, isDirectory: isDirectory, in: parent, of: index) { return }
        let node = index.insert(name, in: parent, isDirectory: isDirectory)
        if isDirectory {
            work.append(.refresh(node, [.recursive, .announce]))
        } else {
            dirtyFiles.append(node)
            emit(code, node)
        }
    }

    /// Removes an entry and everything below it, and reports each removal, deepest first.
    mutating func drop(_ node: Node, unwatch: Bool) {
        guard index.hasChildren(node) else {
            dropLeaf(node, unwatch: unwatch)
            return
        }
        for node in index.postorder(node) { dropLeaf(node, unwatch: unwatch) }
    }

    private mutating func dropLeaf(_ node: Node, unwatch: Bool) {
        emit(.removed, node)
        if index.isDirectory(node) {
            if unwatch, let watch = index.watch(of: node) { staleWatches.append(watch) }
            if !incomplete.isEmpty { incomplete[node] = nil }
            changes.forgetPaths()
        }
        index.remove(node)
    }

    /// Watches and lists directories below `node` again under their current paths if an event about their path was
    /// unread at the first time.
    mutating func verifyFresh(below node: Node) {
        // The new listing makes a new note.
        fresh.removeAll { note in
            let directory = note.directory
            guard index.isAlive(directory), index.isDirectory(directory), index.isNode(directory, atOrBelow: node) else { return false }
            if listedBefore.updateValue(note.identity, forKey: directory) == nil { work.append(.refresh(directory, [.verifying])) }
            return true
        }
        for directory in vanished.all where index.isAlive(directory) && index.isDirectory(directory) && index.isNode(directory, atOrBelow: node) {
            work.append(.refresh(directory, [.recursive]))
        }
    }

    // MARK: Instants

    /// Records that events have been read: earlier notes are older than all unread events.
    mutating func noteRead() {
        fresh.beginNext()
        vanished.beginNext()
        doubts.beginNext()
    }

    /// Records that the queue is drained and all events are handled.
    /// - Parameter since: The start time of the read, in nanoseconds since 1970.
    /// - Returns: Whether there is work to do.
    mutating func drained(since: Int64) -> Bool {
        quietSince = since
        epoch &+= 1
        _ = fresh.takeOlder()
        consumedCookies.removeAll(keepingCapacity: true)
        // A directory that was gone before it was watched, and whose removal no event reported, gets one more look.
        for node in vanished.takeOlder() where index.isAlive(node) && index.isDirectory(node) && index.watch(of: node) == nil {
            if let parent = index.parent(of: node) {
                work.append(.check(parent, name: index.withName(of: node) { Array($0) }))
            } else {
                work.append(.checkRoot)
            }
        }
        if doubts.isEmpty { postponements = 0 }
        for place in doubts.takeOlder() { work.append(.check(place.directory, name: place.name)) }
        // Events that are still unread may explain notes from after the last read.
        return !work.isEmpty || !vanished.isEmpty || !doubts.isEmpty
    }

    /// Postpones a look at a name until the queue is drained again; false if it was postponed too often.
    mutating func postpone(_ directory: Node, _ name: [UInt8]) -> Bool {
        postponements += 1
        if postponements > 1_000 { return false }
        doubts.append(Place(directory: directory, name: name))
        return true
    }

    /// Tries again to watch the unwatched directories, and looks for differences there.
    /// - Returns: Whether there is work to do.
    mutating func sweep() -> Bool {
        if case .lost = phase {
            work.append(.checkRoot)
            return true
        }
        for node in incomplete.keys where index.parent(of: node).map({ incomplete[$0] == nil }) ?? true {
            work.append(.refresh(node, [.recursive, .lossy]))
        }
        return !work.isEmpty
    }

    /// Whether a sweep would have work to do.
    var needsSweep: Bool {
        if case .lost = phase { return !isReturnHeard }
        return !incomplete.isEmpty
    }

    /// Returns the next work; nil when all work is done, after reporting the result of a scan.
    mutating func nextWork() -> Work? {
        while let next = work.popLast() {
            if case .refresh(let node, _) = next, !index.isAlive(node) || !index.isDirectory(node) { continue }
            if case .check(let parent, _) = next, !index.isAlive(parent) || !index.isDirectory(parent) { continue }
            return next
        }
        if !listedBefore.isEmpty { listedBefore = [:] }
        for node in missing where index.isAlive(node) && index.isMissing(node) { drop(node, unwatch: true) }
        missing.removeAll()
        switch phase {
        case .starting:
            // The first step may only have checked that the root exists.
            phase = .watching
            wasReady = true
            emit(.ready)
        case .rescanning:
            phase = .watching
            emit(.rescanned)
        case .watching, .lost: break
        }
        return nil
    }
}
