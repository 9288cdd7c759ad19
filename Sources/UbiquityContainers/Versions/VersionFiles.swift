internal import Foundation
internal import Glibc
internal import SystemPackage

/// Removes conflict copies, and puts them in the place of items.
///
/// It blocks, and the caller coordinates.
struct VersionFiles {
    let files: any FileLayer = LinuxFileLayer()

    /// Removes copies of one directory; those that are gone are no error.
    func remove(_ copies: [FilePath]) throws(ContainerError) {
        for copy in copies {
            try attempt(copy, "cannot be removed; check its directory's owner and mode") { () throws(Errno) in
                // Whatever else has taken the name is no version.
                guard try files.kind(of: copy) == .file else { return }
                try files.remove(copy)
            }
        }
        guard let directory = copies.first?.removingLastComponent() else { return }
        try attempt(directory, "cannot be synced") { () throws(Errno) in try files.syncDirectory(directory) }
    }

    /// Puts a copy of a version in the place of an item.
    ///
    /// A crash before the rename leaves the item as it was, and perhaps a draft beside it, which is hidden and no synchroniser takes; after it, the new
    /// content. The version is there before and after.
    func replace(_ item: FilePath, byCopying version: FilePath) throws(ContainerError) {
        let draft = item.removingLastComponent().appending(".\(UUID().uuidString).nosync")
        do throws(ContainerError) {
            try attempt(version, "is not there, or is no plain file") { () throws(Errno) in
                guard try files.kind(of: version) == .file else { throw Errno.noSuchFileOrDirectory }
            }
            do {
                try FileManager.default.copyItem(atPath: version.string, toPath: draft.string)
            } catch {
                throw ContainerError(
                    .fileSystem, "\(version) cannot be copied to \(draft); see that the directory can be written and has room.", path: draft,
                    cause: error)
            }
            try attempt(item, "cannot be replaced; see that it is no directory, and that its directory can be written") { () throws(Errno) in
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

    /// Puts a version itself in the place of an item.
    ///
    /// One rename: a crash leaves the item as it was and the version, perhaps with a new modification time; or the new content, and the version gone. Between two file
    /// systems the version is copied first, and a crash before its removal leaves it where it was.
    func replace(_ item: FilePath, byMoving version: FilePath) throws(ContainerError) {
        let isOnOneFileSystem: Bool
        do throws(Errno) {
            guard try files.kind(of: version) == .file else { throw Errno.noSuchFileOrDirectory }
            if try FileFacts(of: item)?.kind == .directory { throw Errno.isDirectory }
            try files.syncFile(version)
            // Also, a mark that the conflict is resolved counts no longer.
            try touch(version)
            do throws(Errno) {
                try files.renameOver(version, to: item)
                isOnOneFileSystem = true
            } catch .improperLink {
                isOnOneFileSystem = false
            }
        } catch {
            throw ContainerError(
                .fileSystem, "\(item) cannot be replaced by \(version); see that it is no directory, and that its directory can be written.",
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

    /// Gives a file the present time; utimensat(2).
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
