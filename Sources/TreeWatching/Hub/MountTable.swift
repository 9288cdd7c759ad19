import CLinux
import Glibc

/// Tells which file systems are mounted, and reports when one is mounted or unmounted: a mount raises no inotify event
/// above it, and a lazy unmount none below it.
enum MountTable {
    /// A mounted file system, as a line of `/proc/self/mountinfo` describes it.
    struct Mount: Hashable, Sendable {
        /// The number of the mount.
        var number: String
        /// The type of the file system, such as `ext4` or `fuse.sshfs`.
        var type: String

        /// Whether another program or machine provides the file system, and may leave a call without an answer.
        var isProvided: Bool {
            type.hasPrefix("fuse") || type.hasPrefix("nfs") || ["cifs", "smb3", "9p", "ceph", "afs", "autofs", "virtiofs"].contains(type)
        }
    }

    /// Returns the mount below which a path lies, without a look at the path.
    ///
    /// - Parameter path: an absolute path; symbolic links in it are not followed.
    /// - Returns: nil without /proc.
    static func mount(of path: [UInt8]) -> Mount? {
        guard let table = fopen("/proc/self/mountinfo", "re") else { return nil }
        defer { fclose(table) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        var (found, longest): (Mount?, Int) = (nil, -1)
        while getline(&line, &capacity, table) >= 0 {
            guard let (point, mount) = parse(String(cString: line!)), point.count >= longest, isAtOrBelow(path, point) else { continue }
            // Of two mounts at one place, the later one covers the earlier.
            (found, longest) = (mount, point.count)
        }
        return found
    }

    /// Reads a line: `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`; see proc(5).
    static func parse(_ line: String) -> (point: [UInt8], mount: Mount)? {
        let fields = line.split(separator: " ")
        guard fields.count > 6, let dash = fields[6...].firstIndex(of: "-"), dash + 1 < fields.count else { return nil }
        return (unescaped(fields[4]), Mount(number: String(fields[0]), type: String(fields[dash + 1])))
    }

    /// Returns a field with `\040` and the like as the bytes that they stand for.
    private static func unescaped(_ field: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(field.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == 0x5C, digits.count == 3, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8) {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func isAtOrBelow(_ path: [UInt8], _ point: [UInt8]) -> Bool {
        point == [0x2F] || path == point || path.starts(with: point) && path[point.count] == 0x2F
    }

    /// Calls back at each change, from its own thread, until the body returns false.
    ///
    /// It never calls back without /proc; see proc(5) about polling `mountinfo`.
    static func watch(_ body: @escaping @Sendable () -> Bool) {
        let table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        guard table >= 0 else { return }
        HubThread.start {
            var descriptor = pollfd(fd: table, events: Int16(POLLPRI), revents: 0)
            while true {
                let count = clinux_poll(&descriptor, 1, -1)
                if count < 0, errno == EINTR { continue }
                guard count > 0, Int32(descriptor.revents) & (POLLPRI | POLLERR) != 0, body() else { break }
            }
            close(table)
        }
    }
}
