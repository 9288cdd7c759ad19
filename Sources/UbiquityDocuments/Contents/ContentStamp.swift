internal import CLinux
package import Foundation
internal import Glibc
package import SystemPackage
internal import UbiquityContainers

/// Tells whether anything in a file or package has changed, without reading its bytes: by kind, size, time and inode of each file in it.
package struct ContentStamp: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        var path: String
        var mode: UInt32
        var size: Int64
        var modified: Int64
        var inode: UInt64
    }

    private var entries: [Entry] = []
    /// The latest change of a file in it; 1970 for an empty package.
    package var modificationDate: Date { Date(timeIntervalSince1970: Double(entries.lazy.map(\.modified).max() ?? 0) / 1e9) }

    /// A text that is equal for equal stamps, in every process.
    package var digest: String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for entry in entries {
            for byte in "\(entry.path)\0\(entry.mode) \(entry.size) \(entry.modified) \(entry.inode)\0".utf8 {
                // FNV-1a, 64 bits.
                hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
            }
        }
        return String(hash, radix: 16)
    }

    /// Looks at an item.
    ///
    /// - Returns: nil if there is no item.
    package init?(of item: FilePath) throws(Errno) {
        guard try add(item, "") else { return nil }
    }

    private mutating func add(_ path: FilePath, _ name: String) throws(Errno) -> Bool {
        var status = Glibc.stat()
        guard path.withPlatformString({ lstat($0, &status) }) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return false }
            throw Errno(rawValue: errno)
        }
        let kind = status.st_mode & S_IFMT
        let isDirectory = kind == S_IFDIR
        // The size and time of a directory change with names that are no content.
        entries.append(
            Entry(
                path: name, mode: kind | (isDirectory ? 0 : status.st_mode & S_IXUSR), size: isDirectory ? 0 : Int64(status.st_size),
                modified: isDirectory ? 0 : clinux_modified(&status), inode: isDirectory ? 0 : UInt64(status.st_ino)))
        guard isDirectory else { return true }
        for child in try LinuxFileLayer().names(in: path).sorted() where !ForeignNames.staysHere(child) {
            _ = try add(path.appending(child), "\(name)/\(child)")
        }
        return true
    }
}
