internal import CLinux
internal import Glibc
package import SystemPackage

/// A lock on a file, exclusive unless it is said to be shared, held by an open file description, so that it ends with its process (fcntl(2), `F_OFD_SETLK`).
///
/// Closing any other descriptor of the file leaves it held, as does a lock taken by another part of this process.
package final class FileLock: Sendable {
    private let descriptor: Int32

    private init(owning descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Takes the lock, waiting for it; blocks the thread.
    package static func waiting(for file: FilePath) throws(Errno) -> FileLock {
        guard let lock = try take(file, wait: true) else { throw Errno.resourceTemporarilyUnavailable }
        return lock
    }

    /// Takes the lock if it is free; nil where another holds it.
    package static func ifFree(_ file: FilePath) throws(Errno) -> FileLock? {
        try take(file, wait: false)
    }

    /// Takes a lock that others may have too, if nobody has the exclusive one; nil where somebody does.
    package static func sharedIfFree(_ file: FilePath) throws(Errno) -> FileLock? {
        try take(file, wait: false, isExclusive: false)
    }

    private static func take(_ file: FilePath, wait: Bool, isExclusive: Bool = true) throws(Errno) -> FileLock? {
        let descriptor = open(file.string, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        let lock = FileLock(owning: descriptor)
        while clinux_ofd_lock(descriptor, isExclusive ? 1 : 0, wait ? 1 : 0) != 0 {
            let error = Errno(rawValue: errno)
            if error == .interrupted { continue }
            if !wait, error == .resourceTemporarilyUnavailable || error == .permissionDenied { return nil }
            throw error
        }
        return lock
    }
}
