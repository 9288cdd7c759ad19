public import SystemPackage

/// Who fetches single items and frees their space: what a synchroniser that keeps everything everywhere does not do.
///
/// There is none yet: ``NoTransferAgent`` stands in its place, and fails with `ContainerError.Code.notAvailable`.
public protocol TransferAgent: Sendable {
    /// Removes an item's local copy; the item stays listed, and other devices keep theirs.
    ///
    /// The caller must hold no coordinated write of it.
    ///
    /// - Parameter item: an absolute path in a container, of an item whose newest version another device has.
    /// - Throws: `ContainerError`: `notAvailable`, where nobody could bring it back.
    func evict(_ item: FilePath) async throws(ContainerError)

    /// Begins to fetch an item's newest version, and returns before it is here; where there is nothing to fetch, it does nothing.
    ///
    /// - Parameter item: an absolute path in a container.
    /// - Throws: `ContainerError`: `notAvailable`.
    func startDownloading(_ item: FilePath) async throws(ContainerError)
}

/// The absence of a transfer agent: nothing is evicted or fetched on demand.
public struct NoTransferAgent: TransferAgent {
    /// Makes one; all are alike.
    public init() {}

    /// Refuses, and leaves the item as it is.
    ///
    /// - Parameter item: any item.
    /// - Throws: always, `ContainerError` with `notAvailable`.
    public func evict(_ item: FilePath) async throws(ContainerError) {
        throw ContainerError(
            .notAvailable,
            "\(item) cannot be evicted: no transfer agent runs here that could bring it back. To free space, move it to a folder that is not shared.",
            path: item)
    }

    /// Does nothing for an item that is here, whose newer versions the synchroniser brings by itself, and refuses any other.
    ///
    /// - Parameter item: any item.
    /// - Throws: `ContainerError` with `notAvailable` where the item is not here.
    public func startDownloading(_ item: FilePath) async throws(ContainerError) {
        if (try? await blocking { try LinuxFileLayer().kind(of: item) }) != nil { return }
        throw ContainerError(
            .notAvailable,
            "\(item) cannot be fetched on demand: no transfer agent runs here. A synchroniser brings it by itself; see that it runs and that a device that has the item is connected.",
            path: item)
    }
}
