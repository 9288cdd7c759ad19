package import Foundation
package import SystemPackage

/// The file operations that containers and stores need, so that a test can drop, delay or break them.
///
/// All of them block; none but ``names(in:)`` follows a symbolic link in the last component.
package protocol FileLayer: Sendable {
    /// The names in a directory, without `.` and `..`, in no order.
    func names(in directory: FilePath) throws(Errno) -> [String]
    /// The names in a directory, without `.` and `..`, in no order; nil where there is no directory: nothing is there, a file, or a link, wherever it leads.
    func directoryNames(in directory: FilePath) throws(Errno) -> [String]?
    /// A file's whole content. A file of more than `limit` bytes fails with `EFBIG`.
    func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8]
    /// A file's size in bytes.
    func size(of file: FilePath) throws(Errno) -> Int64
    /// What is at a path, or nil where nothing is.
    func kind(of path: FilePath) throws(Errno) -> FileKind?
    /// Makes one directory, never its ancestors; an existing directory is no error.
    func makeDirectory(_ path: FilePath) throws(Errno)
    /// Writes a new file and syncs its content, not its name.
    func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno)
    /// Gives a file its final name, which must be free: `EEXIST` where it is not.
    func renameNew(_ from: FilePath, to: FilePath) throws(Errno)
    /// Gives a file its final name, taking the place of what was there.
    func renameOver(_ from: FilePath, to: FilePath) throws(Errno)
    /// Makes the names in a directory durable.
    func syncDirectory(_ directory: FilePath) throws(Errno)
    /// Makes a file's content durable.
    func syncFile(_ file: FilePath) throws(Errno)
    /// Removes a file; a missing one is no error.
    func remove(_ file: FilePath) throws(Errno)
    /// Removes an empty directory; a missing one is no error.
    func removeDirectory(_ directory: FilePath) throws(Errno)
    /// The identifier of a peer that places itself among the files: a new one each time, but where a test wants runs that repeat.
    func newIdentifier() -> UUID
}

extension FileLayer {
    package func newIdentifier() -> UUID { UUID() }

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

/// What a directory entry is.
package enum FileKind: Sendable {
    case file
    case directory
    /// A symbolic link, socket, device: nothing of ours.
    case other
}
