package import SystemPackage
package import UbiquityContainers

/// Where the files of one store's content lie in a container (DESIGN §3).
package struct ContentLayout: Hashable, Sendable {
    /// The content's directory: `CoreData/<content name>`.
    package let directory: FilePath

    package init(container: FilePath, contentName: String) {
        directory = container.appending(Self.parent).appending(contentName)
    }

    /// An existing content directory.
    package init(directory: FilePath) { self.directory = directory }

    /// `CoreData`, where the contents of a container's stores lie.
    package static let parent = "CoreData"

    package var epochs: FilePath { directory.appending("epochs") }

    package func epochMark(_ epoch: Int64, by peer: PeerIdentifier) -> FilePath {
        epochs.appending("\(epoch).\(peer)")
    }

    /// Reads `<n>.<peer>`.
    package static func epoch(ofMark name: String) -> Int64? {
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = epoch(ofDirectory: parts[0]), PeerIdentifier(parts[1]) != nil else { return nil }
        return epoch
    }

    /// Reads an epoch in its one spelling; nil for other names.
    package static func epoch(ofDirectory name: some StringProtocol) -> Int64? {
        guard let epoch = Int64(name), (1...lastEpoch).contains(epoch), String(epoch) == name else { return nil }
        return epoch
    }

    /// No mark names a later one, so that there is always a next number.
    package static let lastEpoch: Int64 = 999_999_999_999

    package func peer(_ peer: PeerIdentifier) -> FilePath { directory.appending(peer.description) }

    /// The files of one peer in one epoch.
    package func logs(of peer: PeerIdentifier, epoch: Int64) -> FilePath { self.peer(peer).appending(String(epoch)) }

    package func receipts(of peer: PeerIdentifier, epoch: Int64) -> FilePath { logs(of: peer, epoch: epoch).appending(Self.receiptsName) }

    /// The large values that a peer's logs name.
    package func values(of peer: PeerIdentifier, epoch: Int64) -> FilePath { logs(of: peer, epoch: epoch).appending("values") }

    package func baselines(of peer: PeerIdentifier, epoch: Int64) -> FilePath { logs(of: peer, epoch: epoch).appending(Self.baselinesName) }

    func baseline(_ id: BaselineID, epoch: Int64) -> FilePath { baselines(of: id.peer, epoch: epoch).appending(id.name.description) }

    /// Where files are written before they get their names; no synchroniser looks there.
    package func temporary(of peer: PeerIdentifier, epoch: Int64) -> FilePath { logs(of: peer, epoch: epoch).appending(Self.temporaryName) }

    /// Whose receipt a path names; nil for any other file.
    func receiptOwner(at path: FilePath) -> PeerIdentifier? {
        var rest = path
        guard rest.removePrefix(directory), rest.components.count == 4, rest.components.dropFirst(2).first == Self.receiptsName else { return nil }
        return rest.components.first.flatMap { PeerIdentifier($0.string) }
    }

    /// Whether a change at a path can be a reason to exchange.
    ///
    /// Drafts and receipts are none, nor is what the container holds beside this content; a directory above it is, for it may have gone.
    package func concerns(_ path: FilePath) -> Bool {
        var rest = path
        guard rest.removePrefix(directory) else { return directory.starts(with: path) }
        let place = rest.components.dropFirst(2).first
        return place != Self.receiptsName && place != Self.temporaryName
    }

    private static let baselinesName = "baselines"
    private static let receiptsName = FilePath.Component("receipts")
    private static let temporaryName = FilePath.Component("tmp.nosync")

    /// The peer, epoch and name of a log, from its path; nil for any other file.
    package func log(at path: FilePath) -> (peer: PeerIdentifier, epoch: Int64, name: LogFileName)? {
        var rest = path
        guard rest.removePrefix(directory) else { return nil }
        let parts = rest.components.map(\.string)
        guard parts.count == 3, let peer = PeerIdentifier(parts[0]), let epoch = Int64(parts[1]), let name = LogFileName(parts[2]) else { return nil }
        return (peer, epoch, name)
    }

    /// The epoch and name of a baseline, from its path; nil for any other file.
    func baseline(at path: FilePath) -> (id: BaselineID, epoch: Int64)? {
        var rest = path
        guard rest.removePrefix(directory) else { return nil }
        let parts = rest.components.map(\.string)
        guard parts.count == 4, parts[2] == Self.baselinesName, let peer = PeerIdentifier(parts[0]), let epoch = Int64(parts[1]),
            let name = BaselineName(parts[3])
        else { return nil }
        return (BaselineID(peer: peer, name: name), epoch)
    }
}
