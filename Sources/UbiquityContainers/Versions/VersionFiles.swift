internal import FileCoordination
internal import Foundation
internal import Glibc
internal import SystemPackage

/// Removes conflict copies, and replaces items with them.
///
/// It blocks, and the caller coordinates.
struct VersionFiles {
    let files: any FileLayer = LinuxFileLayer()

    /// Removes copies; a missing copy is no error.
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
        for directory in Set(copies.map { $0.removingLastComponent() }) {
            try attempt(directory, "cannot be synced") { () throws(Errno) in try files.syncDirectory(directory) }
        }
    }

    /// Replaces an item with a copy of a version, a file or a package.
    ///
    /// A crash before the step leaves the old item, and perhaps a hidden draft beside it that synchronisers ignore; a
    /// crash after it leaves the new content. The version exists before and after.
    func replace(_ item: FilePath, byCopying version: FilePath) throws(ContainerError) {
        let (draft, replacement) = (ItemReplacement.draft(beside: item), ItemReplacement(files))
        do throws(ContainerError) {
            try checkKinds(item, version)
            do {
                try FileManager.default.copyItem(atPath: version.string, toPath: draft.string)
            } catch {
                throw ContainerError(
                    .fileSystem, "\(version) cannot be copied to \(draft); check that the directory is writable and has space.", path: draft,
                    cause: error)
            }
            try attempt(item, "cannot be replaced; check that its directory is writable") { () throws(Errno) in
                try touch(draft)
                try replacement.sync(draft)
                try replacement.replace(item, by: draft)
            }
        } catch {
            replacement.discard(draft)
            throw error
        }
    }

    /// Checks that the version is a file or directory, and no plain directory is replaced.
    private func checkKinds(_ item: FilePath, _ version: FilePath) throws(ContainerError) {
        try attempt(version, "does not exist, or is no file or package") { () throws(Errno) in
            guard let kind = try files.kind(of: version), kind != .other else { throw Errno.noSuchFileOrDirectory }
        }
        try attempt(item, "cannot be replaced: it is a directory, and no package") { () throws(Errno) in
            if try files.kind(of: item) == .directory, !FileCoordinator.filePackages.contains(item) { throw Errno.isDirectory }
        }
    }

    /// Replaces an item with a version itself.
    ///
    /// For a file this is one rename: a crash leaves the old item and the version, perhaps with a new modification time; or the
    /// new content without the version. A package, and a version on another file system, is copied first; a crash before its
    /// removal leaves the version in place.
    func replace(_ item: FilePath, byMoving version: FilePath) throws(ContainerError) {
        if (try? files.kind(of: version)) == .directory {
            try replace(item, byCopying: version)
            return try remove([version])
        }
        let isOnOneFileSystem: Bool
        try checkKinds(item, version)
        do throws(Errno) {
            try ItemReplacement(files).sync(version)
            // The new time also makes the mark of a resolved conflict invalid.
            try touch(version)
            do throws(Errno) {
                try ItemReplacement(files).replace(item, by: version)
                isOnOneFileSystem = true
            } catch .improperLink {
                isOnOneFileSystem = false
            }
        } catch {
            throw ContainerError(
                .fileSystem, "\(item) cannot be replaced by \(version); check that its directory is writable.", path: item, cause: error)
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
