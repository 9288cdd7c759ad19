internal import Synchronization
public import SystemPackage

/// The rule that tells which directories are *file packages*: directories that people and coordination treat as one
/// item.
///
/// All processes that coordinate the same files must use the same rule.
public struct FilePackages: Sendable {
    /// Path extensions, without the dot, in lower case.
    public var extensions: Set<String>
    /// Recognises further packages by their path; nil if there are none.
    ///
    /// It is called for every directory above each claimed item, so it must be quick, and always return the same result
    /// for a path.
    public var predicate: (@Sendable (FilePath) -> Bool)?

    /// Makes a rule.
    ///
    /// - Parameters:
    ///   - extensions: path extensions without the dot; case does not matter.
    ///   - predicate: recognises further packages by their path.
    public init(extensions: Set<String> = FilePackages.standardExtensions, predicate: (@Sendable (FilePath) -> Bool)? = nil) {
        self.extensions = Set(extensions.map { $0.lowercased() })
        self.predicate = predicate
    }

    /// The extensions of document packages that are in common use.
    public static let standardExtensions: Set<String> = [
        "app", "band", "bundle", "download", "framework", "graffle", "key", "logicx", "numbers", "pages", "photoslibrary", "playground",
        "plugin", "rtfd", "sparsebundle", "textbundle", "xcodeproj", "xcworkspace",
    ]

    /// Returns whether a directory at this path is a package.
    package func contains(_ path: FilePath) -> Bool {
        let isNamedSo = path.extension.map { extensions.contains($0.lowercased()) } ?? false
        guard isNamedSo || predicate?(path) ?? false else { return false }
        return !Self.containers.withLock { $0.contains(path) }
    }

    /// Declares directories as containers, which are never packages, although a name such as `org.example.app` looks
    /// like one.
    package static func addContainers(_ paths: [FilePath]) { containers.withLock { $0.formUnion(paths) } }

    private static let containers = Mutex<Set<FilePath>>([])

    /// Returns the directories above a path that are packages, as numbers of components, outermost first.
    package func depths(above path: FilePath) -> [Int] {
        // Almost no directory has a dot in its name. Without a dot or a predicate, there is no package.
        guard predicate != nil || path.hasDotAboveLast else { return [] }
        var directory = path.removingLastComponent()
        var depths: [Int] = []
        while !directory.components.isEmpty {
            if contains(directory) { depths.append(directory.components.count) }
            directory.removeLastComponent()
        }
        return depths.reversed()
    }
}

extension FilePath {
    /// Whether a directory above the last component has a name with an extension.
    fileprivate var hasDotAboveLast: Bool {
        withPlatformString { path in
            var isDotSeen = false
            var before = UInt8(ascii: "/")
            var next = path
            while next.pointee != 0 {
                let byte = UInt8(bitPattern: next.pointee)
                if byte == UInt8(ascii: "."), before != UInt8(ascii: "/") { isDotSeen = true }
                if byte == UInt8(ascii: "/"), isDotSeen { return true }
                before = byte
                next += 1
            }
            return false
        }
    }
}
