public import Foundation
public import SystemPackage
internal import UbiquityContainers

/// What a look at a container's files tells, without opening a store, and without writing or coordinating anything.
public struct ContainerSurvey: Sendable, Codable {
    /// The account, from the path.
    public var account: String
    /// The container's identifier, from the path.
    public var container: String
    /// The container's directory.
    public var path: String
    /// The peers that have left an attachment mark, by name.
    public var attached: [String]
    /// The contents of stores, by name.
    public var stores: [Store]

    /// One store's content.
    public struct Store: Sendable, Codable {
        /// The content, by its path below `CoreData`: its name, unless the app puts it deeper.
        public var name: String
        /// The highest epoch that a mark names; 0 where there is no mark.
        public var epoch: Int64
        /// The peers that have a directory, by name.
        public var peers: [Peer]
        /// How many logs there are in this epoch.
        public var logs: Int
        /// Their bytes.
        public var bytes: Int64
    }

    /// One peer of a store.
    public struct Peer: Sendable, Codable {
        /// Its name.
        public var peer: String
        /// The device's name, from its receipt.
        public var device: String?
        /// The app's name, from its receipt.
        public var app: String?
        /// When it wrote its receipt, by its own clock.
        public var seen: Date?
        /// How many logs of its own lie there.
        public var logs: Int
        /// Their bytes.
        public var bytes: Int64
        /// The highest sequence of them.
        public var last: Int64
        /// Whether there are two logs of one sequence: the identifier has been in use in two places at once.
        public var isForked: Bool
        /// Whose logs it has read, and how far.
        public var knowledge: [Lag]
    }

    /// How far a peer has read the logs of another.
    public struct Lag: Sendable, Codable {
        /// Whose logs.
        public var peer: String
        /// The last one read, on any branch.
        public var read: Int64
        /// How many more there are.
        public var behind: Int64
    }
}

extension ContainerSurvey {
    /// Looks at a container.
    ///
    /// - Parameter path: `<containers root>/<account>/<container identifier>`. Blocks while it reads directories and one receipt a peer.
    /// - Throws: `UbiquitousStoreError` where there is no such directory, or it is no container.
    public init(of path: FilePath) throws {
        let files = LinuxFileLayer()
        let absolute = path.isRelative ? FilePath(FileManager.default.currentDirectoryPath).pushing(path) : path
        let full = absolute.lexicallyNormalized()
        guard try files.kind(of: full) == .directory else {
            throw UbiquitousStoreError(
                .fileSystem, "\(full) is not a directory; name a container: <containers root>/<account>/<container identifier>.", path: full)
        }
        guard let identifier = full.lastComponent, let account = full.removingLastComponent().lastComponent,
            try files.kind(of: full.appending(UbiquityContainer.markDirectoryName)) == .directory
        else {
            throw UbiquitousStoreError(
                .fileSystem, "\(full) is not a container: it has no .ubiquity directory. Name <containers root>/<account>/<container identifier>.",
                path: full)
        }
        self.account = account.string
        container = identifier.string
        self.path = full.string
        attached = try files.names(in: full.appending(UbiquityContainer.markDirectoryName)).filter { PeerIdentifier($0) != nil }.sorted()
        stores = try UbiquityContainer.storeContents(of: full, files).compactMap { name in
            let layout = ContentLayout(container: full, content: name)
            guard try files.kind(of: layout.epochs) == .directory else { return nil }
            return try Self.store(name, layout, files)
        }
    }

