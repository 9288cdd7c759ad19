internal import Foundation
internal import StoreExchange
internal import StoreFormat
public import SystemPackage
internal import UbiquityContainers

extension ContainerSurvey {
    /// Reads a container.
    ///
    /// - Parameter path: `<containers root>/<account>/<container identifier>`. The call blocks while it lists
    ///   directories, gets the size of each file below `CoreData`, and reads one receipt of each peer and the first log
    ///   of each that another peer has not read.
    /// - Throws: `UbiquitousStoreError` if there is no such directory, it is not a container, or it cannot be listed.
    ///   The `fault` of a store or a peer says why that cannot be listed.
    public init(of path: FilePath) throws {
        let files = LinuxFileLayer()
        let full = PathFacts.absolute(path)
        guard try Self.kind(of: full, files) == .directory else {
            throw UbiquitousStoreError(
                .notFound, "\(full) is not a directory; name a container: <containers root>/<account>/<container identifier>.", path: full)
        }
        guard let identifier = full.lastComponent, let account = full.removingLastComponent().lastComponent,
            let marks = try Self.directoryNames(in: full.appending(UbiquityContainer.markDirectoryName), files)
        else {
            throw UbiquitousStoreError(
                .notFound, "\(full) is not a container: it has no .ubiquity directory. Name <containers root>/<account>/<container identifier>.",
                path: full)
        }
        self.account = account.string
        container = identifier.string
        self.path = full.string
        attached = marks.filter { PeerIdentifier($0) != nil }.sorted()
        // Contents whose directory cannot be listed throw here.
        _ = try Self.directoryNames(in: full.appending(UbiquityContainer.storesName), files)
        stores = UbiquityContainer.storeContents(of: full, files).compactMap { name in
            let layout = ContentLayout(container: full, content: name)
            do {
                guard try Self.kind(of: layout.epochs, files) == .directory else { return nil }
                return try Self.store(name, layout)
            } catch {
                return Store(name: name, epoch: 0, peers: [], logs: 0, bytes: 0, storage: Storage(), fault: "\(error)")
            }
        }
    }

    private static func kind(of path: FilePath, _ files: LinuxFileLayer) throws(UbiquitousStoreError) -> FileKind? {
        do { return try files.kind(of: path) } catch { throw UbiquitousStoreError(unlisted: path, error) }
    }

    private static func directoryNames(in directory: FilePath, _ files: LinuxFileLayer) throws(UbiquitousStoreError) -> [String]? {
        do { return try files.directoryNames(in: directory) } catch { throw UbiquitousStoreError(unlisted: directory, error) }
    }

    static func store(_ name: String, _ layout: ContentLayout) throws -> Store {
        var storage = Storage()
        var epoch: Int64 = 0
        var names: [String] = []
        try DirectoryScan.forEachIfThere(in: layout.epochs, sizes: true) { entry in
            guard let mark = entry.text.flatMap(ContentLayout.epoch(ofMark:)) else { return storage.other.add(entry) }
            epoch = max(epoch, mark)
            storage.marks.add(entry)
        }
        try DirectoryScan.forEachIfThere(in: layout.directory, sizes: true) { entry in
            // The survey of the peers reports an entry in place of a peer's directory.
            guard let name = entry.text, entry.kind == .directory || PeerIdentifier(name) != nil else { return storage.other.add(entry) }
            names.append(name)
        }
        var peers: [SurveyedPeer] = []
        for name in names where name != UbiquityContainer.epochsName {
            guard let peer = PeerIdentifier(name) else {
                storage.other.addAll(below: layout.directory.appending(name))
                continue
            }
            peers.append(SurveyedPeer(peer, layout, epoch: epoch, &storage))
        }
        peers.sort { $0.identifier < $1.identifier }
        relate(&peers, layout, name, epoch: epoch)
        return Store(
            name: name, epoch: epoch, peers: peers.map(\.peer), logs: storage.logs.files, bytes: storage.logs.bytes, storage: storage)
    }

