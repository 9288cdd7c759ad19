internal import CLinux
internal import Foundation
internal import Glibc
internal import SystemPackage

/// What lstat(2) tells of a directory entry.
struct FileFacts: Sendable {
    enum Kind: Sendable {
        case file, directory, link
        /// A socket, pipe or device.
        case other
    }

    let kind: Kind
    /// In bytes.
    let size: Int64
    let modificationDate: Date

    /// Looks an entry up; follows no link.
    ///
    /// - Returns: nil where nothing is there.
    init?(of path: FilePath) throws(Errno) {
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
