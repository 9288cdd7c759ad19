package import StoreFormat
package import SystemPackage
internal import TreeWatching
package import UbiquityContainers

/// The paths of the files of one store's content in a container.
package struct ContentLayout: Hashable, Sendable {
    /// The content's directory: `CoreData/<content>`.
    package let directory: FilePath
    /// Its path below `CoreData`, which is the content's name unless ``StoreOptions/Advanced/contentPath`` says another.
    package let content: String

    /// The directories from `CoreData` down to the content's own.
    let way: [FilePath]
    let prefix: PathPrefix

    package init(container: FilePath, content: String) {
        self.init(directory: container.appending(UbiquityContainer.storesName).pushing(FilePath(content)), content: content)
    }

    private init(directory: FilePath, content: String) {
        self.directory = directory
        self.content = content
        prefix = PathPrefix(directory)
        var way = [directory]
        for _ in content.split(separator: "/") { way.insert(way[0].removingLastComponent(), at: 0) }
        self.way = way
    }

    /// Reads the content from its directory, by the path below a `CoreData`.
    ///
    /// Returns nil if the path contains none.
    package init?(directory: FilePath) {
        let names = directory.components.map(\.string)
        guard let stores = names.lastIndex(of: UbiquityContainer.storesName), stores < names.count - 1,
            !names[(stores + 1)...].contains(where: { UbiquityContainer.isOfContent($0) })
        else { return nil }
        self.init(directory: directory, content: names[(stores + 1)...].joined(separator: "/"))
    }

    /// Returns the name of a peer's device, from its attachment mark; nil if that is missing.
    ///
    /// A peer that has read nothing has no receipt, which tells the present name.
    package func device(of peer: PeerIdentifier, files: any FileLayer) -> String? {
        let marks = way[0].removingLastComponent().appending(UbiquityContainer.markDirectoryName)
        return AttachmentMark.device(of: peer.description, in: marks, files: files)
    }

    package var epochs: FilePath { directory.appending(UbiquityContainer.epochsName) }

    package func epochMark(_ epoch: Int64, by peer: PeerIdentifier) -> FilePath {
        epochs.appending("\(epoch).\(peer)")
    }

    /// Reads `<n>.<peer>`.
    package static func epoch(ofMark name: String) -> Int64? {
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = epoch(ofDirectory: parts[0]), PeerIdentifier(parts[1]) != nil else { return nil }
        return epoch
    }

    /// Reads an epoch in its one valid spelling.
    ///
    /// Returns nil for other names.
    package static func epoch(ofDirectory name: some StringProtocol) -> Int64? {
        guard let epoch = Int64(name), (1...lastEpoch).contains(epoch), String(epoch) == name else { return nil }
        return epoch
    }

    /// The largest epoch that a mark can name, so that there is always a next number.
    package static let lastEpoch: Int64 = 999_999_999_999

    package func peer(_ peer: PeerIdentifier) -> FilePath { directory.appending(peer.description) }

    /// Returns the directory of one peer's files in one epoch.
    package func logs(of peer: PeerIdentifier, epoch: Int64) -> FilePath { self.peer(peer).appending(String(epoch)) }

    package func receipts(of peer: PeerIdentifier, epoch: Int64) -> FilePath { logs(of: peer, epoch: epoch).appending(Self.receiptsName) }

    /// Returns the directory of the large values that a peer's logs name.
    package func values(of peer: PeerIdentifier, epoch: Int64) -> FilePath { logs(of: peer, epoch: epoch).appending("values") }

    package func baselines(of peer: PeerIdentifier, epoch: Int64) -> FilePath { logs(of: peer, epoch: epoch).appending(Self.baselinesName) }

    package func baseline(_ id: BaselineID, epoch: Int64) -> FilePath { baselines(of: id.peer, epoch: epoch).appending(id.name.description) }

    /// Returns the directory for files before they get their final names.
    ///
    /// Synchronisers ignore it.
    package func temporary(of peer: PeerIdentifier, epoch: Int64) -> FilePath { logs(of: peer, epoch: epoch).appending(Self.temporaryName) }

    package static let baselinesName = "baselines"
    package static let receiptsName = "receipts"
    package static let temporaryName = "tmp.nosync"
}
