internal import Foundation
internal import Glibc
internal import SystemPackage

/// Removes conflict copies, and replaces items with them.
///
/// It blocks, and the caller coordinates.
struct VersionFiles {
    let files: any FileLayer = LinuxFileLayer()

    /// Removes copies in one directory; a missing copy is no error.
    func remove(_ copies: [FilePath]) throws(ContainerError) {
        for copy in copies {
            try attempt(copy, "cannot be removed; check its directory's owner and mode") { () throws(Errno) in
                // Any other kind of entry with this name is not a version.
                switch try files.kind(of: copy) {
                case .file: try files.remove(copy)
                case .directory:
                    do { try FileManager.default.removeItem(atPath: copy.string) } catch { throw Errno.directoryNotEmpty }
                case .other, nil: return
                }
            }
        }
        guard let directory = copies.first?.removingLastComponent() else { return }
        try attempt(directory, "cannot be synced") { () throws(Errno) in try files.syncDirectory(directory) }
    }

    /// Replaces an item with a copy of a version.
    ///
    /// A crash before the rename leaves the old item, and perhaps a hidden draft beside it that synchronisers ignore; a
    /// crash after it leaves the new content. The version exists before and after.
    func replace(_ item: FilePath, byCopying version: FilePath) throws(ContainerError) {
        let draft = item.removingLastComponent().appending(".\(UUID().uuidString).nosync")
        do throws(ContainerError) {
            try attempt(version, "does not exist, or is not a plain file") { () throws(Errno) in
                guard try files.kind(of: version) == .file else { throw Errno.noSuchFileOrDirectory }
            }
            do {
                try FileManager.default.copyItem(atPath: version.string, toPath: draft.string)
            } catch {
                throw ContainerError(
                    .fileSystem, "\(version) cannot be copied to \(draft); check that the directory is writable and has space.", path: draft,
                    cause: error)
            }
            try attempt(item, "cannot be replaced; check that it is not a directory, and that its directory is writable") { () throws(Errno) in
                try touch(draft)
                try files.syncFile(draft)
                try files.renameOver(draft, to: item)
                try files.syncDirectory(item.removingLastComponent())
            }
        } catch {
            try? files.remove(draft)
            throw error
        }
    }

    /// Replaces an item with a version itself.
    ///
    /// This is one rename: a crash leaves the old item and the version, perhaps with a new modification time; or the
    /// new content without the version. Between two file systems the version is copied first, and a crash before its
    /// removal leaves the version in place.
    func replace(_ item: FilePath, byMoving version: FilePath) throws(ContainerError) {
        let isOnOneFileSystem: Bool
        do throws(Errno) {
            guard try files.kind(of: version) == .file else { throw Errno.noSuchFileOrDirectory }
            if try FileFacts(of: item)?.kind == .directory { throw Errno.isDirectory }
            try files.syncFile(version)
            // The new time also makes the mark of a resolved conflict invalid.
            try touch(version)
            do throws(Errno) {
                try files.renameOver(version, to: item)
                isOnOneFileSystem = true
            } catch .improperLink {
                isOnOneFileSystem = false
            }
        } catch {
            throw ContainerError(
                .fileSystem, "\(item) cannot be replaced by \(version); check that it is not a directory, and that its directory is writable.",
                path: item,
                cause: error)
        }
        guard isOnOneFileSystem else {
            try replace(item, byCopying: version)
            return try remove([version])
        }
        for directory in [item.removingLastComponent(), version.removingLastComponent()] {
            try attempt(directory, "cannot be synced") { () throws(Errno) in try files.syncDirectory(directory) }
        }
    }

    /// Sets a file's modification time to the current time; utimensat(2).
    private func touch(_ file: FilePath) throws(Errno) {
        guard file.withPlatformString({ utimensat(AT_FDCWD, $0, nil, AT_SYMLINK_NOFOLLOW) }) == 0 else { throw Errno(rawValue: errno) }
    }

    private func attempt(_ path: FilePath, _ problem: String, _ body: () throws(Errno) -> Void) throws(ContainerError) {
        do {
            try body()
        } catch {
            throw ContainerError(.fileSystem, "\(path) \(problem).", path: path, cause: error)
        }
    }
}
