package import Foundation
package import SystemPackage

/// The file operations of containers and stores; a test can drop, delay or break them.
///
/// All operations block; none but ``names(in:)`` follows a symbolic link in the last component.
package protocol FileLayer: Sendable {
    /// Returns the names in a directory, without `.` and `..`, in no particular order.
    func names(in directory: FilePath) throws(Errno) -> [String]
    /// Returns the names in a directory, in no order; nil if nothing, a file or a symbolic link is there.
    func directoryNames(in directory: FilePath) throws(Errno) -> [String]?
    /// Reads a whole file; fails with `EFBIG` if it has more than `limit` bytes.
    func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8]
    /// Returns a file's size in bytes.
    func size(of file: FilePath) throws(Errno) -> Int64
    /// Returns the kind of the entry at a path, or nil if there is none.
    func kind(of path: FilePath) throws(Errno) -> FileKind?
    /// Returns since when the file system of a directory has not answered; nil if it answers within two seconds.
    func silence(of directory: FilePath) -> Date?
    /// Creates one directory, never its ancestors; an existing directory is no error.
    func makeDirectory(_ path: FilePath) throws(Errno)
    /// Writes a new file and syncs its content, but not its name.
    func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno)
    /// Gives a file its final name; fails with `EEXIST` if the name is taken.
    func renameNew(_ from: FilePath, to: FilePath) throws(Errno)
    /// Gives a file its final name, and replaces an existing file.
    func renameOver(_ from: FilePath, to: FilePath) throws(Errno)
    /// Makes the names in a directory durable.
    func syncDirectory(_ directory: FilePath) throws(Errno)
    /// Makes a file's content durable.
    func syncFile(_ file: FilePath) throws(Errno)
    /// Removes a file; a missing one is no error.
    func remove(_ file: FilePath) throws(Errno)
    /// Removes an empty directory; a missing one is no error.
    func removeDirectory(_ directory: FilePath) throws(Errno)
    /// Returns a new identifier for a peer that places itself among the files; a test may return repeatable
    /// identifiers.
    func newIdentifier() -> UUID
}

extension FileLayer {
    package func newIdentifier() -> UUID { UUID() }
    package func silence(of directory: FilePath) -> Date? { nil }

    package func directoryNames(in directory: FilePath) throws(Errno) -> [String]? {
        guard try kind(of: directory) == .directory else { return nil }
        do {
            return try names(in: directory)
        } catch .noSuchFileOrDirectory {
            return nil
        } catch .notDirectory {
            return nil
        }
    }
}

/// The kind of a directory entry.
package enum FileKind: Sendable {
    case file
    case directory
    /// A symbolic link, socket or device; this package never creates one.
    case other
}
