import CLinux
import Foundation
import Glibc
package import SystemPackage

/// A file that lost a conflict, beside the item of which it is a version.
///
/// The extended attribute `user.ubiquity.resolved` of the copy records that the conflict is resolved; see xattr(7). It
/// needs no extra file that another device could misread, it moves and ends with the copy, and every process sees it.
/// Its value is the copy's modification time, so it applies to the content that was reviewed and not to later content.
/// A synchroniser leaves such attributes alone unless it is configured to transfer them; in that case the conflict is
/// resolved on the other devices too, as intended.
///
/// Plain files are versions, and packages that a cloud carries, which are directories. Syncthing makes no copies of directories
/// or links.
package struct ConflictCopy: Hashable, Sendable {
    package let name: ConflictName
    package let path: FilePath
    package let isResolved: Bool

    /// Looks up a copy without following links; nil if there is no plain file, or its name is not that of a copy.
    ///
    /// - Parameter path: the possible path of a copy.
    package init?(at path: FilePath) {
        guard let component = path.lastComponent, let text = String(validating: component), let name = ConflictName(text) else { return nil }
        self.init(name, at: path)
    }

    /// Looks up a copy whose name is already parsed.
    package init?(_ name: ConflictName, at path: FilePath) {
        guard let status = Self.status(of: path) else { return nil }
        // A directory is a version of a package alone.
        if status.st_mode & S_IFMT == S_IFDIR {
            let item = Self.status(of: path.removingLastComponent().appending(name.original))
            guard let item, item.st_mode & S_IFMT == S_IFDIR else { return nil }
        }
        self.name = name
        self.path = path
        isResolved = Self.mark(of: path) == Self.mark(for: status)
    }

    /// The path of the item that the copy is a version of.
    package var item: FilePath { path.removingLastComponent().appending(name.original) }

    /// Marks the conflict as resolved; the mark is durable when this returns.
    ///
    /// - Parameter path: a copy.
    /// - Throws: `Errno`; `notSupported` when the file system has no extended attributes.
    package static func markResolved(_ path: FilePath) throws(Errno) {
        let descriptor = path.withPlatformString { open($0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        defer { close(descriptor) }
        var status = Glibc.stat()
        guard fstat(descriptor, &status) == 0 else { throw Errno(rawValue: errno) }
        guard isVersion(status) else { throw Errno.invalidArgument }
        let value = mark(for: status)
        guard clinux_set_attribute(descriptor, attribute, value, value.count) == 0, fsync(descriptor) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Returns the copies of an item, by name; reads the item's directory.
    ///
    /// - Parameter item: the path of the item.
    /// - Returns: no copies if the directory cannot be read.
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
        guard path.withPlatformString({ lstat($0, &status) }) == 0, isVersion(status) else { return nil }
        return status
    }

    private static func isVersion(_ status: Glibc.stat) -> Bool { [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) }

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
