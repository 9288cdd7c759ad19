import CLinux
import Glibc
import Synchronization
public import SystemPackage

/// The kernel's inotify(7), with one instance.
///
/// Its descriptor blocks, so that the hub can wait in read(2), as a plain loop does: this saves poll(2) between a
/// change and its reader. FIONREAD tells whether a read would wait; only the hub's thread reads.
final class KernelSource: BlockingEventSource {
    let descriptor: CInt
    /// A watched file that never changes: ending its watch raises `IN_IGNORED`, which ends a waiting read.
    private let bell: CInt
    private let bellWatch = Atomic<Int32>(-1)

    init() throws(TreeWatchingError) {
        descriptor = inotify_init1(Int32(IN_CLOEXEC))
        if descriptor < 0 { throw .instance(Errno(rawValue: errno)) }
        bell = clinux_memory_file("tree-watching")
    }

    func prepareToWait() -> Bool {
        if bellWatch.load(ordering: .acquiring) >= 0 { return true }
        if bell < 0 { return false }
        let watch = inotify_add_watch(descriptor, "/proc/self/fd/\(bell)", RawEvent.Mask.modify.rawValue)
        bellWatch.store(watch, ordering: .releasing)
        return watch >= 0
    }

    func interrupt() {
        let watch = bellWatch.exchange(-1, ordering: .acquiringAndReleasing)
        if watch >= 0 { inotify_rm_watch(descriptor, watch) }
    }

    func waitAndRead(into buffer: UnsafeMutableRawBufferPointer) -> Int { max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count)) }

    func addWatch(_ path: UnsafePointer<CChar>, mask: UInt32) throws(Errno) -> Int32 {
        let watch = inotify_add_watch(descriptor, path, mask)
        if watch >= 0 { return watch }
        let error = Errno(rawValue: errno)
        if error != .fileNameTooLong { throw error }
        return try LongPath.withDescriptor(path, O_PATH | O_DIRECTORY | O_NOFOLLOW) { (fd) throws(Errno) in
            let watch = inotify_add_watch(descriptor, "/proc/self/fd/\(fd)", mask & ~RawEvent.Mask.dontFollow.rawValue)
            if watch < 0 { throw Errno(rawValue: errno) }
            return watch
        }
    }

    func removeWatch(_ watch: Int32) -> Bool { inotify_rm_watch(descriptor, watch) == 0 }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TreeWatchingError) -> Int {
        while clinux_readable_bytes(descriptor) != 0 {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            if errno != EINTR { throw TreeWatchingError(.sourceFailed, "reading inotify events failed", cause: Errno(rawValue: errno)) }
        }
        return 0
    }

    func synchronise() {}

    func list(_ path: UnsafePointer<CChar>, into listing: inout DirectoryListing, pause: () -> Void) throws(Errno) {
        try FileSystem.list(path, into: &listing, pause: pause)
    }

    func status(of path: UnsafePointer<CChar>, followingLinks: Bool) throws(Errno) -> EntryStatus {
        try FileSystem.status(of: path, followingLinks: followingLinks)
    }

    func close() {
        _ = Glibc.close(descriptor)
        if bell >= 0 { _ = Glibc.close(bell) }
    }
}

