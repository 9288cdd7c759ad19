public import SystemPackage

/// An error of watching a tree, with its path and its remedy.
public struct TreeWatchingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: Sendable, Hashable {
        /// There is nothing at the path.
        case notFound
        /// The path is not a directory.
        case notADirectory
        /// Permission is missing.
        case permissionDenied
        /// The user's inotify watches are used up.
        case watchLimit
        /// The user's inotify instances are used up.
        case instanceLimit
        /// The process or the system has no descriptors left.
        case descriptorLimit
        /// The changes since that tick are no longer remembered.
        case forgotten
        /// The event source failed or its helper program ended.
        case sourceFailed
        /// The watcher is closed.
        case closed
        /// The task was cancelled.
        case cancelled
        /// An option is malformed.
        case invalidOption
        /// Another system error.
        case system
    }

    /// The kind of failure.
    public let code: Code
    /// The failure, its path, and the remedy.
    public let message: String
    /// The system's error, if there is one.
    public let cause: Errno?
    /// The path that the error concerns.
    public let path: FilePath?

    /// Makes an error from its parts.
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: The failure, its path, and the remedy.
    ///   - cause: The system's error, if there is one.
    ///   - path: The path that the error concerns.
    public init(_ code: Code, _ message: String, cause: Errno? = nil, path: FilePath? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
        self.path = path
    }

    /// The message.
    public var description: String { message }
}

extension TreeWatchingError {
    /// Returns the error of opening a root, from open(2) and inotify_add_watch(2).
    static func root(_ path: FilePath, _ errno: Errno) -> TreeWatchingError {
        switch errno {
        case .noSuchFileOrDirectory:
            .init(.notFound, "cannot watch \(path): there is nothing at this path; create the directory first", cause: errno, path: path)
        case .notDirectory:
            .init(.notADirectory, "cannot watch \(path): it is not a directory; give the directory that holds it", cause: errno, path: path)
        case .permissionDenied, .notPermitted:
            .init(
                .permissionDenied, "cannot watch \(path): permission denied; make it readable (r and x) for this user", cause: errno, path: path)
        default: subtree(path, errno)
        }
    }

    /// Returns the error of inotify_add_watch(2) and getdents64(2) for an existing directory.
    static func subtree(_ path: FilePath, _ errno: Errno) -> TreeWatchingError {
        switch errno {
        case .permissionDenied, .notPermitted:
            .init(
                .permissionDenied, "cannot watch \(path): permission denied; it is tried again, make it readable (r and x) for this user",
                cause: errno, path: path)
        case .noSpace:
            .init(
                .watchLimit,
                "cannot watch \(path) and everything below it: the limit of inotify watches is reached; the watcher sweeps it for changes instead; raise it: sysctl fs.inotify.max_user_watches=524288",
                cause: errno, path: path)
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem:
            .init(
                .descriptorLimit, "cannot list \(path): no file descriptors left; it is tried again, raise the limit (ulimit -n)", cause: errno,
                path: path)
        default: .init(.system, "cannot watch \(path): \(errno)", cause: errno, path: path)
        }
    }

    /// Returns the error of inotify_init1(2).
    static func instance(_ errno: Errno) -> TreeWatchingError {
        switch errno {
        case .tooManyOpenFiles:
            .init(
                .instanceLimit,
                "cannot start watching: the limit of inotify instances or of descriptors is reached; raise it: sysctl fs.inotify.max_user_instances=1024, ulimit -n",
                cause: errno)
        case .tooManyOpenFilesInSystem:
            .init(.descriptorLimit, "cannot start watching: the system has no file descriptors left; raise fs.file-max", cause: errno)
        default: .init(.system, "cannot start watching: \(errno)", cause: errno)
        }
    }
}
