internal import StoreFormat
internal import TreeWatching
internal import UbiquityContainers

/// The meaning of a path for one store's content.
enum ContentPlace: Equatable {
    case log(PeerIdentifier, epoch: Int64, LogFileName)
    case baseline(BaselineID, epoch: Int64)
    case receipt(of: PeerIdentifier)
    /// A draft, the directory of drafts or the directory of receipts.
    ///
    /// Other peers ignore it.
    case aside
    /// Anything else in the content, or its directory.
    case other
    /// A directory that contains the content.
    case above
    /// A path outside the content.
    case elsewhere
}

extension ContentLayout {
    /// Returns the meaning of an absolute path, given by its bytes.
    func place(of path: UnsafeRawBufferPointer) -> ContentPlace {
        guard let rest = prefix.rest(of: path) else { return prefix.isBelow(path) ? .above : .elsewhere }
        let parts = String(decoding: rest, as: UTF8.self).utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
        guard parts.count > 2 else { return .other }
        if parts[2] == Self.temporaryName { return .aside }
        let peer = PeerIdentifier(parts[0])
        if parts[2] == Self.receiptsName { return parts.count == 4 ? peer.map { .receipt(of: $0) } ?? .aside : .aside }
        guard let peer, let epoch = Int64(parts[1]) else { return .other }
        if parts.count == 3, let name = LogFileName(parts[2]) { return .log(peer, epoch: epoch, name) }
        guard parts.count == 4, parts[2] == Self.baselinesName, let name = BaselineName(parts[3]) else { return .other }
        return .baseline(BaselineID(peer: peer, name: name), epoch: epoch)
    }
}