    /// Determines how far each peer has read the others, and how many of its logs are late.
    private static func relate(_ peers: inout [SurveyedPeer], _ layout: ContentLayout, _ name: String, epoch: Int64) {
        let places = Dictionary(uniqueKeysWithValues: peers.indices.map { (peers[$0].identifier, $0) })
        var times = FirstLogTimes(layout: layout, epoch: epoch)
        for index in peers.indices {
            let (own, known) = (peers[index].identifier, peers[index].stated)
            let others = Set(places.keys).union(known.heads.keys).subtracting([own]).sorted()
            peers[index].peer.knowledge = others.map { other in
                var lag = Lag(peer: other.description, read: known.sequence(of: other), behind: 0)
                guard let place = places[other] else { return lag }
                let unread = peers[place].unread(known.certainHeads(of: other))
                lag.behind = unread.count
                lag.oldest = unread.first.map { times.time(of: $0, by: other) }
                return lag
            }
        }
        let named = peers.reduce(into: [PeerIdentifier: Int64]()) { named, peer in
            for author in peer.stated.heads.keys { named[author] = max(named[author] ?? 0, peer.stated.sequence(of: author)) }
        }
        guard peers.contains(where: { ($0.peer.last) < named[$0.identifier] ?? 0 }) else { return }
        // A log is removed once a baseline contains it, so baselines are read only if a named log is missing.
        let baselines = BaselineKnowledge.all(in: layout, name, epoch: epoch, of: peers.map(\.identifier))
        for index in peers.indices where peers[index].peer.fault == nil {
            let held = baselines.map { $0.sequence(of: peers[index].identifier) }.max() ?? 0
            peers[index].peer.late = max(0, (named[peers[index].identifier] ?? 0) - max(held, peers[index].peer.last))
        }
    }
}

/// The knowledge of the present baselines.
enum BaselineKnowledge {
    /// Returns the knowledge of each baseline that can be read.
    static func all(in layout: ContentLayout, _ name: String, epoch: Int64, of peers: [PeerIdentifier]) -> [Knowledge] {
        let reader = BaselineReader(layout: layout, contentName: name, epoch: epoch)
        return peers.flatMap { peer in
            let directories = PeerFolders(layout: layout, files: LinuxFileLayer())
            let names = (try? directories.names(in: layout.baselines(of: peer, epoch: epoch)))?.compactMap { BaselineName($0) } ?? []
            return names.compactMap { try? reader.header(of: BaselineID(peer: peer, name: $0), clock: .latest).knowledge }
        }
    }
}

/// The times at which unread logs were written; each is read once.
private struct FirstLogTimes {
    let layout: ContentLayout
    let epoch: Int64
    private var times: [PeerIdentifier: [LogFileName: Date]] = [:]

    init(layout: ContentLayout, epoch: Int64) { (self.layout, self.epoch) = (layout, epoch) }

    /// Returns the time by its author's clock, or the file's time if the log cannot be read.
    mutating func time(of name: LogFileName, by author: PeerIdentifier) -> Date {
        if let known = times[author]?[name] { return known }
        let file = layout.logs(of: author, epoch: epoch).appending(name.description)
        let time = LogHeader(inFileAt: file)?.created ?? (try? FileFacts(of: file))?.modificationDate ?? .distantPast
        times[author, default: [:]][name] = time
        return time
    }
}

extension DirectoryScan {
    /// Lists a directory, or nothing if the directory does not exist.
    ///
    /// - Throws: `UbiquitousStoreError`, which names the directory, if it cannot be listed.
    static func forEachIfThere(in directory: FilePath, sizes: Bool = false, _ body: (Entry) -> Void) throws(UbiquitousStoreError) {
        do {
            try forEach(in: directory, sizes: sizes, body)
        } catch .noSuchFileOrDirectory {
        } catch .notDirectory {
        } catch {
            throw UbiquitousStoreError(unlisted: directory, error)
        }
    }
}

extension UbiquitousStoreError {
    /// Creates the error for a directory that cannot be listed, itself or a directory above it.
    fileprivate init(unlisted directory: FilePath, _ error: Errno) {
        self.init(
            .fileSystem, "\(directory) cannot be listed; check its owner and mode, and those of the directories above it.", path: directory,
            cause: error)
    }
}

extension ContainerSurvey.Amount {
    mutating func add(_ entry: DirectoryScan.Entry) {
        guard entry.kind == .file else { return }
        files += 1
        bytes += entry.size
    }

    /// Adds all files below a directory, as far as it can be listed.
    mutating func addAll(below directory: FilePath) {
        var directories: [String] = []
        try? DirectoryScan.forEach(in: directory, sizes: true) { entry in
            if entry.kind == .directory, let name = entry.text { directories.append(name) } else { add(entry) }
        }
        for name in directories { addAll(below: directory.appending(name)) }
    }
}
