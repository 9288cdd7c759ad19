internal import Foundation
internal import StoreFormat
internal import SystemPackage
package import UbiquityContainers

/// Determines how far a peer's own logs have got, from the container's files and its transport.
///
/// A log that the receipt of another peer names has left this device, whatever the transport says. Only later logs are
/// asked about.
package struct DeliveryReader: Sendable {
    private let layout: ContentLayout
    private let own: PeerIdentifier
    private let epoch: Int64
    private let files: any FileLayer

    /// Creates a reader of one peer's files in one epoch.
    package init(layout: ContentLayout, own: PeerIdentifier, epoch: Int64, files: any FileLayer = LinuxFileLayer()) {
        self.layout = layout
        self.own = own
        self.epoch = epoch
        self.files = files
    }

    /// The files of the container that tell how far logs have got.
    struct Contents: Sendable {
        /// A file that may not have left this device.
        struct File: Sendable {
            var path: FilePath
            var isLog: Bool
            var bytes: Int64
            var time: Date
        }

        var published: Int64 = 0
        var readers: [StoreDelivery.Reader] = []
        /// The files that no receipt shows to have left.
        var open: [File] = []
    }

    /// Reads the delivery.
    ///
    /// - Parameters:
    ///   - transport: what carries the container.
    ///   - known: the transport's condition, if the caller has asked for it already.
    ///   - unpublished: the number of logs that are not in the container yet.
    /// - Returns: the delivery at this moment.
    /// - Throws: `Errno` if the container cannot be read; the transport's error; `CancellationError`.
    package func delivery(by transport: any Transport, in known: TransportCondition? = nil, unpublished: Int) async throws -> StoreDelivery {
        let condition: TransportCondition
        if let known { condition = known } else { condition = try await transport.condition() }
        let contents: Contents = try await blocking { try self.contents() }
        let states = contents.open.isEmpty ? [:] : try await transport.states(of: contents.open.map(\.path))
        return Self.delivery(contents, states, condition, unpublished: unpublished)
    }

    /// Derives the delivery.
    static func delivery(
        _ contents: Contents, _ states: [FilePath: ItemState], _ condition: TransportCondition, unpublished: Int
    ) -> StoreDelivery {
        // Without a word of the transport, what no receipt names may still be here only.
        let waiting = contents.open.filter { file in
            switch states[file.path]?.status ?? .unknown {
            case .current, .downloaded, .downloading, .notDownloaded, .conflicted: false
            case .unknown, .uploading, .waitingToUpload, .excluded, .failed: true
            }
        }
        let logs = waiting.filter(\.isLog)
        return StoreDelivery(
            transport: condition.kind, obstacle: condition.obstacle, obstacleSince: condition.obstacle == nil ? nil : condition.since,
            unpublished: unpublished, published: contents.published, waitingLogs: logs.count, waitingBytes: waiting.reduce(0) { $0 + $1.bytes },
            waitingSince: logs.map(\.time).min(), isCertain: condition.kind != .none && condition.isReachable, readers: contents.readers)
    }

    private func contents() throws -> Contents {
        var contents = Contents()
        let folders = PeerFolders(layout: layout, files: files)
        let directory = layout.logs(of: own, epoch: epoch)
        guard (try? folders.isThere(directory)) == true else { return contents }
        let logs = try files.names(in: directory).compactMap { LogFileName($0) }.sorted()
        contents.published = logs.last?.sequence ?? 0
        var read: Int64 = 0
        for (peer, newest) in try layout.receipts(besides: own, epoch: epoch, files: files).sorted(by: { $0.key < $1.key }) {
            let sequence = newest.receipt?.stated.sequence(of: own) ?? 0
            read = max(read, sequence)
            contents.readers.append(
                .init(
                    peer: peer.description, device: newest.receipt?.device, read: sequence, behind: max(0, contents.published - sequence),
                    seen: newest.receipt?.time))
        }
        contents.open = logs.filter { $0.sequence > read }.compactMap { file(directory.appending($0.description), isLog: true) }
        guard let first = contents.open.map(\.time).min() else { return contents }
        // Large values are published before the log that names them.
        let values = layout.values(of: own, epoch: epoch)
        guard (try? folders.isThere(values)) == true else { return contents }
        let names = try files.names(in: values)
        contents.open += names.compactMap { file(values.appending($0), isLog: false) }.filter { $0.time >= first.addingTimeInterval(-60) }
        return contents
    }

    /// Returns a file; nil if it has been removed meanwhile.
    private func file(_ path: FilePath, isLog: Bool) -> Contents.File? {
        guard let facts = (try? FileFacts(of: path)) ?? nil, facts.kind == .file else { return nil }
        return Contents.File(path: path, isLog: isLog, bytes: facts.size, time: facts.modificationDate)
    }
}
