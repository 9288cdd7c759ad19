import CLinux
import Foundation
import Glibc
package import SystemPackage

/// A file that lost a conflict, as it lies beside the item that it is a version of.
///
/// Whether the conflict is resolved stands in the copy itself, in the extended attribute `user.ubiquity.resolved`, xattr(7): it needs no file of its own
/// that another device could misread, it goes with the copy when that is renamed and ends with it, and every process sees it. Its value is the
/// copy's modification time, so that it counts for the content that somebody looked at and for no later one. A synchroniser leaves such attributes
/// where they are, unless it is told to carry them; then the conflict is resolved on the other devices too, which is what was meant.
///
/// Only plain files are versions: Syncthing makes no copies of directories or links.
package struct ConflictCopy: Hashable, Sendable {
    package let name: ConflictName
    package let path: FilePath
    package let isResolved: Bool

    /// Looks a copy up, and follows no link: nil where no plain file is, or one whose name is not that of a copy.
    ///
    /// - Parameter path: where it may be.
    package init?(at path: FilePath) {
        guard let component = path.lastComponent, let text = String(validating: component), let name = ConflictName(text) else { return nil }
        self.init(name, at: path)
    }

    /// The same, of a name that is known.
    package init?(_ name: ConflictName, at path: FilePath) {
        guard let status = Self.status(of: path) else { return nil }
        self.name = name
        self.path = path
        isResolved = Self.mark(of: path) == Self.mark(for: status)
    }

    /// The path of the item that the copy is a version of.
    package var item: FilePath { path.removingLastComponent().appending(name.original) }

    /// Marks the conflict as resolved, for good once it returns.
    ///
    /// - Parameter path: a copy.
    /// - Throws: `Errno`; `notSupported` where the file system keeps no attributes.
    package static func markResolved(_ path: FilePath) throws(Errno) {
        let descriptor = path.withPlatformString { open($0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        defer { close(descriptor) }
        var status = Glibc.stat()
        guard fstat(descriptor, &status) == 0 else { throw Errno(rawValue: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw Errno.invalidArgument }
        let value = mark(for: status)
        guard clinux_set_attribute(descriptor, attribute, value, value.count) == 0, fsync(descriptor) == 0 else { throw Errno(rawValue: errno) }
    }

    /// The copies of an item, by name; reads its directory.
    ///
    /// - Parameter item: where it is.
    /// - Returns: none where the directory cannot be read.
    static func copies(of item: FilePath) -> [ConflictCopy] {
        guard let original = item.lastComponent.flatMap({ String(validating: $0) }) else { return [] }
        let directory = item.removingLastComponent()
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.string)) ?? []
        return names.sorted().compactMap { text in
            guard let name = ConflictName(text), name.original == original else { return nil }
            return ConflictCopy(name, at: directory.appending(text))
        }
    }

    private static let attribute = "user.ubiquity.resolved"

    private static func status(of path: FilePath) -> Glibc.stat? {
        var status = Glibc.stat()
        guard path.withPlatformString({ lstat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status
    }

    private static func mark(for status: Glibc.stat) -> [UInt8] {
        withUnsafePointer(to: status) { Array("\(clinux_modified($0))".utf8) }
    }

    private static func mark(of path: FilePath) -> [UInt8]? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { buffer in
            let count = path.withPlatformString { clinux_get_attribute($0, attribute, buffer.baseAddress, buffer.count) }
            return count < 0 ? nil : Array(buffer[..<count])
        }
    }
}
