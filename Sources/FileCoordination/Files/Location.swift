import CLinux
import Foundation
import Glibc
import SystemPackage

/// A file URL with its canonical path.
///
/// Directories above the item contain no symbolic links, so two spellings of one place match; the item itself may be a
/// link. A moved path is converted back to the caller's spelling.
struct Location: Sendable {
    let url: URL
    /// The absolute path, without symbolic links except in the last component.
    let path: FilePath
    /// The path in the URL's spelling.
    private let spelled: FilePath

    /// Finds the canonical path of a URL.
    ///
    /// - Throws: `unusableURL` when the URL is not a file URL or names no path, `fileSystem` when a directory above it
    ///   cannot be searched. A missing item or missing directories above it are no error.
    init(_ url: URL) throws(FileCoordinationError) {
        guard url.isFileURL, let spelled = FilePath(fileURL: url) else {
            throw FileCoordinationError(
                .unusableURL, "Cannot coordinate \(url.absoluteString): it is not a file URL with a path. Make one with URL(filePath:).")
        }
        self.url = url
        self.spelled = spelled
        path = try spelled.canonicalParent()
    }

    /// Returns the URL of a path in the spelling of this URL.
    ///
    /// - Returns: nil when the path is not UTF-8, so that no URL can represent it.
    func url(of path: FilePath) -> URL? {
        if path == self.path { return url }
        return URL(filePath: Spelling(spelled: spelled.lexicallyNormalized(), canonical: self.path).spelled(path))
    }
}

/// The caller's spelling of the canonical directories.
private struct Spelling: Sendable {
    private var spelled: FilePath
    private var canonical: FilePath

    /// Keeps the two paths without their common end.
    init(spelled: FilePath, canonical: FilePath) {
        self.spelled = spelled
        self.canonical = canonical
        while let component = self.spelled.lastComponent, component == self.canonical.lastComponent {
            self.spelled.removeLastComponent()
            self.canonical.removeLastComponent()
        }
    }

    func spelled(_ path: FilePath) -> FilePath { path.moved(from: canonical, to: spelled) ?? path }
}

extension FilePath {
    /// Makes the absolute path of a file URL; nil if there is none.
    init?(fileURL: URL) {
        let path = fileURL.withUnsafeFileSystemRepresentation { $0.map { FilePath(platformString: $0) } }
        guard let path, path.isAbsolute else { return nil }
        self = path
    }

    /// Returns the path with every symbolic link resolved except the last component.
    ///
    /// - Throws: `fileSystem` when a directory cannot be searched; see realpath(3).
    func canonicalParent() throws(FileCoordinationError) -> FilePath {
        hasCanonicalParent ? self : try resolvingParent()
    }

    /// Whether nothing must be resolved, as for most paths; two system calls tell.
    private var hasCanonicalParent: Bool {
        withPlatformString { path in
            guard let last = strrchr(path, CInt(UInt8(ascii: "/"))), last != path, strcmp(last, "/.") != 0, strcmp(last, "/..") != 0 else {
                return false
            }
            let count = UnsafePointer(last) - path + 1
            guard count < Int(PATH_MAX) else { return false }
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { parent in
                guard let parent = parent.baseAddress else { return false }
                memcpy(parent, path, count)
                parent[count] = 0
                guard strstr(parent, "//") == nil, strstr(parent, "/./") == nil, strstr(parent, "/../") == nil else { return false }
                return clinux_is_directory_without_links(parent) != 0
            }
        }
    }

    private func resolvingParent() throws(FileCoordinationError) -> FilePath {
        var missing: [Component] = []
        var rest = self
        if case .parentDirectory? = lastComponent?.kind {
        } else if let last = rest.lastComponent {
            missing.append(last)
            rest.removeLastComponent()
        }
        while true {
            switch rest.realPath() {
            case .success(let real): return real.appending(missing.reversed())
            case .failure(.noSuchFileOrDirectory):
                guard let last = rest.lastComponent else { return self }
                missing.append(last)
                rest.removeLastComponent()
            case .failure(let errno):
                throw FileCoordinationError(
                    .fileSystem, "Cannot coordinate \(self): \(rest) cannot be looked up. Check the directories above it.",
                    path: self, cause: errno)
            }
        }
    }

    /// Returns the result of realpath(3).
    func realPath() -> Result<FilePath, Errno> {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            withPlatformString { path in
                guard realpath(path, buffer.baseAddress) != nil, let start = buffer.baseAddress else {
                    return .failure(Errno(rawValue: errno))
                }
                return .success(FilePath(platformString: start))
            }
        }
    }

    /// Whether an item exists here, including a dangling link; see lstat(2).
    var existsWithoutFollowing: Bool {
        var status = Glibc.stat()
        return withPlatformString { lstat($0, &status) } == 0
    }

    /// Whether a directory exists here; see lstat(2).
    var isDirectoryWithoutFollowing: Bool {
        var status = Glibc.stat()
        guard withPlatformString({ lstat($0, &status) }) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR
    }
}

extension URL {
    /// Makes a file URL; nil when the path is not UTF-8, because no URL can represent it.
    init?(filePath path: FilePath) {
        guard let string = String(validating: path) else { return nil }
        self = URL(fileURLWithPath: string, isDirectory: false)
    }
}