/// Lists and inspects entries, for sources whose directories are in the file system.
public enum FileSystem {
    /// Lists a directory, as ``TreeEventSource/list(_:into:pause:)`` describes.
    /// - Parameters:
    ///   - path: The directory's path, ended by a zero byte.
    ///   - listing: Receives the entries.
    ///   - pause: Called between chunks.
    /// - Throws: The error of open(2) or getdents64(2).
    public static func list(_ path: UnsafePointer<CChar>, into listing: inout DirectoryListing, pause: () -> Void) throws(Errno) {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        var fd = open(path, flags | O_NOFOLLOW)
        if fd < 0 {
            switch errno {
            case ENAMETOOLONG: fd = try LongPath.open(path, flags | O_NOFOLLOW)
            // A root may be a symbolic link. Every other directory is watched first, without following links, so its
            // path never ends in one.
            case ENOTDIR, ELOOP: fd = open(path, flags)
            default: break
            }
        }
        if fd < 0 { throw Errno(rawValue: errno) }
        defer { close(fd) }
        let size = 32_768
        let error: Errno? = withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
            var isFirst = true
            while true {
                let count = clinux_getdents(fd, buffer.baseAddress, size)
                if count < 0 { return Errno(rawValue: errno) }
                if count == 0 { return nil }
                if !isFirst { pause() }
                isFirst = false
                take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), of: fd, into: &listing)
            }
        }
        if let error { throw error }
    }

    /// Reads a buffer of `struct linux_dirent64`, getdents64(2): inode 8, offset 8, record length 2, type 1, name.
    private static func take(_ buffer: UnsafeRawBufferPointer, of fd: CInt, into listing: inout DirectoryListing) {
        var offset = 0
        while offset < buffer.count {
            let size = Int(buffer.loadUnaligned(fromByteOffset: offset + 16, as: UInt16.self))
            let type = buffer[offset + 18]
            let start = buffer.baseAddress! + offset + 19
            let text = start.assumingMemoryBound(to: CChar.self)
            let name = UnsafeRawBufferPointer(start: start, count: strlen(text))
            if name[0] == 0x2E, name.count == 1 {
                listing.identity = UInt32(truncatingIfNeeded: buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            offset += size
            if name[0] == 0x2E, name.count == 1 || (name.count == 2 && name[1] == 0x2E) { continue }
            if type == UInt8(DT_DIR) {
                listing.append(name, isDirectory: true, stamp: .unknown, changed: 0)
                continue
            }
            var status = stat()
            // An event reports an entry that vanished after the listing.
            if fstatat(fd, text, &status, AT_SYMLINK_NOFOLLOW) != 0 { continue }
            listing.append(
                name, isDirectory: status.st_mode & S_IFMT == S_IFDIR, stamp: FileStamp(status), changed: nanoseconds(status.st_ctim))
        }
    }

    /// Inspects one entry.
    /// - Parameters:
    ///   - path: The entry's path, ended by a zero byte.
    ///   - followingLinks: Whether symbolic links are followed.
    /// - Returns: The status of the entry.
    /// - Throws: The error of fstatat(2).
    public static func status(of path: UnsafePointer<CChar>, followingLinks: Bool) throws(Errno) -> EntryStatus {
        var status = stat()
        if fstatat(AT_FDCWD, path, &status, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW) != 0 {
            let error = Errno(rawValue: errno)
            if error != .fileNameTooLong { throw error }
            try LongPath.withDescriptor(path, O_PATH | O_NOFOLLOW) { (fd) throws(Errno) in
                if fstat(fd, &status) != 0 { throw Errno(rawValue: errno) }
            }
        }
        return EntryStatus(
            isDirectory: status.st_mode & S_IFMT == S_IFDIR, stamp: FileStamp(status),
            closesAfterWriting: status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1,
            identity: UInt64(status.st_dev) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(status.st_ino))
    }

    static func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) }
}

extension FileStamp {
    init(_ status: stat) {
        self.init(
            inode: UInt64(status.st_ino), modified: FileSystem.nanoseconds(status.st_mtim), size: Int64(status.st_size), mode: status.st_mode,
            owner: status.st_uid, group: status.st_gid)
    }
}

/// Paths longer than `PATH_MAX`, which no system call accepts; openat(2) walks them in pieces.
enum LongPath {
    static func open(_ path: UnsafePointer<CChar>, _ flags: CInt) throws(Errno) -> CInt {
        let limit = 4_000
        let bytes = UnsafeBufferPointer(start: path, count: strlen(path))
        var directory = AT_FDCWD
        var start = 0
        while true {
            var end = bytes.count
            if end - start > limit {
                end = start + limit
                while end > start, bytes[end] != 0x2F { end -= 1 }
            }
            let piece = Array(bytes[start..<end]) + [0]
            let isLast = end == bytes.count
            let next = Glibc.openat(directory, piece, isLast ? flags | O_CLOEXEC : O_PATH | O_DIRECTORY | O_CLOEXEC)
            let error = errno
            if directory != AT_FDCWD { Glibc.close(directory) }
            if next < 0 { throw Errno(rawValue: error) }
            if isLast { return next }
            directory = next
            start = end + 1
        }
    }

    static func withDescriptor<R>(_ path: UnsafePointer<CChar>, _ flags: CInt, _ body: (CInt) throws(Errno) -> R) throws(Errno) -> R {
        let fd = try open(path, flags)
        defer { Glibc.close(fd) }
        return try body(fd)
    }
}
