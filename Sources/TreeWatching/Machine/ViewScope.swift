/// Which entries of a tree one watcher sees: those below a directory, without what the watcher excludes.
struct ViewScope: Sendable {
    /// The watcher's root, from the tree's; empty where they are one.
    let top: [UInt8]
    private let exclusion: Exclusion

    init(top: [UInt8], exclude: [String]) {
        self.top = top
        exclusion = Exclusion(exclude)
    }

    /// Whether every entry of the tree is seen.
    var isWhole: Bool { top.isEmpty && exclusion.isEmpty }

    /// Whether an entry is seen; the watcher's root itself is none.
    func contains(_ path: [UInt8], isDirectory: Bool) -> Bool {
        if isWhole { return true }
        guard let rest = Self.rest(of: path, below: top) else { return false }
        return exclusion.isEmpty || !exclusion.excludes(rest, isDirectory: isDirectory)
    }

    /// Whether entries come into sight, or get out of it, when a directory moves.
    func isCrossed(from source: [UInt8], to target: [UInt8]) -> Bool {
        if isWhole { return false }
        if !top.isEmpty, [source, target].contains(where: { $0 == top || Self.rest(of: top, below: $0) != nil }) { return true }
        if exclusion.isEmpty { return contains(source, isDirectory: true) != contains(target, isDirectory: true) }
        // A pattern with slashes may mean something below the one path and not below the other.
        let depth = [source, target].map { path in 1 + (Self.rest(of: path, below: top)?.count { $0 == 0x2F } ?? 0) }.min() ?? 0
        return exclusion.pathDepth > depth || contains(source, isDirectory: true) != contains(target, isDirectory: true)
    }

    /// Returns the rest of a path below a directory; nil if the path is not below it.
    private static func rest(of path: [UInt8], below directory: [UInt8]) -> [UInt8]? {
        if directory.isEmpty { return path.isEmpty ? nil : path }
        guard path.count > directory.count + 1, path[directory.count] == 0x2F, path.starts(with: directory) else { return nil }
        return Array(path[(directory.count + 1)...])
    }
}
