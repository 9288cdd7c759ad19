internal import CLinux
internal import Glibc
package import SystemPackage

/// A lock on a file, exclusive by default; an open file description holds it, so it ends with its process (fcntl(2),
/// `F_OFD_SETLK`).
///
/// The lock stays held when another descriptor of the file is closed, or when another part of this process takes a
/// lock.
package final class FileLock: Sendable {
    private let descriptor: Int32
    private let file: FilePath

    private init(owning descriptor: Int32, of file: FilePath) { (self.descriptor, self.file) = (descriptor, file) }

    deinit {
        // A process that another thread starts has a copy of the descriptor until it runs its program. It would hold the
        // lock.
        _ = clinux_ofd_unlock(descriptor)
        close(descriptor)
    }

    /// Whether the file has been removed or replaced, so that another process can lock the one at its path.
    package var isReplaced: Bool {
        var (held, there) = (stat(), stat())
        guard fstat(descriptor, &held) == 0 else { return false }
        guard lstat(file.string, &there) == 0 else { return errno == ENOENT || errno == ENOTDIR }
        return held.st_ino != there.st_ino || held.st_dev != there.st_dev
    }

    /// Waits for the lock and takes it; blocks the thread.
    package static func waiting(for file: FilePath) throws(Errno) -> FileLock {
        guard let lock = try take(file, wait: true) else { throw Errno.resourceTemporarilyUnavailable }
        return lock
    }

    /// Takes the lock if it is free; nil otherwise.
    package static func ifFree(_ file: FilePath) throws(Errno) -> FileLock? {
        try take(file, wait: false)
    }

    /// Takes a shared lock if no exclusive lock exists; nil otherwise.
    package static func sharedIfFree(_ file: FilePath) throws(Errno) -> FileLock? {
        try take(file, wait: false, isExclusive: false)
    }

    private static func take(_ file: FilePath, wait: Bool, isExclusive: Bool = true) throws(Errno) -> FileLock? {
        let descriptor = open(file.string, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        let lock = FileLock(owning: descriptor, of: file)
        while clinux_ofd_lock(descriptor, isExclusive ? 1 : 0, wait ? 1 : 0) != 0 {
            let error = Errno(rawValue: errno)
            if error == .interrupted { continue }
            if !wait, error == .resourceTemporarilyUnavailable || error == .permissionDenied { return nil }
            throw error
        }
        return lock
    }
}
