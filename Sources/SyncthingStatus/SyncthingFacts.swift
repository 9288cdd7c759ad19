package import SystemPackage
internal import UbiquityContainers

/// The state of the folders with containers, according to this device's Syncthing.
package struct SyncthingFacts: Sendable {
    /// A folder, with the containers in it.
    package struct Folder: Sendable {
        package var id: String
        package var path: FilePath
        package var type: String
        package var isPaused: Bool
        package var maxConflicts: Int?
        package var isWatched: Bool
        package var containers: [FilePath]
        /// The other devices that share it.
        package var devices: [Device]
        /// The reason why Syncthing has stopped the folder; empty if it has not.
        package var error = ""
        /// The items that it could not fetch.
        package var failures: [FolderErrors.Item] = []
        /// The items of the containers that its patterns exclude; for a whole tree only the topmost directory.
        package var hidden: [FilePath] = []

        package init(
            id: String, path: FilePath, type: String = "sendreceive", isPaused: Bool = false, maxConflicts: Int? = -1, isWatched: Bool = true,
            containers: [FilePath] = [], devices: [Device] = []
        ) {
            self.id = id
            self.path = path
            self.type = type
            self.isPaused = isPaused
            self.maxConflicts = maxConflicts
            self.isWatched = isWatched
            self.containers = containers
            self.devices = devices
        }
    }

    /// Another device.
    package struct Device: Sendable {
        package var name: String
        package var isPaused: Bool
        package var isConnected: Bool

        package init(name: String, isPaused: Bool = false, isConnected: Bool = true) {
            self.name = name
            self.isPaused = isPaused
            self.isConnected = isConnected
        }
    }

    package var address: String
    /// The version, such as `v1.19.2`.
    package var version = ""
    package var folders: [Folder] = []
    /// The containers that are in no folder.
    package var unshared: [FilePath] = []
    /// The error that ended the questions.
    package var failure: SyncthingError?

    package init(address: String) { self.address = address }

    /// Asks Syncthing.
    ///
    /// - Parameters:
    ///   - client: the Syncthing of this device.
    ///   - containers: the containers' directories, which need not exist yet.
    /// - Throws: `CancellationError`. Errors of Syncthing are in ``failure``.
    package init(asking client: SyncthingClient, about containers: [FilePath]) async throws {
        self.init(address: client.endpoint.description)
        do {
            version = try await client.version()
            let status = try await client.systemStatus()
            let configurations = try await client.folders()
            let names = Dictionary(try await client.devices().map { ($0.id, $0) }) { $1 }
            let connected = try await client.connections().connected
            for container in containers {
                guard let shared = SharedFolder(of: container, among: configurations, status: status) else {
                    unshared.append(container)
                    continue
                }
                if let index = folders.firstIndex(where: { $0.id == shared.id }) {
                    folders[index].containers.append(container)
                    continue
                }
                let configuration = configurations.first { $0.id == shared.id }!
                folders.append(
                    Folder(
                        id: shared.id, path: shared.path, type: configuration.type, isPaused: shared.isPaused,
                        maxConflicts: configuration.maxConflicts, isWatched: configuration.isWatched, containers: [container],
                        devices: shared.others.map { id in
                            // Syncthing shows the first characters of an identifier.
                            let name = names[id].map(\.name).flatMap { $0.isEmpty ? nil : $0 } ?? String(id.prefix(7))
                            return Device(name: name, isPaused: names[id]?.isPaused ?? false, isConnected: connected.contains(id))
                        }))
            }
            // Syncthing reports nothing more about a paused folder.
            for index in folders.indices where !folders[index].isPaused { try await folders[index].ask(client) }
        } catch let error as SyncthingError {
            failure = error
        }
    }
}

extension SyncthingFacts.Folder {
    fileprivate mutating func ask(_ client: SyncthingClient) async throws {
        let state = try await client.state(of: id)
        error = state.error.isEmpty && state.state == "error" ? "it does not say why" : state.error
        failures = try await client.errors(in: id)
        let patterns = IgnorePatterns(try await client.ignores(of: id).expanded)
        for container in containers { hidden += leftOut(of: container, by: patterns) }
    }

    /// Returns the items of a container that the patterns exclude, without items that stay on this device anyway or
    /// belong to the synchroniser.
    package func leftOut(of container: FilePath, by patterns: IgnorePatterns) -> [FilePath] {
        let shared = SharedFolder(id: id, path: path, isPaused: isPaused, others: [])
        if let name = shared.name(of: container), patterns.ignores(name) { return [container] }
        guard let real = PathFacts.real(container) else { return [] }
        var found: [FilePath] = []
        DirectoryFacts.walk(real) { directory, isLocal in
            var skipped: Set<FilePath.Component> = []
            // The folder itself has no name.
            let prefix = shared.name(of: directory.path).map { $0 + "/" } ?? ""
            for entry in directory.entries {
                let isTold = !isLocal && !DirectoryFacts.isLocal(entry) && !ForeignNames.matches(entry.text)
                let isHidden = isTold && patterns.ignores(prefix + entry.text)
                if isHidden { found.append(directory.path.appending(entry.name)) }
                if entry.kind == .directory, isHidden || !isTold { skipped.insert(entry.name) }
            }
            return skipped
        }
        return found
    }
}
