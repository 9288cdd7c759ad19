import SystemPackage

/// The state of one watched tree: raw events, scan results and instants in; changes, and work for whoever has a file system, out.
///
/// Pure: no I/O, no clock. The runner calls ``receive(_:from:at:givingUp:)`` with raw events; where it answers ``Progress/work``, the runner performs
/// ``nextWork()`` until there is none and answers each piece. What changed collects in ``changes``.
struct TreeStateMachine {
    typealias Node = TreeIndex.Node

    /// Where the tree stands.
    enum Phase: Equatable {
        /// The first scan is under way; nothing is reported.
        case starting
        /// The tree is watched.
        case watching
        /// Events were lost; a rescan reports the differences.
        case rescanning
        /// The root is not at its path.
        case lost(TreeChange.RootLoss)
    }

    /// How far ``receive(_:from:at:givingUp:)`` came.
    enum Progress: Equatable {
        /// All events are taken in.
        case done
        /// There is work to do before the next event.
        case work
        /// Half of a move has no partner in sight; more events, or patience, are needed.
        case stalled
        /// The caller is to say, by ``answer(exists:)``, whether something stands at ``probedPath``.
        case probe
    }

    /// What the runner is to do.
    enum Work: Equatable {
        /// Watch the directory and list it.
        case refresh(Node, RefreshMode)
        /// Look at one entry.
        case check(Node, name: [UInt8])
        /// See whether the root is at its path, and watch its ancestors.
        case checkRoot
    }

    /// A name in a directory.
    struct Place {
        var directory: Node
        var name: [UInt8]
    }

    /// A directory that was listed, and which one that was: ``DirectoryListing/identity``.
    struct Listed {
        var directory: Node
        var identity: UInt32
    }

    struct RefreshMode: OptionSet, Sendable {
        let rawValue: UInt8
        init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Known directories below are refreshed too; new ones always are.
        static let recursive = RefreshMode(rawValue: 1)
        /// The directory has not been reported yet.
        static let announce = RefreshMode(rawValue: 2)
        /// Differences are reported, because no event will tell them.
        static let lossy = RefreshMode(rawValue: 4)
        /// What was listed before may have been another directory; if so, what does not stand here is taken back.
        static let verifying = RefreshMode(rawValue: 8)
        /// The modes that compare what is known with what is there.
        static let comparing: RefreshMode = [.lossy, .verifying]
    }

    /// What to do after a watch was added, or not.
    enum AfterWatch: Equatable {
        case list(RefreshMode)
        /// The same watch is known for another directory: add a watch there too, and give the answer to ``verified(_:_:known:_:mode:)``.
        case verify(Node, watch: Int32)
        case skip
    }

    /// The instant of an input.
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
    /// Watches that no node needs any more.
    var staleWatches: [Int32] = []
    /// Directories that are not watched or not listed, and why.
    var incomplete: [Node: Errno] = [:]
    /// Directories that were gone when they were to be watched; tried again when the queue is drained.
    var vanished = Recent<Node>()
    /// What went wrong since it was last asked.
    var diagnostics: [TreeWatchingError] = []
    /// Files whose stamps are to be taken when there is time.
    var dirtyFiles: [Node] = []
    /// Watches of the directories above the root.
    var ancestorWatches: [Int32] = []
    /// Whether these tell when a root that is lost comes back; else it is looked for now and then.
    var isReturnHeard = false
    /// Whether a file system has been mounted or unmounted since the root was looked at last.
    var mountsHaveChanged = false
    /// Whether the root, or a directory above it, has been told to have another path since the root was checked.
    var rootHasMoved = false

    private(set) var attributes: Bool
    /// Whether a reduction waits for writers to close their files.
    private(set) var reportsCloses: Bool
    private(set) var exclusion: Exclusion
    /// What the watchers see that share the tree, where that is not all of it.
    var scopes: [ViewScope] = []
    /// Whether the root need not be there when watching begins.
    let awaitsRoot: Bool
    var now = Instant(wall: 0)
    /// When the kernel's queue was last seen empty, nanoseconds since 1970: what happened before has been reported.
    var quietSince: Int64 = 0
    var work: [Work] = []
    var missing: [Node] = []
    /// Directories watched and listed since the queue was last drained.
    ///
    /// A rename or removal that was queued before that may have led their paths astray, and one in between may have made the listing another directory's.
    var fresh = Recent<Listed>()
    /// What the directories that are being verified were listed as before.
    var listedBefore: [Node: UInt32] = [:]
    /// Names at which what is known may differ from what is there; looked at when the queue is drained.
    var doubts = Recent<Place>()
    /// How often looks were put off since there was nothing left to look at.
    private var postponements = 0
    var epoch: UInt16 = 1
    /// Cookies of moves that were taken in with their first half.
    var consumedCookies: [UInt32] = []
    /// Where the last move led from and to: if the next leads back, the two may be an exchange.
    var lastMove: (from: Node, name: [UInt8], to: Node, newName: [UInt8])?
    var probeAnswer: Bool?
    /// What ``Progress/probe`` asks about, from the root.
    var probedPath: [UInt8] = []

    /// A machine for a tree of which nothing is known yet.
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
    /// Where the move brings entries into a watcher's sight or out of it, each entry below a directory is told too, for these watchers only.
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

    // MARK: Changing the tree

    mutating func markDirty(_ node: Node) {
        if index.isDirty(node) { return }
        index.setDirty(node)
        dirtyFiles.append(node)
    }

    /// Adds an entry that an event or a look told of.
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

    /// Removes an entry and what is below it, and reports each, the deepest first.
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

    /// Directories below `node` that were watched and listed while an event about their path was still unread are so again under the path they have now.
    mutating func verifyFresh(below node: Node) {
        // Listing them again notes them again.
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

    /// Events have been read: what was noted before is older than whatever is still to be read.
    mutating func noteRead() {
        fresh.beginNext()
        vanished.beginNext()
        doubts.beginNext()
    }

    /// The queue is drained and everything read is taken in.
    /// - Parameter since: When reading it began, nanoseconds since 1970.
    /// - Returns: Whether there is work to do.
    mutating func drained(since: Int64) -> Bool {
        quietSince = since
        epoch &+= 1
        _ = fresh.takeOlder()
        consumedCookies.removeAll(keepingCapacity: true)
        // What was gone when it was to be watched, and whose removal no event has told, is looked at once more.
        for node in vanished.takeOlder() where index.isAlive(node) && index.isDirectory(node) && index.watch(of: node) == nil {
            if let parent = index.parent(of: node) {
                work.append(.check(parent, name: index.withName(of: node) { Array($0) }))
            } else {
                work.append(.checkRoot)
            }
        }
        if doubts.isEmpty { postponements = 0 }
        for place in doubts.takeOlder() { work.append(.check(place.directory, name: place.name)) }
        // What was noted after the last read may be explained by events that are still to be read.
        return !work.isEmpty || !vanished.isEmpty || !doubts.isEmpty
    }

    /// Puts a look at a name off until the queue is drained again; false where that has been done too often.
    mutating func postpone(_ directory: Node, _ name: [UInt8]) -> Bool {
        postponements += 1
        if postponements > 1_000 { return false }
        doubts.append(Place(directory: directory, name: name))
        return true
    }

    /// Tries what is not watched once more, and looks for differences there.
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

    /// Whether a sweep would have anything to do.
    var needsSweep: Bool {
        if case .lost = phase { return !isReturnHeard }
        return !incomplete.isEmpty
    }

    /// The next thing to do; nil when all is done, and then what a scan was for is reported.
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
            // The first step may only have been to see that the root is there.
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
