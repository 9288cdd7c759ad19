package import StoreExchange
internal import StoreFormat
internal import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// The names of peers for people: the names of their devices, as far as they tell the peers apart.
package struct PeerNames: Sendable, Equatable {
    /// The name of each known peer.
    private var names: [String: String] = [:]
    /// The peers with a name, by the ends of their identifiers, from the tilde on.
    private var byTail: [Substring: String] = [:]
    private let showsIdentifiers: Bool

    /// The names with which every peer is shown by its identifier.
    package static let identifiers = PeerNames(showsIdentifiers: true)

    private init(showsIdentifiers: Bool) { self.showsIdentifiers = showsIdentifiers }

    /// Makes the names of a container's peers.
    ///
    /// A peer is named by its device; by its device and app if other peers are on devices of that name; otherwise by
    /// its device and the start of its identifier.
    ///
    /// - Parameter stores: the contents with their peers.
    package init(_ stores: [ContainerSurvey.Store] = []) {
        self.init(stores.flatMap(\.peers).map { (peer: $0.peer, device: $0.device, app: $0.app) })
    }

    /// Makes the names of peers.
    ///
    /// - Parameter peers: the peers, each with its device and app; a peer may be given again.
    package init(_ peers: [(peer: String, device: String?, app: String?)]) {
        showsIdentifiers = false
        var known: [String: (device: String, app: String?)] = [:]
        for peer in peers where known[peer.peer] == nil {
            if let device = peer.device, !device.isEmpty { known[peer.peer] = (device, peer.app) }
        }
        let devices = Dictionary(known.values.map { ($0.device, 1) }, uniquingKeysWith: +)
        let apps = Dictionary(known.values.compactMap { peer in peer.app.map { ("\(peer.device)\0\($0)", 1) } }, uniquingKeysWith: +)
        for (peer, (device, app)) in known {
            if let tilde = peer.lastIndex(of: "~") { byTail[peer[tilde...]] = peer }
            if devices[device] == 1 {
                names[peer] = device
            } else if let app, apps["\(device)\0\(app)"] == 1 {
                names[peer] = "\(device) (\(app))"
            } else {
                names[peer] = "\(device) (\(Self.digits(of: peer)))"
            }
        }
    }

    /// Makes the names of a store's other peers.
    package init(_ peers: [StorePeer]) { self.init(peers.map { (peer: $0.peer, device: $0.device, app: $0.app) }) }

    /// Makes the names of the peers that a log names, from the receipts beside it.
    ///
    /// - Parameters:
    ///   - log: the log's path; a log outside a container has no receipts beside it.
    ///   - report: its content.
    package init(besideLog log: FilePath, _ report: LogReport) {
        let way = PathFacts.absolute(log).components.map(\.string)
        guard let stores = way.lastIndex(of: UbiquityContainer.storesName) else {
            self.init()
            return
        }
        let container = FilePath("/" + way[..<stores].joined(separator: "/"))
        let peers = [report.peer] + report.news.map(\.peer) + report.retired.map(\.peer)
        let authors = ContentLayout(container: container, content: report.contentName)
            .authors(Set(peers.compactMap { PeerIdentifier($0) }), epoch: report.epoch, files: LinuxFileLayer())
        self.init(authors.map { (peer: $0.key.description, device: $0.value.device, app: $0.value.app) })
    }

    /// Returns the name of a peer: without a known device, the start of its identifier.
    package subscript(peer: String) -> String { showsIdentifiers ? peer : names[peer] ?? Self.short(peer) }

    /// Returns the heading of a peer: its name, and its app and device as far as the name does not tell them.
    package func title(of peer: ContainerSurvey.Peer) -> String {
        let name = self[peer.peer]
        let more = [peer.device, peer.app].compactMap { $0 }.filter { !name.contains($0) }
        return name + (more.isEmpty ? "" : " (\(more.joined(separator: ", ")))")
    }

    /// Returns `<account>~<the first eight digits>`.
    package static func short(_ peer: String) -> String {
        guard let tilde = peer.lastIndex(of: "~") else { return peer }
        return String(peer[...tilde]) + digits(of: peer)
    }

    /// Returns a sentence with names in the place of identifiers; the identifiers in paths stay.
    ///
    /// - Parameter text: a text of the library, whose errors and reasons tell peers by their identifiers.
    /// - Returns: the text for people.
    package func naming(_ text: String) -> String {
        guard !names.isEmpty else { return text }
        var named = ""
        var rest = text[...]
        while let tilde = rest.firstIndex(of: "~") {
            let end = rest.index(tilde, offsetBy: Self.tail, limitedBy: rest.endIndex) ?? rest.endIndex
            if let peer = byTail[rest[tilde..<end]], rest[..<end].hasSuffix(peer), rest[end...].first != "/" {
                let before = rest[..<end].dropLast(peer.count)
                let isInPath = (before.last ?? named.last) == "/"
                named += before + (isInPath ? peer : names[peer]!)
            } else {
                named += rest[..<end]
            }
            rest = rest[end...]
        }
        return named + rest
    }

    /// The number of characters from the tilde of an identifier to its end.
    private static let tail = 1 + 36

    private static func digits(of peer: String) -> String {
        peer.lastIndex(of: "~").map { String(peer[peer.index(after: $0)...].prefix(8)) } ?? peer
    }
}
