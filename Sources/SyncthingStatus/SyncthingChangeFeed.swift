internal import SystemPackage
internal import UbiquityContainers

/// One reader's position in Syncthing's events.
///
/// It asks only when its reader asks. Syncthing keeps the events meanwhile, and their numbers show whether it has
/// dropped some.
actor SyncthingChangeFeed {
    /// The events that may change a status.
    ///
    /// All readers use one selection, because Syncthing keeps a buffer for each selection.
    static let types = [
        "LocalIndexUpdated", "RemoteIndexUpdated", "ItemStarted", "ItemFinished", "DownloadProgress", "RemoteDownloadProgress", "FolderCompletion",
        "StateChanged",
        "FolderPaused", "FolderResumed", "DeviceConnected", "DeviceDisconnected", "ConfigSaved",
    ]
    /// How long Syncthing delays its answer while there is no event.
    private static let wait = Duration.seconds(60)
    private static let longestPause = Duration.seconds(30)

    private let transport: SyncthingTransport
    private let clock: any Clock<Duration>
    private var pending: ArraySlice<TransportChange>
    private var connection: (folder: SharedFolder, last: Int)?
    /// The number of failures since the last answer.
    private var failures = 0
    private var pause = Duration.seconds(1)

    init(_ transport: SyncthingTransport, clock: any Clock<Duration>) {
        self.transport = transport
        self.clock = clock
        pending = [.below(transport.container)]
    }

    func next() async -> TransportChange? {
        while !Task.isCancelled {
            if let change = pending.popFirst() { return change }
            do {
                if let (folder, last) = connection {
                    try await read(folder, after: last)
                } else {
                    try await connect()
                }
            } catch {
                if Task.isCancelled { return nil }
                failures = connection == nil ? failures + 1 : 0
                connection = nil
                // A Syncthing that is stopping drops its readers first, and may still answer then. All statuses are
                // unknown after it stops answering.
                if failures < 2 {
                    pending = [.below(transport.container)]
                } else {
                    do { try await clock.sleep(for: pause) } catch { return nil }
                    pause = min(pause * 2, Self.longestPause)
                }
            }
        }
        return nil
    }

    private func connect() async throws {
        // The number comes first, so that no change is missed.
        let last = try await transport.client.events(Self.types, after: 0, wait: .zero, limit: 1).last?.id ?? 0
        connection = (try await transport.folder(), last)
        failures = 0
        pause = .seconds(1)
        pending = [.below(transport.container)]
    }

    private func read(_ folder: SharedFolder, after last: Int) async throws {
        let events = try await transport.client.events(Self.types, after: last, wait: Self.wait)
        guard let first = events.first, let newest = events.last else { return }
        connection = (folder, newest.id)
        let hasGap = first.id != last + 1
        let isConfigured = events.contains { $0.type == "ConfigSaved" }
        // The folder may have another path now, or be shared with other devices.
        if isConfigured { connection = nil }
        pending = hasGap || isConfigured ? [.below(transport.container)] : changes(events, in: folder)[...]
    }

    private func changes(_ events: [SyncthingEvent], in folder: SharedFolder) -> [TransportChange] {
        var items: [TransportChange] = []
        var seen: Set<TransportChange> = []
        for event in events where event.folder.isEmpty || event.folder == folder.id {
            remember(event, in: folder)
            let names = event.filenames + (event.item.map { [$0] } ?? [])
            if names.isEmpty, !event.type.hasSuffix("DownloadProgress") {
                // Only events at the start or the end of a folder's activity concern items.
                if event.type == "StateChanged", !["idle", "error"].contains(event.to) { continue }
                return [.below(transport.container)]
            }
            for name in names {
                guard let item = item(name, in: folder), seen.insert(.item(item)).inserted else { continue }
                items.append(.item(item))
            }
        }
        return items
    }

    /// Notes how far transfers are.
    private func remember(_ event: SyncthingEvent, in folder: SharedFolder) {
        func items<Value>(_ names: [String: Value], _ progress: (Value) -> TransferProgress) -> [FilePath: TransferProgress] {
            names.reduce(into: [:]) { items, entry in
                guard let item = folder.item(named: entry.key, in: transport.container) else { return }
                items[item] = progress(entry.value)
            }
        }
        switch event.type {
        // It tells of all downloads of all folders.
        case "DownloadProgress":
            transport.memory.downloads(items(event.downloads[folder.id] ?? [:]) { TransferProgress(done: $0.done, total: $0.total) })
        case "RemoteDownloadProgress":
            transport.memory.uploads(to: event.device, items(event.blocks) { TransferProgress(blocks: $0) })
        default: break
        }
    }

    /// Returns an item of the container, in the reader's spelling of the path; for a conflict copy, its original.
    private func item(_ name: String, in folder: SharedFolder) -> FilePath? {
        guard let item = folder.item(named: name, in: transport.container) else { return nil }
        guard let name = item.lastComponent?.string, let original = ItemPath.original(ofConflictCopy: name) else { return item }
        return item.removingLastComponent().appending(original)
    }
}
