public import FileCoordination
public import Foundation
public import SystemPackage

/// A document on its way to or from the cloud.
public struct ItemTransfer: Sendable, Hashable {
    /// The direction of a transfer.
    public enum Direction: String, Sendable, Hashable, Codable {
        /// To the cloud.
        case upload
        /// To this device.
        case download
    }

    /// The document's absolute path.
    public let path: FilePath
    /// The direction.
    public let direction: Direction
    /// The bytes that have been transferred, and their rate since the beginning.
    public let progress: TransferProgress
    /// When it began.
    public let began: Date

    /// The path as a URL.
    public var url: URL { URL(filePath: path.string, directoryHint: .notDirectory) }
}

// Documents that a cloud carries can be elsewhere: their placeholders are here, and their bytes are not.
extension UbiquityContainer {
    /// Starts to fetch a document's newest version; Cocoa's `startDownloadingUbiquitousItem(at:)`.
    ///
    /// It returns before the document is here, and does nothing if it is here and newest. A coordinated read of the document
    /// waits for it; ``transfers`` shows how far it is.
    ///
    /// - Parameter url: a document in the container.
    /// - Throws: `ContainerError` with `notInContainer`, or with `notAvailable` and the remedy where nothing fetches single
    ///   items; `CancellationError`.
    public func startDownloading(_ url: URL) async throws {
        let item = try itemPath(url)
        guard carriesOnDemand else { return try await DirectoryTransport(self).startDownloading(item) }
        try await fetch(item, waits: false)
    }

    /// Fetches a document's newest version, and returns when it is here.
    ///
    /// - Parameter url: a document in the container.
    /// - Throws: as ``startDownloading(_:)``, also if the document cannot be fetched.
    public func download(_ url: URL) async throws {
        let item = try itemPath(url)
        guard carriesOnDemand else { return try await DirectoryTransport(self).startDownloading(item) }
        try await fetch(item, waits: true)
    }

    private func fetch(_ item: FilePath, waits: Bool) async throws {
        do {
            try await refusable(item, "cannot be fetched") { try await agent.ask(.fetch([nameBelowAccount(item)], waits: waits)) }
        } catch let error as ContainerError where (error.cause as? ItemAgent.Refusal)?.isWithoutAgent == true {
            // An item that is here needs no agent.
            guard Placeholder.standing(for: item) == nil, ((try? FileFacts(of: item)) ?? nil) != nil else { throw error }
        }
    }

    /// Removes a document's bytes from this device; Cocoa's `evictUbiquitousItem(at:)`.
    ///
    /// The document stays listed, and a coordinated read fetches it again.
    ///
    /// Presenters of the document are asked with `accommodatePresentedItemEviction()`; one that does not implement it refuses. The
    /// caller must not hold a coordinated write of it in another task; it may call this inside the accessor of its own write.
    ///
    /// - Parameters:
    ///   - url: a document in the container.
    ///   - deadline: the limit of the wait for other accesses; nil waits without limit.
    /// - Throws: `ContainerError` with `notAvailable` and the reason: it is in use or pinned, has changes that the cloud does not
    ///   have, or the folder's transport brings no single item back; `FileCoordinationError`; a presenter's own error;
    ///   `CancellationError`. The document is as it was then.
    public func evict(_ url: URL, deadline: FileCoordinator.Deadline? = nil) async throws {
        let item = try itemPath(url)
        guard carriesOnDemand else { return try await DirectoryTransport(self).evict(item) }
        try await FileCoordinator.evict(url, deadline: deadline) {
            try await refusable(item, "cannot be evicted") { try await agent.ask(.evict(nameBelowAccount(item))) }
        }
    }

    /// Returns how far a document's transfer is.
    ///
    /// - Parameter url: a document in the container.
    /// - Returns: nil if it is not on its way, or no agent runs.
    /// - Throws: `ContainerError` with `notInContainer`.
    public func transfer(of url: URL) async throws -> ItemTransfer? {
        let item = try itemPath(url)
        for await transfers in transfers { return transfers.first { $0.path == item } }
        return nil
    }

