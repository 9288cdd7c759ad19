internal import Foundation
internal import Glibc
public import SystemPackage
internal import UbiquityContainers
internal import UbiquityStores

// Accidents to a container on one device. A synchroniser transfers them to the others as removed or changed files.
extension SimulatedDevice {
    /// Returns the directory of a container of the signed-in account.
    ///
    /// - Parameter identifier: the container's identifier.
    /// - Returns: the path, whether the directory exists or not.
    /// - Throws: `ContainerError`: `signedOut`, or `invalidName`.
    public func containerPath(_ identifier: String = defaultContainer) throws -> FilePath {
        guard let account = try home.account else {
            throw ContainerError(.signedOut, "No account is signed in on the device “\(name)”; call signIn(_:).", path: home.path)
        }
        return UbiquityContainer.path(root: root, account: account, identifier: try ContainerIdentifier(identifier))
    }

    /// Deletes a container's directory, as `rm -rf` would, even while files are written there.
    ///
    /// - Parameter identifier: the container's identifier.
    /// - Throws: `ContainerError` when an entry cannot be removed.
    public func deleteContainer(_ identifier: String = defaultContainer) throws { try DeviceFiles.remove(containerPath(identifier)) }

    /// Deletes the contents of stores in a container; its items and the attachment marks stay.
    ///
    /// - Parameters:
    ///   - contentName: the content of one store; nil for all.
    ///   - identifier: the container's identifier.
    /// - Throws: `ContainerError` when an entry cannot be removed.
    public func deleteStoreContent(_ contentName: String? = nil, in identifier: String = defaultContainer) throws {
        var directory = try containerPath(identifier).appending(UbiquityContainer.storesName)
        if let contentName { directory.append(contentName) }
        try DeviceFiles.remove(directory)
    }

    /// Moves a container's directory out of the containers root.
    ///
    /// - Parameter identifier: the container's identifier.
    /// - Returns: its new path, for ``putBack(_:as:)``.
    /// - Throws: `ContainerError`, or Foundation's error when it does not exist.
    public func moveContainerAway(_ identifier: String = defaultContainer) throws -> FilePath {
        let aside = try newPlace(for: identifier)
        try FileManager.default.moveItem(atPath: containerPath(identifier).string, toPath: aside.string)
        return aside
    }

    /// Copies a container in its current state, like a backup, without coordination.
    ///
    /// - Parameter identifier: the container's identifier.
    /// - Returns: the path of the copy, for ``putBack(_:as:)``.
    /// - Throws: `ContainerError`; `Errno` when the container does not exist; Foundation's error when a file cannot be
    ///   copied.
    public func copyContainer(_ identifier: String = defaultContainer) throws -> FilePath {
        let copy = try newPlace(for: identifier)
        try DeviceFiles.copy(containerPath(identifier), to: copy)
        return copy
    }

    /// Replaces the current container, which is deleted, with one that was moved away or copied, like a restored
    /// backup.
    ///
    /// - Parameters:
    ///   - directory: the result of ``moveContainerAway(_:)`` or ``copyContainer(_:)``; it can be put back once.
    ///   - identifier: the container's identifier.
    /// - Throws: `ContainerError`, also when it cannot be moved; Foundation's error when the root cannot be created.
    public func putBack(_ directory: FilePath, as identifier: String = defaultContainer) throws {
        let path = try containerPath(identifier)
        try FileManager.default.createDirectory(atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
        while true {
            let old = try newPlace(for: identifier)
            let isThere = try rename(path, to: old, passing: .noSuchFileOrDirectory)
            defer { if isThere { try? DeviceFiles.remove(old) } }
            // A running synchroniser may have created the directory again meanwhile, with files in it.
            if try rename(directory, to: path, passing: .directoryNotEmpty) { return }
        }
    }

    /// Renames with rename(2), whose error names the obstacle; Foundation checks before it renames, so a directory that
    /// appears in between gives another error.
    ///
    /// - Returns: whether it was renamed; false for the allowed error.
    private func rename(_ path: FilePath, to target: FilePath, passing passed: Errno) throws -> Bool {
        if Glibc.rename(path.string, target.string) == 0 { return true }
        let error = Errno(rawValue: errno)
        if error == passed { return false }
        throw ContainerError(.fileSystem, "“\(path)” cannot be renamed to “\(target)”: \(error).", path: path)
    }

    /// Returns an unused path below the device's directory.
    private func newPlace(for identifier: String) throws -> FilePath {
        let aside = directory.appending("aside")
        try FileManager.default.createDirectory(atPath: aside.string, withIntermediateDirectories: true)
        return aside.appending("\(identifier)-\(UUID().uuidString)")
    }

    /// Returns the logs of all peers in a container.
    ///
    /// - Parameter identifier: the container's identifier.
    /// - Returns: their paths, sorted; none if the container does not exist.
    /// - Throws: `ContainerError`.
    public func logs(in identifier: String = defaultContainer) throws -> [FilePath] {
        let path = try containerPath(identifier)
        let below = FileManager.default.enumerator(atPath: path.string)?.allObjects as? [String] ?? []
        return below.filter { LogFileName(FilePath($0).lastComponent!.string) != nil }.sorted().map { path.pushing(FilePath($0)) }
    }

    /// Damage that a disk can do to a file.
    public enum Damage: Hashable, Sendable {
        /// The end is lost: this many bytes are left.
        case truncated(to: Int)
        /// One bit in the middle is wrong.
        case corrupted
    }

    /// Damages a file in its place, such as one of ``logs(in:)``.
    ///
    /// - Parameters:
    ///   - file: a file of this device.
    ///   - damage: the damage.
    /// - Throws: Foundation's error when the file cannot be read or written.
    public func damage(_ file: FilePath, _ damage: Damage) throws {
        var bytes = try Data(contentsOf: URL(filePath: file.string))
        switch damage {
        case .truncated(let count): bytes = bytes.prefix(count)
        case .corrupted: if !bytes.isEmpty { bytes[bytes.count / 2] ^= 1 }
        }
        try bytes.write(to: URL(filePath: file.string))
    }
}
