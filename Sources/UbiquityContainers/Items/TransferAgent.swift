public import SystemPackage

/// Fetches single items and frees their space; a synchroniser that keeps everything everywhere cannot do this.
///
/// There is no agent yet: ``NoTransferAgent`` replaces it, and fails with `ContainerError.Code.notAvailable`.
public protocol TransferAgent: Sendable {
    /// Removes an item's local copy; the item stays listed, and other devices keep their copies.
    ///
    /// The caller must not hold a coordinated write of the item.
    ///
    /// - Parameter item: an absolute path in a container; another device must have the item's newest version.
    /// - Throws: `ContainerError`: `notAvailable` if no device could bring it back.
    func evict(_ item: FilePath) async throws(ContainerError)

    /// Starts to fetch an item's newest version and returns before it is here; does nothing if there is nothing to
    /// fetch.
    ///
    /// - Parameter item: an absolute path in a container.
    /// - Throws: `ContainerError`: `notAvailable`.
    func startDownloading(_ item: FilePath) async throws(ContainerError)
}

/// The absence of a transfer agent: nothing is evicted or fetched on demand.
public struct NoTransferAgent: TransferAgent {
    /// Makes a value; all values are equal.
    public init() {}

    /// Refuses, and leaves the item unchanged.
    ///
    /// - Parameter item: any item.
    /// - Throws: always, `ContainerError` with `notAvailable`.
    public func evict(_ item: FilePath) async throws(ContainerError) {
        throw ContainerError(
            .notAvailable,
            "\(item) cannot be evicted: no transfer agent runs here that could bring it back. To free space, move it to a folder that is not shared.",
            path: item)
    }

    /// Does nothing for an item on this device, whose newer versions the synchroniser brings anyway; refuses any other
    /// item.
    ///
    /// - Parameter item: any item.
    /// - Throws: `ContainerError` with `notAvailable` if the item is not on this device.
    public func startDownloading(_ item: FilePath) async throws(ContainerError) {
        if (try? await blocking { try LinuxFileLayer().kind(of: item) }) != nil { return }
        throw ContainerError(
            .notAvailable,
            "\(item) cannot be fetched on demand: no transfer agent runs here. A synchroniser brings it by itself; check that it runs and that a device with the item is connected.",
            path: item)
    }
}
