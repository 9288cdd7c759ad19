import CLinux
import Foundation
import Glibc
package import SystemPackage

/// The place of a user's broker: a directory in memory that no other user can enter.
package struct BrokerPlace: Sendable {
    package let directory: FilePath

    /// The directory below which missing directories are created; nil if the parent must exist.
    private let base: FilePath?

    /// Makes a place.
    ///
    /// - Parameters:
    ///   - directory: the broker's directory, which is created if it does not exist.
    ///   - base: a directory above it, below which missing directories are created; nil if the parent must exist.
    package init(directory: FilePath, below base: FilePath? = nil) {
        self.directory = directory
        self.base = base
    }

    /// Opens the directory.
    ///
    /// - Throws: `brokerUnavailable` when it cannot be created, belongs to another user, or is open to others.
    func open() throws(FileCoordinationError) -> OpenBrokerPlace {
        if var way = base {
            for component in directory.components.dropFirst(way.components.count).dropLast() {
                way.append(component)
                // The next call fails if a directory cannot be created.
                _ = way.withPlatformString { mkdir($0, 0o700) }
            }
        }
        let made = directory.withPlatformString { mkdir($0, 0o700) }
        guard made == 0 || errno == EEXIST else {
            throw unusable("cannot be made. Make \(directory.removingLastComponent()) first", Errno(rawValue: errno))
        }
        return try openExisting()
    }

    /// Returns whether the directory exists; does not create it.
    ///
    /// - Throws: `brokerUnavailable` when it belongs to another user, or is open to others.
    func isThere() throws(FileCoordinationError) -> Bool {
        var status = Glibc.stat()
        if directory.withPlatformString({ lstat($0, &status) }) != 0, errno == ENOENT || errno == ENOTDIR { return false }
        _ = try openExisting()
        return true
    }

    /// Whether a broker answers here; does not start one.
    var hasBroker: Bool {
        guard let isThere = try? isThere(), isThere, let place = try? openExisting(), let socket = try? place.connect() else { return false }
        try? socket.close()
        return true
    }

    private func openExisting() throws(FileCoordinationError) -> OpenBrokerPlace {
        let number = directory.withPlatformString { Glibc.open($0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard number >= 0 else { throw unusable("cannot be opened. It must be a directory of this user", Errno(rawValue: errno)) }
        let place = OpenBrokerPlace(directory: FileDescriptor(rawValue: number))
        var status = Glibc.stat()
        guard fstat(number, &status) == 0 else { throw unusable("cannot be inspected", Errno(rawValue: errno)) }
        guard status.st_uid == geteuid() else {
            throw unusable("belongs to user \(status.st_uid), not \(geteuid()). Set XDG_RUNTIME_DIR to a directory of this user", nil)
        }
        guard status.st_mode & 0o077 == 0 else {
            throw unusable("can be entered by others. Close it with chmod 700", nil)
        }
        return place
    }

    func unusable(_ what: String, _ cause: Errno?) -> FileCoordinationError {
        FileCoordinationError(.brokerUnavailable, "Files cannot be coordinated: \(directory) \(what).", path: directory, cause: cause)
    }
}

/// The broker's directory, kept open, so that no other directory can replace it.
final class OpenBrokerPlace: Sendable {
    let directory: FileDescriptor

    init(directory: FileDescriptor) {
        self.directory = directory
    }

    deinit { try? directory.close() }

    /// The socket's path through the descriptor, because a socket's address has only 107 bytes.
    private var socketPath: String { "/proc/self/fd/\(directory.rawValue)/broker.socket" }

    /// Connects to the broker.
    ///
    /// - Throws: an `Errno`: `connectionRefused` and `noSuchFileOrDirectory` when no broker is there.
    func connect() throws(Errno) -> FileDescriptor {
        let socket = clinux_stream_socket(0)
        guard socket >= 0 else { throw Errno(rawValue: errno) }
        guard clinux_unix_connect(socket, socketPath) == 0 else {
            let error = Errno(rawValue: errno)
            close(socket)
            throw error
        }
        return FileDescriptor(rawValue: socket)
    }

    /// Binds the broker's socket and replaces an old one; requires the starting lock.
    func bind() throws(Errno) -> FileDescriptor {
        let socket = clinux_stream_socket(1)
        guard socket >= 0 else { throw Errno(rawValue: errno) }
        unlinkSocket()
        guard clinux_unix_bind(socket, socketPath) == 0, listen(socket, 512) == 0 else {
            let error = Errno(rawValue: errno)
            close(socket)
            throw error
        }
        return FileDescriptor(rawValue: socket)
    }

    func unlinkSocket() { unlinkat(directory.rawValue, "broker.socket", 0) }

    /// Identifies the socket's file, and so the broker that bound it; nil if there is none.
    var socketFile: UInt64? {
        var status = Glibc.stat()
        guard fstatat(directory.rawValue, "broker.socket", &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        return UInt64(status.st_ino)
    }

    /// The log level of brokers in this place; it lasts until the directory goes, at the latest when the system stops.
    var logLevel: Int {
        get {
            let file = openat(directory.rawValue, "log-level", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard file >= 0 else { return BrokerLog.standard }
            defer { close(file) }
            var digit: UInt8 = 0
            guard read(file, &digit, 1) == 1, digit >= 0x30, BrokerLog.levels.contains(Int(digit) - 0x30) else { return BrokerLog.standard }
            return Int(digit) - 0x30
        }
        set {
            let file = openat(directory.rawValue, "log-level", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
            guard file >= 0 else { return }
            defer { close(file) }
            var digit = UInt8(0x30 + newValue)
            // The write replaces one byte, so the file is never empty.
            pwrite(file, &digit, 1, 0)
        }
    }

    /// Opens the lock file.
    ///
    /// A process that starts or ends a broker locks the first byte; a broker locks the second while it lives.
    func openLock() throws(Errno) -> FileDescriptor {
        let lock = openat(directory.rawValue, "broker.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw Errno(rawValue: errno) }
        return FileDescriptor(rawValue: lock)
    }
}

/// The bytes of `broker.lock`.
enum BrokerLock {
    static let starting: Int64 = 0
    static let living: Int64 = 1
}

extension ProcessIdentity {
    /// Returns a process as proc_pid_stat(5) describes it.
    ///
    /// - Returns: the process; its start is 0 if it is unknown.
    static func of(_ number: Int32) -> ProcessIdentity {
        ProcessIdentity(number: number, start: fields(of: number).flatMap { $0.count > 19 ? UInt64($0[19]) : nil } ?? 0)
    }

    /// Whether a signal or a debugger has stopped it.
    var isStopped: Bool {
        guard let fields = Self.fields(of: number), fields.count > 19, UInt64(fields[19]) == start else { return false }
        return fields[0] == "T" || fields[0] == "t"
    }

    /// Returns the fields after the program's name, which may contain any character.
    private static func fields(of number: Int32) -> [Substring]? {
        let file = Glibc.open("/proc/\(number)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
            let count = read(file, buffer.baseAddress, buffer.count)
            guard count > 0 else { return nil }
            let text = String(decoding: UnsafeRawBufferPointer(rebasing: buffer[..<count]), as: UTF8.self)
            guard let end = text.lastIndex(of: ")") else { return nil }
            return text[text.index(after: end)...].split(separator: " ")
        }
    }
}
