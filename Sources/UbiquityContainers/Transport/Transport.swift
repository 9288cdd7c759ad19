public import SystemPackage

/// What carries a container's files between the user's devices: a shared directory, Syncthing, a cloud,
/// or another program.
///
/// Each transport answers the same questions: whether it works, where each item is, what the other devices have and
/// this one has not, and how far each other device is.
///
/// ```swift
/// let transport = try SyncthingTransport(configuredFor: container) ?? DirectoryTransport(container)
/// for await change in transport.changes() {
///     if case .item(let path) = change { print(path, try await transport.state(of: path).status) }
/// }
/// ```
public protocol Transport: Sendable {
    /// The stable name of the kind: `none`, `directory`, `syncthing`, `cloud`.
    var kind: TransportKind { get }

    /// Returns whether the transport works now, and how far the other devices are.
    ///
    /// A transport that does not answer is no error: the condition says so.
    ///
    /// - Returns: the condition at this moment.
    /// - Throws: the transport's own error if its configuration makes any answer impossible; `CancellationError` as soon
    ///   as the task is cancelled.
    func condition() async throws -> TransportCondition

    /// Returns where items are, at one moment.
    ///
    /// - Parameter items: absolute paths in the container; they need not exist.
    /// - Returns: a state for each item; `unknown` while the transport does not answer.
    /// - Throws: `ContainerError` with `notInContainer`; otherwise as ``condition()`` does.
    func states(of items: [FilePath]) async throws -> [FilePath: ItemState]

    /// Returns the items below a directory that other devices have and this device has not.
    ///
    /// - Parameter directory: the container, or an absolute path in it.
    /// - Returns: the state of each such item; none if the transport does not answer.
    /// - Throws: as ``states(of:)`` does.
    func elsewhere(below directory: FilePath) async throws -> [FilePath: ItemState]

    /// Tells the transport that files in a directory have just changed, so that it carries them at once.
    ///
    /// It is a hint: a transport that does not answer finds the files later by itself, so this call never fails.
    ///
    /// - Parameter directory: an absolute path in the container.
    func published(in directory: FilePath) async

    /// Removes an item's local copy; the item stays listed, and other devices keep their copies.
    ///
    /// The caller must not hold a coordinated write of the item.
    ///
    /// - Parameter item: an absolute path in a container; another device must have the item's newest version.
    /// - Throws: `ContainerError` with `notAvailable` if the transport could not bring it back.
    func evict(_ item: FilePath) async throws(ContainerError)

    /// Starts to fetch an item's newest version, and returns before it is here; does nothing if there is nothing to
    /// fetch.
    ///
    /// - Parameter item: an absolute path in a container.
    /// - Throws: `ContainerError` with `notAvailable` if the transport fetches nothing on demand.
    func startDownloading(_ item: FilePath) async throws(ContainerError)

    /// Tells when to ask again.
    ///
    /// Each call begins a new sequence for one reader. Its first element is always `below` for the whole container, so
    /// that a late observer misses nothing. A slow reader gets wider changes, but none are lost. The sequence ends with
    /// the reader's task.
    ///
    /// - Returns: the changes from now on.
    func changes() -> AsyncStream<TransportChange>
}

extension Transport {
    /// Returns where an item is.
    ///
    /// - Parameter item: an absolute path in the container; the item need not exist.
    /// - Returns: its state; `unknown` while the transport does not answer.
    /// - Throws: as ``states(of:)`` does.
    public func state(of item: FilePath) async throws -> ItemState { try await states(of: [item])[item] ?? ItemState(.unknown) }
}

extension Transport {
    /// Refuses, and leaves the item unchanged: a transport that keeps everything everywhere cannot bring one item back.
    public func evict(_ item: FilePath) async throws(ContainerError) {
        throw ContainerError(
            .notAvailable,
            "\(item) cannot be evicted: \(kind) brings no single item back. To free space, move it to a folder that is not shared.",
            path: item)
    }

    /// Does nothing for an item on this device, whose newer versions come by themselves; refuses any other item.
    public func startDownloading(_ item: FilePath) async throws(ContainerError) {
        if (try? await blocking { try LinuxFileLayer().kind(of: item) }) != nil { return }
        throw ContainerError(
            .notAvailable,
            "\(item) cannot be fetched on demand: \(kind) brings items by itself; check that it runs and that a device with the item is connected.",
            path: item)
    }
}

/// The kind of a transport; the raw values are stable names, for JSON and scripts.
public enum TransportKind: String, Sendable, Hashable, Codable, CustomStringConvertible {
    /// Nothing is known about what carries the container.
    case none
    /// The container is on a disk that the devices share.
    case directory
    /// Syncthing.
    case syncthing
    /// A cloud, through the transfer agent.
    case cloud

    /// The name for people.
    public var description: String {
        switch self {
        case .none: "no known transport"
        case .directory: "the shared directory"
        case .syncthing: "Syncthing"
        case .cloud: "the cloud"
        }
    }
}

/// Items whose state may have changed.
public enum TransportChange: Sendable, Hashable {
    /// One item.
    case item(FilePath)
    /// Everything at or below a directory. For the whole container, the transport's own condition may have changed too.
    case below(FilePath)
}
