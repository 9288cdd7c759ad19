import SystemPackage

/// Claims and presenters by path, with one node for each path component.
///
/// Empty nodes are kept for reuse and swept when there are too many. Repeated claims of one path cost lookups only.
struct PathTrie: Sendable {
    /// A node's number; it stays valid while a claim or presenter is at the node or below it.
    typealias Place = Int

    /// A claim at a node.
    struct Standing: Sendable {
        let claim: ClaimID
        let writes: Bool
        let coversDescendants: Bool
    }

    private struct Node: Sendable {
        let parent: Place
        let name: FilePath.Component?
        var children: [FilePath.Component: Place] = [:]
        var claims: [Standing] = []
        var presenters: [PresenterID] = []

        var isIdle: Bool { claims.isEmpty && presenters.isEmpty && children.isEmpty }
    }

    static let root: Place = 0
    /// The number of empty leaves that may stay before they are swept.
    static let idleLimit = 1024

    private var nodes = [Node(parent: root, name: nil)]
    private var free: [Place] = []
    private var idle = 0
    /// The node that was looked for last: a process often claims one path again and again.
    private var last: (path: FilePath, depth: Int, place: Place)?
    /// The number of claims that cover everything below their node.
    private var covering = 0
    private(set) var presenterCount = 0

    // MARK: Places

    /// Returns the node of the first `depth` components of a path, and creates it if needed.
    private mutating func place(of path: FilePath, depth: Int) -> Place {
        if let last, last.depth == depth, last.path == path { return last.place }
        var here = Self.root
        for name in path.components.prefix(depth) {
            if let next = nodes[here].children[name] {
                here = next
                continue
            }
            if here != Self.root, nodes[here].isIdle { idle -= 1 }
            let node = Node(parent: here, name: name)
            let next: Place
            if let reused = free.popLast() {
                nodes[reused] = node
                next = reused
            } else {
                nodes.append(node)
                next = nodes.count - 1
            }
            nodes[here].children[name] = next
            here = next
            idle += 1
        }
        last = (path, depth, here)
        return here
    }

    /// Returns the node of a path, if there is one.
    private func find(_ path: FilePath) -> Place? {
        var here = Self.root
        for name in path.components {
            guard let next = nodes[here].children[name] else { return nil }
            here = next
        }
        return here
    }

    private mutating func settleIdle(_ place: Place) {
        guard place != Self.root, nodes[place].isIdle else { return }
        idle += 1
        if idle > Self.idleLimit { sweep() }
    }

    private mutating func sweep() {
        var leaves = nodes.indices.filter { $0 != Self.root && nodes[$0].name != nil && nodes[$0].isIdle }
        while let leaf = leaves.popLast() {
            guard leaf != Self.root, nodes[leaf].isIdle, let name = nodes[leaf].name else { continue }
            let parent = nodes[leaf].parent
            nodes[parent].children[name] = nil
            nodes[leaf] = Node(parent: Self.root, name: nil)
            free.append(leaf)
            leaves.append(parent)
        }
        idle = 0
        last = nil
    }

    /// The number of nodes in use, including empty ones.
    var nodeCount: Int { nodes.count - free.count }

    // MARK: Claims

    mutating func stand(_ claim: ClaimID, on item: ClaimItem) -> Place {
        let place = place(of: item.path, depth: item.lockDepth)
        if place != Self.root, nodes[place].isIdle { idle -= 1 }
        nodes[place].claims.append(
            Standing(claim: claim, writes: item.access.writes, coversDescendants: item.access.coversDescendants))
        if item.access.coversDescendants { covering += 1 }
        return place
    }

    mutating func leave(_ claim: ClaimID, _ item: ClaimItem, at place: Place) {
        guard
            let index = nodes[place].claims.firstIndex(where: {
                $0.claim == claim && $0.writes == item.access.writes && $0.coversDescendants == item.access.coversDescendants
            })
        else { preconditionFailure("\(claim) does not stand on \(item.path)") }
        nodes[place].claims.remove(at: index)
        if item.access.coversDescendants { covering -= 1 }
        settleIdle(place)
    }

