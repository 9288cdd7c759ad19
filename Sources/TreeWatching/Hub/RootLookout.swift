import SystemPackage

/// Looks for a root at its path, and watches the directories above it.
///
/// It watches each directory for its own end, and, while the root is missing, the lowest existing one for new entries.
struct RootLookout {
    private let root: [UInt8]
    private let followsRoot: Bool
    /// Where the path of the directory at each depth ends, the root's own last.
    private let ends: [Int]

    init(root: [UInt8], followsRoot: Bool) {
        self.root = root
        self.followsRoot = followsRoot
        ends = root.count > 1 ? [1] + root.indices.dropFirst().filter { root[$0] == 0x2F } + [root.count] : [1]
    }

    private func path(_ depth: Int) -> [CChar] { root[..<ends[depth]].map { CChar(bitPattern: $0) } + [0] }

    /// Returns the state of the entry at the root's path; nil if there is none or it may not be examined.
    func status(_ source: any TreeEventSource) -> EntryStatus? {
        try? source.status(of: path(ends.count - 1), followingLinks: followsRoot)
    }

    /// Watches each existing directory above the root.
    ///
    /// - Parameters:
    ///   - source: Adds the watches.
    ///   - isLost: Whether the lowest directory that exists is to tell of what comes into it.
    ///   - watches: Gets the watches.
    /// - Returns: Whether an event tells of everything that leads to the root's return.
    func climb(_ source: any TreeEventSource, isLost: Bool, watches: inout [Int32]) -> Bool {
        var climb = RootClimb(depth: ends.count - 1, isLost: isLost)
        while true {
            switch climb.step {
            case .watch(let depth, let forEntries):
                var mask: RawEvent.Mask = [.moveSelf, .deleteSelf, .onlyDirectory, .add]
                if forEntries { mask.formUnion([.create, .movedTo]) }
                climb.watched(watch(path(depth), mask, source, isLost: isLost, &watches))
            case .look(let depth): climb.looked(found(at: depth, source))
            case .done(let isHeard): return isHeard
            }
        }
    }

    private func watch(
        _ ancestor: [CChar], _ mask: RawEvent.Mask, _ source: any TreeEventSource, isLost: Bool, _ watches: inout [Int32]
    ) -> RootClimb.Watched {
        do throws(Errno) {
            let watch = try source.addWatch(ancestor, mask: mask.rawValue)
            if !watches.contains(watch) { watches.append(watch) }
            if !isLost { return .directory }
            return try source.status(of: ancestor, followingLinks: false).isDirectory ? .directory : .linked
        } catch {
            return Self.isMissing(error) ? .missing : .refused
        }
    }

    /// Returns whether events in the root's directory report its return.
    ///
    /// They do not if a link leads elsewhere, or the directory may not be searched.
    func isReturnHeard(_ source: any TreeEventSource) -> Bool {
        switch found(at: ends.count - 1, source) {
        case .nothing, .file: true
        // A link that is not followed blocks the place like a file. Another link's target may change where nothing is
        // watched.
        case .link: !followsRoot
        case .directory, .hidden: false
        }
    }

    private func found(at depth: Int, _ source: any TreeEventSource) -> RootClimb.Found {
        do throws(Errno) {
            let status = try source.status(of: path(depth), followingLinks: false)
            if status.isDirectory { return .directory }
            // Only a link leads elsewhere, or nowhere.
            let target = try? source.status(of: path(depth), followingLinks: true)
            return target?.identity == status.identity ? .file : .link
        } catch {
            return Self.isMissing(error) ? .nothing : .hidden
        }
    }

    private static func isMissing(_ error: Errno) -> Bool { error == .noSuchFileOrDirectory || error == .notDirectory }
}
