import Glibc

/// Decides which entries of a watched tree to leave out, by shell patterns as in glob(7).
///
/// A pattern without a slash applies to names at any depth. A pattern with a slash applies to the path from the root,
/// and `*` does not match a slash in it. A pattern with a final slash leaves out only directories. Excluded entries are
/// neither reported nor watched.
struct Exclusion: Sendable {
    private struct Pattern {
        var text: [CChar]
        var isPath: Bool
        var directoriesOnly: Bool
    }

    private let patterns: [Pattern]

    init(_ globs: [String]) {
        patterns = globs.map { glob in
            var text = glob.utf8CString.map { $0 }
            let directoriesOnly = glob.utf8.count > 1 && glob.utf8.last == 0x2F
            if directoriesOnly { text.remove(at: text.count - 2) }
            if text.first == 0x2F { text.removeFirst() }
            let isPath = glob.utf8.dropLast(directoriesOnly ? 1 : 0).contains(0x2F)
            return Pattern(text: text, isPath: isPath, directoriesOnly: directoriesOnly)
        }
    }

    var isEmpty: Bool { patterns.isEmpty }
    /// How many names the longest path has that a pattern is compared with; `*` matches no slash.
    var pathDepth: Int {
        patterns.filter(\.isPath).map { 1 + $0.text.count { $0 == 0x2F } }.max() ?? 0
    }

    /// Whether a path from the root is left out, or a directory above it.
    func excludes(_ path: [UInt8], isDirectory: Bool) -> Bool {
        var start = 0
        while start <= path.count {
            let end = path[start...].firstIndex(of: 0x2F) ?? path.count
            let isLast = end == path.count
            let (name, whole) = (Array(path[start..<end]) + [0], Array(path[..<end]) + [0])
            for pattern in patterns where !pattern.directoriesOnly || !isLast || isDirectory {
                if Self.matches(pattern.text, pattern.isPath ? whole : name, pattern.isPath ? FNM_PATHNAME : 0) { return true }
            }
            start = end + 1
        }
        return false
    }

    func excludes(_ name: UnsafeRawBufferPointer, isDirectory: Bool, in parent: TreeIndex.Node, of index: borrowing TreeIndex) -> Bool {
        var path: [UInt8]?
        let name = Array(name) + [0]
        for pattern in patterns where !pattern.directoriesOnly || isDirectory {
            let matches: Bool
            if pattern.isPath {
                if path == nil {
                    var whole: [UInt8] = []
                    index.appendPath(of: parent, to: &whole)
                    if !whole.isEmpty { whole.append(0x2F) }
                    path = whole + name
                }
                matches = Self.matches(pattern.text, path ?? name, FNM_PATHNAME)
            } else {
                matches = Self.matches(pattern.text, name, 0)
            }
            if matches { return true }
        }
        return false
    }

    private static func matches(_ pattern: [CChar], _ text: [UInt8], _ flags: Int32) -> Bool {
        text.withUnsafeBytes { fnmatch(pattern, $0.assumingMemoryBound(to: CChar.self).baseAddress!, flags) == 0 }
    }
}
