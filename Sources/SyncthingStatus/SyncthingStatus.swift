internal import Foundation
public import SystemPackage
public import UbiquityContainers

/// A source of a container's statuses that asks the Syncthing that synchronises the container.
///
/// ```swift
/// let endpoint = try SyncthingEndpoint("http://127.0.0.1:8384", key: key)
/// let source = SyncthingStatus(container, endpoint: endpoint)
/// print(try await source.status(of: container.documents.appending("Letter.txt")))
/// ```
///
/// The first of these rules that applies decides:
///
/// 1. In or below a `*.nosync`: `excluded`. Conflict copies exist beside the item: `conflicted`.
/// 2. Syncthing does not answer, or the folder is paused or in error: `unknown`.
/// 3. Syncthing's patterns exclude the item: `excluded`.
/// 4. No device's index contains it: `waitingToUpload` if it is on disk, otherwise `unknown`, because there is no such
///    item.
/// 5. This device's version is not the newest: `downloading` while Syncthing fetches it, otherwise `downloaded` if the
///    item is on disk, otherwise `notDownloaded`. The newest version may be a removal: then `downloaded` means that the
///    item will be removed soon.
/// 6. It has changed on disk since Syncthing's last scan: `waitingToUpload`.
/// 7. Another device made this version, or a device is known to have it completely, now or at its last connection:
///    `current`.
/// 8. Only this device has it: `uploading` while another device is connected, otherwise `waitingToUpload`.
///
/// The status of a current directory also depends on the items below it, as far as Syncthing knows them: `downloading`
/// or `downloaded` if this device lacks an item, `uploading` or `waitingToUpload` if every other device lacks an item.
public struct SyncthingStatus: ItemStatusSource {
    let container: FilePath
    let client: SyncthingClient
    private let files: any FileLayer
    private let conflicts: LocalItemStatus

    /// Makes a source for a container without asking anything yet.
    ///
    /// - Parameters:
    ///   - container: a container on this device.
    ///   - endpoint: the Syncthing of this device.
    ///   - timeout: the time after which a missing answer makes the status unknown.
    #if !Syncthing
        @available(*, unavailable, message: "SyncthingStatus needs the trait Syncthing: .package(..., traits: [\"Syncthing\"])")
    #endif
    public init(_ container: UbiquityContainer, endpoint: SyncthingEndpoint, timeout: Duration = .seconds(10)) {
        self.init(container.path, endpoint: endpoint, timeout: timeout)
    }

    /// Makes a source with the Syncthing that the device home's `config.json` configures; nil if it configures none.
    ///
    /// ```swift
    /// let source: any ItemStatusSource = try SyncthingStatus(configuredFor: container) ?? LocalItemStatus(container)
    /// ```
    ///
    /// - Parameter container: a container on this device.
    /// - Throws: `ContainerError` when the file cannot be read or understood; `SyncthingError` when its values are
    ///   unusable.
    #if !Syncthing
        @available(*, unavailable, message: "SyncthingStatus needs the trait Syncthing: .package(..., traits: [\"Syncthing\"])")
    #endif
    public init?(configuredFor container: UbiquityContainer) throws {
        guard let endpoint = try SyncthingEndpoint(configuredIn: container.home) else { return nil }
        self.init(container.path, endpoint: endpoint)
    }

    package init(_ container: FilePath, endpoint: SyncthingEndpoint, timeout: Duration = .seconds(10), files: any FileLayer = LinuxFileLayer()) {
        self.container = container.lexicallyNormalized()
        self.files = files
        client = SyncthingClient(endpoint, timeout: timeout)
        conflicts = LocalItemStatus(self.container, files: files)
    }

    /// Checks that Syncthing answers, accepts the key, and has a folder with the container.
    ///
    /// - Throws: `SyncthingError`, which names the remedy; `CancellationError`.
    public func check() async throws { _ = try await folder() }

    /// Returns the status of an item, by the rules above.
    ///
    /// - Parameter item: an absolute path in the container; the item need not exist.
    /// - Returns: its status; `unknown` while Syncthing does not answer.
    /// - Throws: `ContainerError` with `notInContainer`; `SyncthingError` with `wrongKey` or `folderNotShared`;
    ///   `CancellationError`.
    public func status(of item: FilePath) async throws -> ItemStatus {
        try await statuses(of: [item])[item]!
    }

    /// Returns the statuses of several items at one moment.
    ///
    /// - Parameter items: absolute paths in the container.
    /// - Returns: a status for each item.
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

    /// Tells when to ask again, based on Syncthing's events, without polling.
    ///
    /// While Syncthing does not answer, the source tries again, at first after one second, later after at most thirty.
    /// When Syncthing disappears or returns, the source reports the whole container.
    ///
    /// - Returns: the changes; the sequence ends with its reader's task.
    public func changes() -> AsyncStream<ItemStatusChange> { changes(clock: ContinuousClock()) }

    package func changes(clock: any Clock<Duration>) -> AsyncStream<ItemStatusChange> {
        let feed = SyncthingChangeFeed(self, clock: clock)
        return AsyncStream { await feed.next() }
    }

    /// Returns the folder that contains the container.
    func folder() async throws -> SharedFolder {
        let status = try await client.systemStatus()
        let folders = try await client.folders()
        guard let folder = SharedFolder(of: container, among: folders, status: status) else {
            throw SyncthingError(
                .folderNotShared,
                "No folder of the Syncthing at \(client.endpoint) contains \(container); add the containers root there as a folder, and share it with your other devices."
            )
        }
        return folder
    }
}
