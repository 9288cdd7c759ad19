import SystemPackage

/// Watches a tree's root, and tells whether the directory at its path is still the watched one.
///
/// Only the hub's thread uses it.
struct RootWatch {
    /// What a look at the root's path has found.
    struct Finding {
        /// The entry there; nil if there is none.
        var status: EntryStatus?
        /// Whether it is the watched directory.
        var isSame: Bool
        /// Whether events tell of everything that leads to the return of a missing root.
        var isReturnHeard: Bool
        /// The watches of the directories above the root.
        var ancestors: [Int32]
    }

    /// Whether the root itself may be a symbolic link.
    let followsRoot: Bool
    private let lookout: RootLookout
    /// The root's identity when it was last watched.
    private var identity: UInt64 = 0

    init(root: [UInt8], followsRoot: Bool) {
        self.followsRoot = followsRoot
        lookout = RootLookout(root: root, followsRoot: followsRoot)
    }

    /// Watches the root.
    ///
    /// - Parameters:
    ///   - path: The root's path, ended by a zero byte.
    ///   - mask: The events of every directory of the tree.
    ///   - source: Adds the watch.
    /// - Returns: The watch.
    /// - Throws: The error of the status or the watch.
    mutating func add(_ path: [CChar], mask: UInt32, _ source: any TreeEventSource) throws(Errno) -> Int32 {
        let mask = (mask | RawEvent.Mask.root.rawValue) & ~(followsRoot ? RawEvent.Mask.dontFollow.rawValue : 0)
        identity = try source.status(of: path, followingLinks: followsRoot).identity
        return try source.addWatch(path, mask: mask)
    }

    /// Throws if a link has come to the root's path since the root was watched: the listing followed it.
    func checkListed(_ path: [CChar], _ source: any TreeEventSource) throws(Errno) {
        if !followsRoot, try source.status(of: path, followingLinks: false).identity != identity { throw .notDirectory }
    }

    /// Looks whether the root is at its path, and watches the directories above it.
    ///
    /// - Parameters:
    ///   - source: Adds the watches.
    ///   - former: The earlier watches of these directories.
    ///   - remove: Removes a watch that nothing else uses.
    /// - Returns: What it has found.
    func look(_ source: any TreeEventSource, former: [Int32], remove: (Int32) -> Void) -> Finding {
        var finding = Finding(status: lookout.status(source), isSame: false, isReturnHeard: false, ancestors: former)
        for round in 1... {
            let isLost = finding.status?.isDirectory != true
            finding.ancestors.forEach(remove)
            finding.ancestors = []
            let isHeard = lookout.climb(source, isLost: isLost, watches: &finding.ancestors)
            // A root that appeared between the look and the watch raised no event.
            let again = lookout.status(source)
            let isSteady = again?.isDirectory == finding.status?.isDirectory
            finding.status = again
            finding.isReturnHeard = isHeard && isLost && isSteady && lookout.isReturnHeard(source)
            // One that comes and goes all the time is looked for now and then.
            if isSteady || again?.isDirectory == true || round == RootClimb.most { break }
        }
        finding.isSame = finding.status?.identity == identity
        return finding
    }
}