    static func store(_ name: String, _ layout: ContentLayout, _ files: any FileLayer) throws -> Store {
        let epoch = try names(in: layout.epochs, files).compactMap(ContentLayout.epoch(ofMark:)).max() ?? 0
        var peers: [SurveyedPeer] = []
        for directory in try names(in: layout.directory, files) {
            guard let peer = PeerIdentifier(directory) else { continue }
            peers.append(try Self.peer(peer, layout, epoch: epoch, files))
        }
        peers.sort { $0.peer.peer < $1.peer.peer }
        let authors = Dictionary(uniqueKeysWithValues: peers.map { ($0.peer.peer, $0) })
        for index in peers.indices {
            let own = peers[index].peer.peer
            let known = peers[index].stated
            peers[index].peer.knowledge = Set(authors.keys).union(known.heads.keys.map(\.description)).subtracting([own]).sorted().map { other in
                guard let identifier = PeerIdentifier(other) else { return Lag(peer: other, read: 0, behind: 0) }
                return Lag(peer: other, read: known.sequence(of: identifier), behind: authors[other]?.behind(known.certainHeads(of: identifier)) ?? 0)
            }
        }
        return Self.store(name, epoch: epoch, peers.map(\.peer))
    }

    private static func store(_ name: String, epoch: Int64, _ peers: [Peer]) -> Store {
        Store(name: name, epoch: epoch, peers: peers, logs: peers.reduce(0) { $0 + $1.logs }, bytes: peers.reduce(0) { $0 + $1.bytes })
    }

    private static func peer(_ identifier: PeerIdentifier, _ layout: ContentLayout, epoch: Int64, _ files: any FileLayer) throws -> SurveyedPeer {
        let directory = layout.logs(of: identifier, epoch: epoch)
        let logs = try names(in: directory, files).compactMap { LogFileName($0) }
        let isForked = Set(logs.map(\.sequence)).count < logs.count
        var peer = Peer(
            peer: identifier.description, logs: logs.count, bytes: 0, last: logs.map(\.sequence).max() ?? 0, isForked: isForked, knowledge: [])
        for log in logs { peer.bytes += (try? files.size(of: directory.appending(log.description))) ?? 0 }
        let receipts = layout.receipts(of: identifier, epoch: epoch)
        var stated = Knowledge()
        // The last one that can be read: a synchroniser may bring the newest half.
        for number in try names(in: receipts, files).compactMap(Receipt.number(ofFile:)).sorted(by: >) {
            guard let bytes = try? files.read(receipts.appending(String(number)), limit: 16 << 20), let receipt = Receipt(decoding: bytes) else {
                continue
            }
            (peer.device, peer.app, peer.seen) = (receipt.device, receipt.app, receipt.time)
            stated = receipt.stated
            break
        }
        return SurveyedPeer(peer: peer, stated: stated, predecessors: isForked ? predecessors(of: logs, in: directory, files) : [:])
    }

    /// For each whole log the one before it.
    private static func predecessors(of logs: [LogFileName], in directory: FilePath, _ files: any FileLayer) -> [LogFileName: LogFileName?] {
        var predecessors: [LogFileName: LogFileName?] = [:]
        for name in logs {
            guard let bytes = try? files.read(directory.appending(name.description), limit: LogFile.limit),
                let header = try? LogFile(decoding: bytes, named: name).header
            else { continue }
            predecessors[name] = .some(header.predecessor.map { LogFileName(sequence: name.sequence - 1, hash: $0) })
        }
        return predecessors
    }

    /// The names in a directory that may have gone, or never been.
    private static func names(in directory: FilePath, _ files: any FileLayer) throws -> [String] {
        do {
            return try files.names(in: directory)
        } catch Errno.noSuchFileOrDirectory, Errno.notDirectory {
            return []
        }
    }
}

/// A peer while the others' lags behind it are counted.
private struct SurveyedPeer {
    var peer: ContainerSurvey.Peer
    /// What its receipt says it has read.
    var stated: Knowledge
    /// Of a forked identifier, each whole log and the one before it.
    var predecessors: [LogFileName: LogFileName?]

    /// How many of its logs somebody has not read who has read up to these.
    func behind(_ heads: Set<Knowledge.Position>) -> Int64 {
        guard peer.isForked else { return max(0, peer.last - (heads.map(\.sequence).max() ?? 0)) }
        var unread = Set(predecessors.keys)
        for head in heads {
            var next: LogFileName? = LogFileName(sequence: head.sequence, hash: head.hash)
            while let name = next, unread.remove(name) != nil { next = predecessors[name] ?? nil }
        }
        return Int64(unread.count)
    }
}
