import Foundation
import Glibc
import SyncthingStatus
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Reads ``WatchFacts`` of one container, as often as it is asked.
///
/// It reads files only: nothing is written, coordinated or downloaded, nor made beside a store's file.
actor WatchReader {
    /// What is read of a container.
    struct Options: Sendable {
        /// Store files, or paths that apps gave their stores, beside those that the device home knows.
        var stores: [FilePath] = []
        /// How many items are listed at most.
        var items = 100
        /// How many troubles of a kind are listed at most.
        var troubles = 100
        /// Whether it is asked how items stand: Syncthing, where `config.json` names it.
        var asksForStatus = true
        /// Whether directories of items are gone through at all, for what they take and for conflict copies.
        var walksItems = true
    }

    /// The container's directory, absolute.
    nonisolated let path: FilePath
    /// The device home; nil where there is none.
    nonisolated let home: DeviceHome?
    private let options: Options
    /// Which directory the container was when it was first seen.
    private var first: DirectoryIdentity?

    /// - Parameters:
    ///   - container: its directory.
    ///   - home: the device home; nil where there is none.
    ///   - options: what is read.
    init(_ container: FilePath, home: DeviceHome?, options: Options = Options()) {
        path = PathFacts.absolute(container)
        self.home = home
        self.options = options
    }

    /// Looks at the container now.
    ///
    /// - Returns: the facts. Of a container that is gone they say so, if this device was attached to it or this reader has seen it before.
    /// - Throws: `UbiquitousStoreError` where there is no such container and never was one, or where it cannot be listed; `CancellationError`.
    func facts() async throws -> WatchFacts {
        try Task.checkCancellation()
        let reading = ContainerReading(path: path, home: home, options: options, first: first)
        // What is no container is refused before anything below it is listed, which may be very much.
        let isContainer = PathFacts(at: path.appending(UbiquityContainer.markDirectoryName)).kind == .directory
        async let early = isContainer ? items() : nil
        let (read, identity) = try await blockingCancellably { try reading.facts($0) }
        if first == nil { first = identity }
        var facts = read
        let found = await early
        let statuses = isContainer || facts.presence == .gone ? found : await items()
        try Task.checkCancellation()
        if let statuses, facts.presence != .gone { facts.items = statuses }
        return facts.judged
    }

    /// How items stand; nil where it is not asked.
    private func items() async -> WatchFacts.Items? {
        guard options.asksForStatus else { return nil }
        var items = WatchFacts.Items()
        do {
            let endpoint = try home.flatMap { try SyncthingEndpoint(configuredIn: $0) }
            let source: any ItemStatusSource = endpoint.map { SyncthingStatus(path, endpoint: $0) } ?? LocalItemStatus(path)
            items.source = endpoint == nil ? "local" : "syncthing"
            let lines = try await ItemListing(of: [path], in: path, isRecursive: true, source: source).lines()
            items.count = lines.count
            for line in lines { items.byStatus[line.status.rawValue, default: 0] += 1 }
            let quiet: Set<ItemStatus> = [.current, .excluded, .unknown]
            let isTelling = lines.filter { !quiet.contains($0.status) }
            items.listed = Array(isTelling.prefix(options.items))
            items.listed += lines.lazy.filter { quiet.contains($0.status) }.prefix(options.items - items.listed.count)
            items.listed.sort { $0.path < $1.path }
            items.isWhole = items.listed.count == lines.count
        } catch {
            items.failure = "\(error)"
        }
        return items
    }
}

/// Which directory it is.
struct DirectoryIdentity: Sendable, Equatable {
    var device: UInt64
    var inode: UInt64

    /// Nil where there is no directory at a path.
    init?(of path: FilePath) {
        var status = stat()
        guard path.withPlatformString({ lstat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
