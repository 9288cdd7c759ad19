import ConfiguredTransports
import Foundation
internal import StoreInspection
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Reads ``WatchFacts`` of one container, any number of times.
///
/// It only reads files: it writes, coordinates and downloads nothing, and creates no files beside a store's file.
actor WatchReader {
    /// The options of a reader.
    struct Options: Sendable {
        /// Store files, or paths that apps gave their stores, in addition to the stores that the device home knows.
        var stores: [FilePath] = []
        /// The greatest number of listed items.
        var items = 100
        /// The greatest number of listed problems of each kind.
        var troubles = 100
        /// Whether to ask for the items' statuses: from Syncthing, if `config.json` names it.
        var asksForStatus = true
        /// Whether to walk the directories of items at all, for their sizes and conflict copies.
        var walksItems = true
    }

    /// The container's directory, absolute.
    nonisolated let path: FilePath
    /// The device home; nil if there is none.
    nonisolated let home: DeviceHome?
    private let options: Options
    /// What carries the container, or why it cannot be asked.
    nonisolated let transport: Result<any Transport, any Error>
    /// The identity of the container's directory at the first inspection.
    private var first: DirectoryIdentity?

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - container: the container's directory.
    ///   - home: the device home; nil if there is none.
    ///   - options: the options.
    init(_ container: FilePath, home: DeviceHome?, options: Options = Options()) {
        path = PathFacts.absolute(container)
        self.home = home
        self.options = options
        transport = Result { [path] in try configuredTransport(for: path, home: home) }
    }

    /// Inspects the container now.
    ///
    /// - Returns: the facts. For a missing container they say so, if this device was attached to it or this reader has
    ///   seen it before.
    /// - Throws: `UbiquitousStoreError` when there never was such a container, or it cannot be listed;
    ///   `CancellationError`.
    func facts() async throws -> WatchFacts {
        try Task.checkCancellation()
        // A directory that does not answer would keep this call, and its thread, until it does.
        if case .silent(let since) = await DirectoryProbe.ask(path) { throw ContainerError.silent(path, since: since) }
        let reading = ContainerReading(path: path, home: home, options: options, first: first)
        // A directory that is not a container is rejected before the directories below it, possibly very many, are
        // listed.
        let isContainer = PathFacts(at: path.appending(UbiquityContainer.markDirectoryName)).kind == .directory
        async let early = isContainer ? items() : nil
        let (read, identity) = try await blockingCancellably { try reading.facts($0) }
        if first == nil { first = identity }
        var facts = read
        let found = await early
        let statuses = isContainer || facts.presence == .gone ? found : await items()
        try Task.checkCancellation()
        if let statuses, facts.presence != .gone { facts.items = statuses }
        if options.asksForStatus { await addTransport(to: &facts) }
        return facts.judged
    }

    /// Returns the statuses of the items; nil if they are not requested.
    private func items() async -> WatchFacts.Items? {
        guard options.asksForStatus else { return nil }
        var items = WatchFacts.Items()
        do {
            let transport = try transport.get()
            let lines = try await ItemListing(of: [path], in: path, isRecursive: true, transport: transport).lines()
            items.count = lines.count
            items.elsewhere = lines.count { !$0.isHere }
            for line in lines { items.byStatus[line.status.rawValue, default: 0] += 1 }
            let quiet: Set<ItemStatus> = [.current, .excluded, .unknown]
            let isTelling = lines.filter { !quiet.contains($0.status) }
            items.listed = Array(isTelling.prefix(options.items))
            items.listed += lines.lazy.filter { quiet.contains($0.status) }.prefix(options.items - items.listed.count)
            let listed = items.listed
            items.listed = try await blocking { listed.map(\.sized).sorted { $0.path < $1.path } }
            items.isWhole = items.listed.count == lines.count
        } catch {
            items.failure = "\(error)"
        }
        return items
    }

    /// Adds the transport's condition, and how far the changes of this device's stores have got.
    private func addTransport(to facts: inout WatchFacts) async {
        guard let transport = try? transport.get(), let condition = try? await transport.condition() else { return }
        facts.transport = condition
        guard facts.presence == .there else { return }
        for store in facts.localStores.indices {
            for index in facts.localStores[store].files.indices {
                let file = facts.localStores[store].files[index]
                guard file.isInUse, file.exchange != nil else { continue }
                facts.localStores[store].files[index].delivery = await file.summary.delivery(in: path, by: transport, condition)
            }
        }
    }
}

/// The identity of a directory.
struct DirectoryIdentity: Sendable, Equatable {
    var device: UInt64
    var inode: UInt64

    /// Nil if there is no directory at a path.
    init?(of path: FilePath) {
        guard let facts = try? FileManager.default.attributesOfItem(atPath: path.string), facts[.type] as? FileAttributeType == .typeDirectory,
            let device = facts[.systemNumber] as? UInt64, let inode = facts[.systemFileNumber] as? UInt64
        else { return nil }
        (self.device, self.inode) = (device, inode)
    }
}

extension ItemListing.Line {
    /// The line with the size of the file that is here, if the transport tells none.
    fileprivate var sized: Self {
        guard size == nil, isHere, let facts = try? FileFacts(of: FilePath(path)), facts.kind == .file else { return self }
        var line = self
        line.size = facts.size
        return line
    }
}
