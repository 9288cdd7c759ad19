internal import Foundation
public import SystemPackage
public import UbiquityContainers

/// The Syncthing that carries a container.
///
/// ```swift
/// let endpoint = try SyncthingEndpoint("http://127.0.0.1:8384", key: key)
/// let transport = SyncthingTransport(container, endpoint: endpoint)
/// print(try await transport.state(of: container.documents.appending("Letter.txt")).status)
/// ```
///
/// The first of these rules that applies decides the status of an item:
///
/// 1. In or below a `*.nosync`: `excluded`. Conflict copies exist beside the item: `conflicted`.
/// 2. Syncthing does not answer, or the folder is paused or in error: `unknown`.
/// 3. Syncthing's patterns exclude the item: `excluded`.
/// 4. No device's index contains it: `waitingToUpload` if it is on disk, otherwise `unknown`, because there is no such
///    item.
/// 5. This device's version is not the newest: `downloading` while Syncthing fetches it, `failed` if it could not,
///    otherwise `downloaded` if the item is on disk, otherwise `notDownloaded`. The newest version may be a removal: then
///    `downloaded` means that the item will be removed soon.
/// 6. It has changed on disk since Syncthing's last scan: `waitingToUpload`.
/// 7. Another device made this version, or a device is known to have it completely, now or at its last connection:
///    `current`.
/// 8. Only this device has it: `uploading` while another device is connected, otherwise `waitingToUpload`.
///
/// The status of a current directory also depends on the items below it, as far as Syncthing knows them: `downloading`
/// or `downloaded` if this device lacks an item, `uploading` or `waitingToUpload` if every other device lacks an item.
///
/// Progress comes from Syncthing's events, so it is known only while somebody reads ``changes()`` of this value or a
/// copy of it.
public struct SyncthingTransport: Transport {
    let container: FilePath
    let client: SyncthingClient
    private let files: any FileLayer
    private let local: DirectoryTransport
    let memory = TransferMemory()
    /// The number of items above which what other devices lack is asked first, for all of them at once.
    private static let many = 64

    /// Makes the transport of a container without asking anything yet.
    ///
    /// - Parameters:
    ///   - container: a container on this device.
    ///   - endpoint: the Syncthing of this device.
    ///   - timeout: the time after which a missing answer makes the status unknown.
    #if !Syncthing
        @available(*, unavailable, message: "SyncthingTransport needs the trait Syncthing: .package(..., traits: [\"Syncthing\"])")
    #endif
    public init(_ container: UbiquityContainer, endpoint: SyncthingEndpoint, timeout: Duration = .seconds(10)) {
        self.init(container.path, endpoint: endpoint, timeout: timeout)
    }

    /// Makes the transport with the Syncthing that the device home's `config.json` configures; nil if it configures none.
    ///
    /// ```swift
    /// let transport: any Transport = try SyncthingTransport(configuredFor: container) ?? DirectoryTransport(container)
    /// ```
    ///
    /// - Parameter container: a container on this device.
    /// - Throws: `ContainerError` when the file cannot be read or understood; `SyncthingError` when its values are
    ///   unusable.
    #if !Syncthing
        @available(*, unavailable, message: "SyncthingTransport needs the trait Syncthing: .package(..., traits: [\"Syncthing\"])")
    #endif
    public init?(configuredFor container: UbiquityContainer) throws {
        guard let endpoint = try SyncthingEndpoint(configuredIn: container.home) else { return nil }
        self.init(container.path, endpoint: endpoint)
    }

    package init(_ container: FilePath, endpoint: SyncthingEndpoint, timeout: Duration = .seconds(10), files: any FileLayer = LinuxFileLayer()) {
        self.container = container.lexicallyNormalized()
        self.files = files
        client = SyncthingClient(endpoint, timeout: timeout)
        local = DirectoryTransport(self.container, files: files)
    }

    /// `syncthing`.
    public var kind: TransportKind { .syncthing }

    /// Checks that Syncthing answers, accepts the key, and has a folder with the container.
    ///
    /// - Throws: `SyncthingError`, which names the remedy; `CancellationError`.
    public func check() async throws { _ = try await folder() }

