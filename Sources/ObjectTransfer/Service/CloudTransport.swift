internal import FileCoordination
internal import Foundation
public import SystemPackage
public import UbiquityContainers

/// A cloud that carries a container, by the agent of this device.
///
/// It carries the files of stores, marks, and documents. The status of an item is:
///
/// - below a `*.nosync`: `excluded`; with conflict copies beside it: `conflicted`
/// - no agent runs: `notDownloaded` with a placeholder, otherwise `unknown`
/// - here, and a bulletin names its bytes: `current`
/// - here, and no bulletin names it: `uploading` while its bytes are sent, otherwise `waitingToUpload`
/// - not here, and a bulletin names it: `downloading` or `notDownloaded`
/// - the agent has tried in vain: `failed`, with the reason
public struct CloudTransport: Transport {
    private let container: FilePath
    private let client: TransferClient
    private let local: DirectoryTransport

    /// Makes the transport with the cloud that the device home's `config.json` configures; nil if it configures none.
    ///
    /// ```swift
    /// let transport: any Transport = try CloudTransport(configuredFor: container) ?? DirectoryTransport(container)
    /// ```
    ///
    /// - Parameter container: a container on this device.
    /// - Throws: `ContainerError` when the file cannot be read or understood.
    public init?(configuredFor container: UbiquityContainer) throws {
        guard container.home.usesCloud, try container.home.cloud != nil else { return nil }
        self.init(container.path, home: container.home)
    }

    /// Makes the transport of a container.
    ///
    /// - Parameters:
    ///   - container: the container's directory.
    ///   - home: the device home.
    package init(_ container: FilePath, home: DeviceHome) {
        self.container = container.lexicallyNormalized()
        client = TransferClient(home)
        local = DirectoryTransport(self.container)
    }

    /// `cloud`.
    public var kind: TransportKind { .cloud }

    /// Returns whether the agent runs and reaches the cloud, and which other devices have published there.
    ///
    /// - Returns: the condition; its failure has the remedy.
    /// - Throws: `CancellationError`.
    public func condition() async throws -> TransportCondition {
        var condition = TransportCondition(.cloud)
        do {
            let status = try await client.status()
            switch status.activity {
            case .off, .paused, .waiting, .blocked: condition.failure = status.reason ?? "the transfer has not begun yet"
            case .idle, .working: break
            }
            condition.since = status.since
            condition.devices = status.others.map { TransportDevice(identifier: $0, name: "device \($0.prefix(8))", isConnected: true) }
        } catch let error as TransferClient.NoAgent {
            condition.failure = error.description
        }
        if case .there(let facts) = await DirectoryProbe.ask(container) { condition.free = facts.map { Int64(clamping: $0.available) } }
        return condition
    }

    /// Returns the states of items, by the rules above.
    ///
    /// - Parameter items: absolute paths in the container.
    /// - Returns: a state for each item; `unknown` while no agent runs.
    /// - Throws: `ContainerError` with `notInContainer`; `CancellationError`.
    public func states(of items: [FilePath]) async throws -> [FilePath: ItemState] {
        var states = try await local.states(of: items)
        let open = items.filter { [.unknown, .notDownloaded].contains(states[$0]?.status) }
        guard !open.isEmpty else { return states }
        let names = Dictionary(open.map { ($0, name(of: $0.lexicallyNormalized())) }) { first, _ in first }
        guard case .states(let found)? = try? await client.ask(.states(names.values.compactMap(\.self))) else { return states }
        for (item, name) in names {
            // A placeholder that the agent has not looked at yet says more than nothing.
            if let name, let state = found[name]?.state, state.status != ItemStatus.unknown || states[item]?.status == .unknown {
                states[item] = state
            }
        }
        return states
    }

    /// Returns the files of stores that the cloud has and this device has not.
    ///
    /// - Parameter directory: the container, or an absolute path in it.
    /// - Returns: `notDownloaded`, `downloading` or `failed` for each, with its size; none while no agent runs.
    /// - Throws: `ContainerError` with `notInContainer`.
    public func elsewhere(below directory: FilePath) async throws -> [FilePath: ItemState] {
        let directory = try ItemPath.resolve(directory, in: container)
        guard let name = name(of: directory), case .states(let found)? = try? await client.ask(.elsewhere(below: name)) else { return [:] }
        let parent = container.removingLastComponent()
        return Dictionary(uniqueKeysWithValues: found.map { (parent.pushing(FilePath($0)), $1.state) })
    }

    /// The path of an item below the account's containers.
    private func name(of item: FilePath) -> String? {
        var rest = item
        guard rest.removePrefix(container.removingLastComponent()) else { return nil }
        return rest.string
    }

    /// Evicts a document; see `UbiquityContainer.evict(_:deadline:)`.
    ///
    /// - Parameter item: an absolute path in the container.
    /// - Throws: `ContainerError` with `notAvailable` and the reason.
    public func evict(_ item: FilePath) async throws(ContainerError) {
        try await refusable(item) {
            let url = URL(filePath: item.string, directoryHint: .notDirectory)
            try await FileCoordinator.evict(url, deadline: .after(.seconds(60))) { _ = try await client.ask(.evict(try documentName(item))) }
        }
    }

    /// Starts to fetch a document; see `UbiquityContainer.startDownloading(_:)`.
    ///
    /// - Parameter item: an absolute path in the container.
    /// - Throws: `ContainerError` with `notAvailable` and the reason.
    public func startDownloading(_ item: FilePath) async throws(ContainerError) {
        try await refusable(item) { _ = try await client.ask(.fetch([try documentName(item)], waits: false)) }
    }

    private func documentName(_ item: FilePath) throws -> String {
        guard let name = name(of: try ItemPath.resolve(item, in: container)) else { throw OnDemandRefusal("\(item) is in no container.") }
        if let folder = DirectoryProbe.synchronisedFolder(above: container) {
            throw OnDemandRefusal("Syncthing carries \(folder), and would take a missing file for a deletion.")
        }
        return name
    }

    private func refusable(_ item: FilePath, _ body: () async throws -> Void) async throws(ContainerError) {
        do {
            try await body()
        } catch let error as ContainerError {
            throw error
        } catch {
            throw ContainerError(.notAvailable, "\(error)", path: item, cause: error)
        }
    }

    /// Asks the agent to look at this device, so that new files leave at once.
    ///
    /// - Parameter directory: an absolute path in the container.
    public func published(in directory: FilePath) async { _ = try? await client.ask(.published) }

    /// Tells when to ask again, by the agent's word.
    ///
    /// - Returns: the changes; the sequence ends with its reader's task.
    public func changes() -> AsyncStream<TransportChange> {
        let (container, client) = (container, client)
        return AsyncStream { continuation in
            let task = Task {
                continuation.yield(.below(container))
                while !Task.isCancelled {
                    var last: TransferStatus?
                    do {
                        for try await status in client.statuses() {
                            // Progress is asked for; a new state is told.
                            var plain = status
                            (plain.next, plain.since, plain.sent, plain.received) = (nil, nil, 0, 0)
                            for index in plain.transfers.indices { plain.transfers[index].done = 0 }
                            if plain != last { continuation.yield(.below(container)) }
                            last = plain
                        }
                    } catch {
                        if last != nil { continuation.yield(.below(container)) }
                    }
                    // An agent that has ended may be started again.
                    try? await Task.sleep(for: .seconds(2))
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
