internal import Foundation
public import SystemPackage
public import UbiquityContainers

/// Tells how a container's items stand by asking the Syncthing that keeps the folder in which it lies.
///
/// ```swift
/// let endpoint = try SyncthingEndpoint("http://127.0.0.1:8384", key: key)
/// let source = SyncthingStatus(container, endpoint: endpoint)
/// print(try await source.status(of: container.documents.appending("Letter.txt")))
/// ```
///
/// The first of these rules that applies decides:
///
/// 1. In or below a `*.nosync`: `excluded`. Conflict copies lie beside the item: `conflicted`.
/// 2. Syncthing does not answer, or the folder is paused or in error: `unknown`.
/// 3. Syncthing's patterns leave the item out: `excluded`.
/// 4. No device's index names it: `waitingToUpload` if it is on disk, else `unknown`, for there is no such item.
/// 5. This device's version is not the newest: `downloading` if Syncthing is at it, else `downloaded` if it is on disk, else `notDownloaded`.
///    The newest version may be a removal: then `downloaded` means that it is about to go.
/// 6. It has changed on disk since Syncthing last looked: `waitingToUpload`.
/// 7. Another device made this version, or a device is known to have it whole, now or when it was last connected: `current`.
/// 8. This device alone has it: `uploading` while another device is connected, else `waitingToUpload`.
///
/// A directory that is itself current is as current as what Syncthing knows of below it: `downloading` or `downloaded` where something is
/// lacking here, `uploading` or `waitingToUpload` where every other device lacks something.
public struct SyncthingStatus: ItemStatusSource {
    let container: FilePath
    let client: SyncthingClient
    private let files: any FileLayer
    private let conflicts: LocalItemStatus

    /// Tells of a container's items; nothing is asked yet.
    ///
    /// - Parameters:
    ///   - container: a container on this device.
    ///   - endpoint: the Syncthing of this device.
    ///   - timeout: how long an answer may take before the status is unknown.
    public init(_ container: UbiquityContainer, endpoint: SyncthingEndpoint, timeout: Duration = .seconds(10)) {
        self.init(container.path, endpoint: endpoint, timeout: timeout)
    }

    /// Tells of a container's items by the Syncthing that the device home's `config.json` names; nil where it names none.
    ///
    /// ```swift
    /// let source: any ItemStatusSource = try SyncthingStatus(configuredFor: container) ?? LocalItemStatus(container)
    /// ```
    ///
    /// - Parameter container: a container on this device.
    /// - Throws: `ContainerError` where the file cannot be read or understood; `SyncthingError` where what it says cannot be used.
    public init?(configuredFor container: UbiquityContainer) throws {
        guard let endpoint = try SyncthingEndpoint(configuredIn: container.home) else { return nil }
        self.init(container, endpoint: endpoint)
    }

    package init(_ container: FilePath, endpoint: SyncthingEndpoint, timeout: Duration = .seconds(10), files: any FileLayer = LinuxFileLayer()) {
        self.container = container.lexicallyNormalized()
        self.files = files
        client = SyncthingClient(endpoint, timeout: timeout)
        conflicts = LocalItemStatus(self.container, files: files)
    }

    /// Checks that Syncthing answers, accepts the key, and keeps a folder that holds the container.
    ///
    /// - Throws: `SyncthingError`, which says what to do; `CancellationError`.
    public func check() async throws { _ = try await folder() }

    /// Tells how an item stands, by the rules above.
    ///
    /// - Parameter item: an absolute path in the container; nothing need be there.
    /// - Returns: its status; `unknown` while Syncthing does not answer.
    /// - Throws: `ContainerError` with `notInContainer`; `SyncthingError` with `wrongKey` or `folderNotShared`; `CancellationError`.
    public func status(of item: FilePath) async throws -> ItemStatus {
        try await statuses(of: [item])[item]!
    }

    /// Tells how several items stand, as of one moment.
    ///
    /// - Parameter items: absolute paths in the container.
    /// - Returns: a status for each.
    /// - Throws: as `status(of:)` does.
    public func statuses(of items: [FilePath]) async throws -> [FilePath: ItemStatus] {
        var statuses: [FilePath: ItemStatus] = [:]
        for item in items { statuses[item] = try await conflicts.status(of: item) }
        let open = items.filter { statuses[$0] == .unknown }
        if open.isEmpty { return statuses }
        do {
            let inquiry = Inquiry(client: client, folder: try await folder())
            guard try await inquiry.isReady else { return statuses }
            for item in open { statuses[item] = try await inquiry.status(of: item.lexicallyNormalized()) }
        } catch let error as SyncthingError where error.isPassing {
            for item in open { statuses[item] = .unknown }
        }
        return statuses
    }

    /// Tells when to ask again, as Syncthing's events tell; nothing is asked again and again.
    ///
    /// While Syncthing does not answer it is tried again, after one second at first and after thirty at most. When it goes, and when it is
    /// back, the whole container is told of.
    ///
    /// - Returns: the changes; the sequence ends with its reader's task.
    public func changes() -> AsyncStream<ItemStatusChange> { changes(clock: ContinuousClock()) }

    package func changes(clock: any Clock<Duration>) -> AsyncStream<ItemStatusChange> {
        let feed = SyncthingChangeFeed(self, clock: clock)
        return AsyncStream { await feed.next() }
    }

    /// The folder that holds the container.
    func folder() async throws -> SharedFolder {
        let status = try await client.systemStatus()
        let folders = try await client.folders()
        guard let folder = SharedFolder(of: container, among: folders, status: status) else {
            throw SyncthingError(
                .folderNotShared,
                "No folder of the Syncthing at \(client.endpoint) holds \(container); add the containers root there as a folder, and share it with your other devices."
            )
        }
        return folder
    }
}