    /// The documents of the container that are on their way, now and after each change, at least each second meanwhile.
    ///
    /// The first element is the present state. The sequence ends with its reader's task, and waits while no agent runs.
    public var transfers: AsyncStream<[ItemTransfer]> {
        let (agent, prefix, parent) = (agent, "\(identifier)/", path.removingLastComponent())
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                var last: [ItemTransfer]?
                for await transfers in agent.transfers() {
                    let now = Date()
                    let own = transfers.filter { $0.path.hasPrefix(prefix) }.compactMap { transfer -> ItemTransfer? in
                        guard let direction = ItemTransfer.Direction(rawValue: transfer.direction) else { return nil }
                        let time = now.timeIntervalSince(transfer.began)
                        let rate = transfer.done > 0 && time > 0 ? Double(transfer.done) / time : nil
                        return ItemTransfer(
                            path: parent.pushing(FilePath(transfer.path)), direction: direction,
                            progress: TransferProgress(done: transfer.done, total: transfer.total, rate: rate), began: transfer.began)
                    }
                    if own.isEmpty, last?.isEmpty == true { continue }
                    continuation.yield(own)
                    last = own
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    // MARK: What is kept here

    /// Returns which documents this device fetches although nobody has opened them; `everything` unless it was set.
    ///
    /// - Throws: `ContainerError` when `config.json` cannot be read or understood.
    public func downloadPolicy() throws -> DownloadPolicy { try home.downloads.policies?[identifier.description] ?? .everything }

    /// Sets which documents this device fetches although nobody has opened them.
    ///
    /// Documents that are here stay here; ``evict(_:deadline:)`` removes them. The setting is this device's alone.
    ///
    /// - Parameter policy: the policy.
    /// - Throws: `ContainerError` when `config.json` cannot be read or written.
    public func setDownloadPolicy(_ policy: DownloadPolicy) async throws {
        var downloads = try home.downloads
        downloads.policies = (downloads.policies ?? [:]).merging([identifier.description: policy]) { $1 }
        try await configure(downloads)
    }

    /// Returns the items that are kept on this device, whatever the policy is.
    ///
    /// - Returns: their paths below the container, sorted.
    /// - Throws: `ContainerError` when `config.json` cannot be read or understood.
    public func pinnedItems() throws -> [String] { (try home.downloads.pinned?[identifier.description] ?? []).sorted() }

    /// Keeps an item, and everything below a directory, on this device: it is fetched, and not evicted.
    ///
    /// - Parameters:
    ///   - isPinned: whether it is kept.
    ///   - url: a document or directory in the container, or the container.
    /// - Throws: `ContainerError` when the item is not in the container, or `config.json` cannot be read or written.
    public func setPinned(_ isPinned: Bool, itemAt url: URL) async throws {
        var relative = try itemPath(url)
        _ = relative.removePrefix(path.lexicallyNormalized())
        var downloads = try home.downloads
        var pins = Set(downloads.pinned?[identifier.description] ?? [])
        if isPinned { pins.insert(relative.string) } else { pins.remove(relative.string) }
        downloads.pinned = (downloads.pinned ?? [:]).merging([identifier.description: pins.sorted()]) { $1 }.filter { !$0.value.isEmpty }
        try await configure(downloads)
    }

    private func configure(_ downloads: DownloadConfiguration) async throws {
        try HomeSettings(home).configure(["downloads": downloads])
        _ = try? await agent.ask(.downloadsChanged)
    }

    // MARK: Asking

    var agent: ItemAgent { ItemAgent(home) }

    /// Whether a cloud carries the container, and no synchroniser does too, for which a missing file would be a deletion.
    private var carriesOnDemand: Bool { home.usesCloud && DirectoryProbe.synchronisedFolder(above: path) == nil }

    private func itemPath(_ url: URL) throws(ContainerError) -> FilePath {
        guard url.isFileURL else {
            throw ContainerError(.notInContainer, "\(url.absoluteString) is no file URL; give the URL of an item in \(path).", path: path)
        }
        return try ItemPath.resolve(FilePath(url.path(percentEncoded: false)), in: path)
    }

    /// The name by which the agent knows an item.
    func nameBelowAccount(_ item: FilePath) -> String {
        var relative = item
        _ = relative.removePrefix(path.lexicallyNormalized())
        return relative.isEmpty ? identifier.description : "\(identifier)/\(relative)"
    }

    private func refusable(_ item: FilePath, _ problem: String, _ body: () async throws -> ItemAnswer) async throws {
        do {
            _ = try await body()
        } catch let refusal as ItemAgent.Refusal {
            throw ContainerError(.notAvailable, "\(item) \(problem): \(refusal).", path: item, cause: refusal)
        }
    }
}

extension DirectoryProbe {
    /// The nearest directory above a path that Syncthing carries; nil if there is none.
    package static func synchronisedFolder(above path: FilePath) -> FilePath? {
        var place = path
        while !place.components.isEmpty {
            if (try? LinuxFileLayer().kind(of: place.appending(".stfolder"))) ?? nil != nil { return place }
            place.removeLastComponent()
        }
        return nil
    }
}

/// Lets coordinated reads wait for documents that are elsewhere.
struct CloudItemSource: ItemSource {
    let container: FilePath
    /// The container's directory without symbolic links, as coordination spells it.
    let resolved: FilePath
    let identifier: String
    let home: DeviceHome

    func awaitedItem(_ path: FilePath) -> FilePath? {
        Placeholder.item(of: path, in: path.starts(with: resolved) ? resolved : container)
    }

    func bring(_ item: FilePath) async throws {
        if let request = request(item) { _ = try await ItemAgent(home).ask(request) }
    }

    func bringBlocking(_ item: FilePath) throws { if let request = request(item) { _ = try ItemAgent(home).askBlocking(request) } }

    private func request(_ item: FilePath) -> ItemRequest? {
        var relative = item
        guard relative.removePrefix(resolved) || relative.removePrefix(container) else { return nil }
        return .fetch(["\(identifier)/\(relative)"], waits: true)
    }
}