    /// Returns whether Syncthing carries the container, and how far each device that shares it is.
    ///
    /// - Returns: the condition; its failure is the message of a `SyncthingError`, or why Syncthing has stopped the
    ///   folder.
    /// - Throws: `CancellationError`.
    public func condition() async throws -> TransportCondition {
        var condition = TransportCondition(.syncthing)
        do {
            let folder = try await folder()
            condition.devices = try await Inquiry(client: client, folder: folder).devices()
            condition.failure = try await Inquiry(client: client, folder: folder).failure
            if condition.failure == nil, condition.isConnected == false { condition.since = condition.devices.compactMap(\.lastSeen).max() }
        } catch let error as SyncthingError {
            condition.failure = error.message
        }
        if let since = memory.note(isFailed: condition.failure != nil) { condition.since = since }
        if case .there(let facts) = await DirectoryProbe.ask(container) { condition.free = facts.map { Int64(clamping: $0.available) } }
        return condition
    }

    /// Returns the states of items at one moment, by the rules above.
    ///
    /// - Parameter items: absolute paths in the container; they need not exist.
    /// - Returns: a state for each item; `unknown` while Syncthing does not answer.
    /// - Throws: `ContainerError` with `notInContainer`; `SyncthingError` with `wrongKey` or `folderNotShared`;
    ///   `CancellationError`.
    public func states(of items: [FilePath]) async throws -> [FilePath: ItemState] {
        var states = try await local.states(of: items)
        let open = items.filter { states[$0]?.status == .unknown }
        if open.isEmpty { return states }
        do {
            let inquiry = Inquiry(client: client, folder: try await folder())
            guard try await inquiry.failure == nil else { return states }
            var rest: [FilePath] = []
            for item in open {
                if open.count > Self.many, let state = try await inquiry.stateOfLackedByAll(item.lexicallyNormalized()) {
                    states[item] = memory.completed(state, of: item)
                } else {
                    rest.append(item)
                }
            }
            try await inquiry.look(at: rest.map { $0.lexicallyNormalized() })
            for item in rest { states[item] = memory.completed(try await inquiry.state(of: item.lexicallyNormalized()), of: item) }
        } catch let error as SyncthingError where error.isPassing {
            for item in open { states[item] = ItemState(.unknown) }
        }
        return states
    }

    /// Returns the items that other devices have and this device has not, as far as Syncthing's indices tell.
    ///
    /// Items that never leave a device, and files of the synchroniser, are left out; hidden items are not.
    ///
    /// - Parameter directory: the container, or an absolute path in it.
    /// - Returns: `notDownloaded`, `downloading` or `failed` for each, with its size.
    /// - Throws: as ``states(of:)`` does.
    public func elsewhere(below directory: FilePath) async throws -> [FilePath: ItemState] {
        let directory = try ItemPath.resolve(directory, in: container)
        do {
            let folder = try await folder()
            let inquiry = Inquiry(client: client, folder: folder)
            guard try await inquiry.failure == nil else { return [:] }
            var states: [FilePath: ItemState] = [:]
            for (name, state) in try await inquiry.missing() {
                guard let item = folder.item(named: name, in: container), item != directory, item.starts(with: directory) else { continue }
                states[item] = memory.completed(state, of: item)
            }
            return states
        } catch let error as SyncthingError where error.isPassing {
            return [:]
        }
    }

    /// Asks Syncthing to scan a directory, so that its new files leave at once and not at the next scan.
    ///
    /// - Parameter directory: an absolute path in the container.
    public func published(in directory: FilePath) async {
        for isLast in [false, true] {
            do {
                guard let folder = try await memory.folder(orAsking: { try await folder() }), let name = folder.name(of: directory) else { return }
                return try await client.send("POST", "db/scan", ["folder": folder.id, "sub": name])
            } catch {
                // The folder may have another identifier or path by now.
                memory.forgetFolder()
                if isLast || Task.isCancelled { return }
            }
        }
    }

    /// Tells when to ask again, based on Syncthing's events, without polling.
    ///
    /// While Syncthing does not answer, the source tries again, at first after one second, later after at most thirty.
    /// When Syncthing disappears or returns, the source reports the whole container.
    ///
    /// - Returns: the changes; the sequence ends with its reader's task.
    public func changes() -> AsyncStream<TransportChange> { changes(clock: ContinuousClock()) }

    package func changes(clock: any Clock<Duration>) -> AsyncStream<TransportChange> {
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
