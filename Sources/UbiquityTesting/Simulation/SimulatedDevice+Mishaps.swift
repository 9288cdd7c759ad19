internal import Foundation
internal import Glibc
public import SystemPackage
internal import UbiquityContainers
internal import UbiquityStores

// What befalls a container on one device. A synchroniser carries it to the others as what it is: files that have gone, or are others.
extension SimulatedDevice {
    /// The directory of a container of the account that is signed in.
    ///
    /// - Parameter identifier: the container's.
    /// - Returns: its path, whether it is there or not.
    /// - Throws: `ContainerError`: `signedOut`, or `invalidName`.
    public func containerPath(_ identifier: String = defaultContainer) throws -> FilePath {
        guard let account = try home.account else {
            throw ContainerError(.signedOut, "No account is signed in on the device “\(name)”; call signIn(_:).", path: home.path)
        }
        return UbiquityContainer.path(root: root, account: account, identifier: try ContainerIdentifier(identifier))
    }

    /// Deletes a container's directory, as `rm -rf` would, whatever is written there meanwhile.
    ///
    /// - Parameter identifier: the container's.
    /// - Throws: `ContainerError` where something in it cannot be removed.
    public func deleteContainer(_ identifier: String = defaultContainer) throws { try DeviceFiles.remove(containerPath(identifier)) }

    /// Deletes what stores keep in a container; its items and the attachment marks stay.
    ///
    /// - Parameters:
    ///   - contentName: the content of one store; nil for all.
    ///   - identifier: the container's.
    /// - Throws: `ContainerError` where something in it cannot be removed.
    public func deleteStoreContent(_ contentName: String? = nil, in identifier: String = defaultContainer) throws {
        var directory = try containerPath(identifier).appending(UbiquityContainer.storesName)
        if let contentName { directory.append(contentName) }
        try DeviceFiles.remove(directory)
    }

    /// Moves a container's directory out of the containers root, to where nobody looks.
    ///
    /// - Parameter identifier: the container's.
    /// - Returns: where it lies now, for ``putBack(_:as:)``.
    /// - Throws: `ContainerError`, or Foundation's error where it is not there.
    public func moveContainerAway(_ identifier: String = defaultContainer) throws -> FilePath {
        let aside = try newPlace(for: identifier)
        try FileManager.default.moveItem(atPath: containerPath(identifier).string, toPath: aside.string)
        return aside
    }

    /// Copies a container as it is now, as a backup would; nobody is asked or waited for.
    ///
    /// - Parameter identifier: the container's.
    /// - Returns: where the copy lies, for ``putBack(_:as:)``.
    /// - Throws: `ContainerError`; `Errno` where the container is not there; Foundation's error where a file cannot be copied.
    public func copyContainer(_ identifier: String = defaultContainer) throws -> FilePath {
        let copy = try newPlace(for: identifier)
        try DeviceFiles.copy(containerPath(identifier), to: copy)
        return copy
    }

    /// Puts a container that was moved away or copied in the place of the present one, which is deleted: a restored backup.
    ///
    /// - Parameters:
    ///   - directory: what ``moveContainerAway(_:)`` or ``copyContainer(_:)`` returned; it can be put back once.
    ///   - identifier: the container's.
    /// - Throws: `ContainerError`, also where it cannot be moved; Foundation's error where the root cannot be made.
    public func putBack(_ directory: FilePath, as identifier: String = defaultContainer) throws {
        let path = try containerPath(identifier)
        try FileManager.default.createDirectory(atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
        while true {
            let old = try newPlace(for: identifier)
            let isThere = try rename(path, to: old, passing: .noSuchFileOrDirectory)
            defer { if isThere { try? DeviceFiles.remove(old) } }
            // A synchroniser that runs may have made the directory again meanwhile, with files in it.
            if try rename(directory, to: path, passing: .directoryNotEmpty) { return }
        }
    }

    /// Renames with rename(2), whose error says what was in the way; Foundation looks before it renames, and what appears in between fails otherwise.
    ///
    /// - Returns: whether it is renamed; false for the error that is passed over.
    private func rename(_ path: FilePath, to target: FilePath, passing passed: Errno) throws -> Bool {
        if Glibc.rename(path.string, target.string) == 0 { return true }
        let error = Errno(rawValue: errno)
        if error == passed { return false }
        throw ContainerError(.fileSystem, "“\(path)” cannot be renamed to “\(target)”: \(error).", path: path)
    }

    /// A path below the device's directory at which nothing is.
    private func newPlace(for identifier: String) throws -> FilePath {
        let aside = directory.appending("aside")
        try FileManager.default.createDirectory(atPath: aside.string, withIntermediateDirectories: true)
        return aside.appending("\(identifier)-\(UUID().uuidString)")
    }

    /// The logs that lie in a container, of whichever peer.
    ///
    /// - Parameter identifier: the container's.
    /// - Returns: their paths, sorted; none where the container is not there.
    /// - Throws: `ContainerError`.
    public func logs(in identifier: String = defaultContainer) throws -> [FilePath] {
        let path = try containerPath(identifier)
        let below = FileManager.default.enumerator(atPath: path.string)?.allObjects as? [String] ?? []
        return below.filter { LogFileName(FilePath($0).lastComponent!.string) != nil }.sorted().map { path.pushing(FilePath($0)) }
    }

    /// What a disk can do to a file.
    public enum Damage: Hashable, Sendable {
        /// Its end is gone: so many bytes are left.
        case truncated(to: Int)
        /// One bit in its middle is another.
        case corrupted
    }

    /// Damages a file in its place, such as one of ``logs(in:)``.
    ///
    /// - Parameters:
    ///   - file: a file of this device.
    ///   - damage: what is done to it.
    /// - Throws: Foundation's error where it cannot be read or written.
    public func damage(_ file: FilePath, _ damage: Damage) throws {
        var bytes = try Data(contentsOf: URL(filePath: file.string))
        switch damage {
        case .truncated(let count): bytes = bytes.prefix(count)
        case .corrupted: if !bytes.isEmpty { bytes[bytes.count / 2] ^= 1 }
        }
        try bytes.write(to: URL(filePath: file.string))
    }
}
