package import SystemPackage
internal import UbiquityContainers

/// The Syncthing folder that contains a container.
package struct SharedFolder: Sendable {
    package var id: String
    /// The folder's own path, without symbolic links.
    package var path: FilePath
    package var isPaused: Bool
    /// The other devices that share it.
    package var others: [String]

    /// Finds the innermost folder that contains a container.
    ///
    /// - Parameters:
    ///   - container: the container's directory, which need not exist.
    ///   - folders: Syncthing's folders.
    ///   - status: supplies this device's identifier, which `others` omits, and the meaning of `~`.
    package init?(of container: FilePath, among folders: [FolderConfiguration], status: SystemStatus) {
        let container = PathFacts.resolved(container)
        let found = folders.map { folder in
            let text = folder.path.hasPrefix("~/") && !status.tilde.isEmpty ? status.tilde + folder.path.dropFirst() : folder.path
            return (folder, PathFacts.resolved(FilePath(text)))
        }
        .filter { container.starts(with: $0.1) }.max { $0.1.length < $1.1.length }
        guard let (folder, path) = found else { return nil }
        self.init(
            id: folder.id, path: path, isPaused: folder.isPaused, others: folder.devices.filter { $0 != status.device })
    }

    package init(id: String, path: FilePath, isPaused: Bool, others: [String]) {
        self.id = id
        self.path = path
        self.isPaused = isPaused
        self.others = others
    }

    /// Returns an item's name in the folder; nil for the folder itself, and for paths outside it.
    package func name(of item: FilePath) -> String? {
        // The item itself may be a link, so only its directory is resolved.
        guard let last = item.lastComponent else { return nil }
        var path = PathFacts.resolved(item.removingLastComponent()).appending(last)
        guard path.removePrefix(self.path), !path.isEmpty else { return nil }
        return path.string
    }

    /// Returns the item of a container that has a name in the folder, in the container's spelling of the path.
    ///
    /// - Parameters:
    ///   - name: a path relative to the folder.
    ///   - container: the container's directory.
    /// - Returns: nil for an item outside of the container.
    package func item(named name: String, in container: FilePath) -> FilePath? {
        var relative = path.pushing(FilePath(name))
        let real = self.name(of: container).map { path.appending($0) } ?? path
        guard relative.removePrefix(real) else { return nil }
        return container.pushing(relative)
    }
}
