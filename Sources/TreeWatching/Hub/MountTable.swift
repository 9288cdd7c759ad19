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

    /// The greatest number of symbolic links on the way to a path, as the kernel has it.
    private static let mostLinks = 40

    /// Returns the mount on which a path lies, without a look at a file system that another program or machine provides.
    ///
    /// - Parameter path: an absolute path; symbolic links on the way are followed.
    /// - Returns: the first such file system on the way, else the mount at the end; nil without /proc.
    static func mount(of path: [UInt8]) -> Mount? {
        let mounts = all()
        var place: [UInt8] = []
        var names = path.split(separator: 0x2F).map(Array.init)[...]
        var links = 0
        while let name = names.popFirst() {
            if name == Array(".".utf8) { continue }
            if name == Array("..".utf8) {
                place = Array(place[..<(place.lastIndex(of: 0x2F) ?? 0)])
                continue
            }
            let next = place + [0x2F] + name
            if let mount = nearest(next, mounts), mount.isProvided { return mount }
            guard links < mostLinks, let target = target(of: next) else {
                place = next
                continue
            }
            links += 1
            if target.first == 0x2F { place = [] }
            names = target.split(separator: 0x2F).map(Array.init) + names
        }
        return nearest(place.isEmpty ? [0x2F] : place, mounts)
    }

    /// Returns where a symbolic link leads; nil if there is none at the path.
    private static func target(of path: [UInt8]) -> [UInt8]? {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = (path + [0]).withUnsafeBytes { path in
            target.withUnsafeMutableBytes { target in
                readlink(path.assumingMemoryBound(to: CChar.self).baseAddress!, target.assumingMemoryBound(to: CChar.self).baseAddress!, target.count)
            }
        }
        return count > 0 ? Array(target[..<count]) : nil
    }

    /// Returns the mounts with their places, in the order in which they were made.
    private static func all() -> [(point: [UInt8], mount: Mount)] {
        guard let table = fopen("/proc/self/mountinfo", "re") else { return [] }
        defer { fclose(table) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        var mounts: [(point: [UInt8], mount: Mount)] = []
        while getline(&line, &capacity, table) >= 0 { if let mount = parse(String(cString: line!)) { mounts.append(mount) } }
        return mounts
    }

    /// Returns the mount with the longest place above a path; of two at one place the later one, which covers the other.
    private static func nearest(_ path: [UInt8], _ mounts: [(point: [UInt8], mount: Mount)]) -> Mount? {
        var (found, longest): (Mount?, Int) = (nil, -1)
        for (point, mount) in mounts where point.count >= longest && isAtOrBelow(path, point) { (found, longest) = (mount, point.count) }
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