    /// Visits the claims that would conflict with an item if they had another purpose, latest first within a node.
    ///
    /// - Parameters:
    ///   - place: the node of the item.
    ///   - access: the kind of access.
    ///   - body: returns false to end the visit.
    func visitRivals(at place: Place, access: Access, _ body: (ClaimID) -> Bool) {
        func visit(_ place: Place, coveringOnly: Bool) -> Bool {
            for standing in nodes[place].claims.reversed()
            where (access.writes || standing.writes) && (!coveringOnly || standing.coversDescendants) {
                guard body(standing.claim) else { return false }
            }
            return true
        }
        guard visit(place, coveringOnly: false) else { return }
        if covering > 0 {
            var here = place
            while here != Self.root {
                here = nodes[here].parent
                guard visit(here, coveringOnly: true) else { return }
            }
        }
        guard access.coversDescendants else { return }
        var below = Array(nodes[place].children.values)
        while let next = below.popLast() {
            guard visit(next, coveringOnly: false) else { return }
            below.append(contentsOf: nodes[next].children.values)
        }
    }

    /// Returns the claims at the node of a path or above it.
    func claims(covering path: FilePath) -> [ClaimID] {
        var here = Self.root
        var found = nodes[here].claims.map(\.claim)
        for name in path.components {
            guard let next = nodes[here].children[name] else { break }
            here = next
            found += nodes[here].claims.map(\.claim)
        }
        return found
    }

    // MARK: Presenters

    mutating func stand(_ presenter: PresenterID, at path: FilePath) {
        let place = place(of: path, depth: .max)
        if place != Self.root, nodes[place].isIdle { idle -= 1 }
        nodes[place].presenters.append(presenter)
        presenterCount += 1
    }

    mutating func leave(_ presenter: PresenterID, at path: FilePath) {
        guard let place = find(path), let index = nodes[place].presenters.firstIndex(of: presenter) else {
            preconditionFailure("\(presenter) does not stand at \(path)")
        }
        nodes[place].presenters.remove(at: index)
        presenterCount -= 1
        settleIdle(place)
    }

    /// Returns the presenters around an item, as ``presenters(at:)`` does, starting at the node of a claim on the item.
    func presenters(of item: ClaimItem, at place: Place?) -> (enclosing: [(depth: Int, presenter: PresenterID)], item: [PresenterID]) {
        // The node belongs to the item itself only if no package around the item is locked instead.
        guard presenterCount > 0 else { return ([], []) }
        guard let place, item.packageDepths.isEmpty else { return presenters(at: item.path) }
        var enclosing: [(depth: Int, presenter: PresenterID)] = []
        var here = place
        while here != Self.root {
            here = nodes[here].parent
            // Only packages need depths.
            for presenter in nodes[here].presenters { enclosing.append((-1, presenter)) }
        }
        enclosing.reverse()
        return (enclosing, nodes[place].presenters)
    }

    /// Returns the presenters of a path and of the directories above it, outermost first, each with its depth in
    /// components.
    func presenters(at path: FilePath) -> (enclosing: [(depth: Int, presenter: PresenterID)], item: [PresenterID]) {
        guard presenterCount > 0 else { return ([], []) }
        var enclosing: [(depth: Int, presenter: PresenterID)] = []
        var here = Self.root
        var depth = 0
        for name in path.components {
            enclosing += nodes[here].presenters.map { (depth, $0) }
            guard let next = nodes[here].children[name] else { return (enclosing, []) }
            here = next
            depth += 1
        }
        return (enclosing, nodes[here].presenters)
    }

    /// Returns whether any presenter at a path, above it or below it meets a condition.
    func hasPresenters(around path: FilePath, where condition: (PresenterID) -> Bool) -> Bool {
        let (enclosing, item) = presenters(at: path)
        return enclosing.contains { condition($0.presenter) } || item.contains(where: condition) || presenters(below: path).contains(where: condition)
    }

    /// Returns the presenters of all items below a path, in the order of their paths.
    func presenters(below path: FilePath) -> [PresenterID] {
        guard presenterCount > 0, let place = find(path) else { return [] }
        var found: [PresenterID] = []
        func descend(_ place: Place) {
            let children = nodes[place].children
            for name in children.keys.sorted(by: { $0.string < $1.string }) {
                guard let child = children[name] else { continue }
                found += nodes[child].presenters
                descend(child)
            }
        }
        descend(place)
        return found
    }
}
