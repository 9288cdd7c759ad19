internal import CLinux
package import Foundation
internal import Glibc
package import SystemPackage

/// The result of lstat(2) for a directory entry.
package struct FileFacts: Sendable {
    /// The kind of an entry.
    package enum Kind: String, Sendable, Encodable {
        case file, directory, link
        /// A socket, pipe or device.
        case other
    }

    package let kind: Kind
    /// The size in bytes.
    package let size: Int64
    package let modificationDate: Date

    /// Inspects an entry without following links.
    ///
    /// - Returns: nil if there is no entry.
    package init?(of path: FilePath) throws(Errno) {
        var status = Glibc.stat()
        guard path.withPlatformString({ lstat($0, &status) }) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw Errno(rawValue: errno)
        }
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFLNK: .link
            default: .other
            }
        size = Int64(status.st_size)
        modificationDate = Date(timeIntervalSince1970: Double(clinux_modified(&status)) / 1e9)
    }
}
