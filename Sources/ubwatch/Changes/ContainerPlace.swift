import UbiquityContainers
import UbiquityStores

/// The meaning of a path below a container, according to its names.
enum ContainerPlace: Equatable, Sendable {
    /// The container's own directory.
    case container
    /// A peer's attachment mark.
    case mark(peer: String)
    /// A store's directory.
    case store(String)
    case epochMark(store: String, epoch: Int64, peer: String)
    case log(store: String, peer: String, epoch: Int64, sequence: Int64)
    case baseline(store: String, peer: String, epoch: Int64, sequence: Int64)
    case receipt(store: String, peer: String, epoch: Int64, number: Int64)
    case value(store: String, peer: String)
    /// A file that a store or a synchroniser is still writing.
    case draft
    /// Another entry in a store's directory: its directories, other programs' files.
    case other
    /// An item of the user.
    case item

    /// Classifies a path.
    ///
    /// - Parameter path: relative to the container, without a slash at its start.
    init(_ path: String) {
        let names = path.split(separator: "/")
        guard let first = names.first, let last = names.last else {
            self = .container
            return
        }
        if names.contains(where: { ForeignNames.isDraft(String($0)) }) {
            self = .draft
        } else if first == UbiquityContainer.markDirectoryName {
            self = names.count == 2 && PeerIdentifier(last) != nil ? .mark(peer: String(last)) : .other
        } else if first != UbiquityContainer.storesName {
            self = .item
        } else if names.count == 2 {
            self = .store(String(last))
        } else {
            self = names.count < 3 ? .other : Self.inStore(String(names[1]), names.dropFirst(2))
        }
    }

    private static func inStore(_ store: String, _ names: ArraySlice<Substring>) -> ContainerPlace {
        let names = Array(names)
        if names.contains("tmp.nosync") { return .draft }
        if names[0] == "epochs" {
            guard names.count == 2, let epoch = ContentLayout.epoch(ofMark: String(names[1])), let dot = names[1].firstIndex(of: ".") else {
                return .other
            }
            return .epochMark(store: store, epoch: epoch, peer: String(names[1][names[1].index(after: dot)...]))
        }
        guard names.count >= 3, PeerIdentifier(names[0]) != nil, let epoch = ContentLayout.epoch(ofDirectory: names[1]) else { return .other }
        let peer = String(names[0])
        // The name is `<sequence>.<content hash>.<kind>`.
        let parts = names[names.count - 1].split(separator: ".", omittingEmptySubsequences: false)
        switch (names.count, names[2]) {
        case (3, _):
            guard parts.count == 3, parts[2] == "ublog", let sequence = Int64(parts[0]) else { return .other }
            return .log(store: store, peer: peer, epoch: epoch, sequence: sequence)
        case (4, "baselines"):
            guard parts.count == 3, parts[2] == "ubbaseline", let sequence = Int64(parts[0]) else { return .other }
            return .baseline(store: store, peer: peer, epoch: epoch, sequence: sequence)
        case (4, "receipts"):
            guard let number = Int64(names[3]) else { return .other }
            return .receipt(store: store, peer: peer, epoch: epoch, number: number)
        case (4, "values"): return .value(store: store, peer: peer)
        default: return .other
        }
    }
}
