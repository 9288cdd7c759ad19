internal import SystemPackage
internal import UbiquityContainers

/// Reads the large values that logs name, from the directories of those who may have published them.
struct LargeValueReader {
    let layout: ContentLayout
    let epoch: Int64
    let files: any FileLayer

    /// What is at the place of a value.
    enum Finding: Equatable {
        case whole([UInt8])
        /// Another file, or a part of it.
        case damaged
        case missing
    }

    /// Looks for a value; under the author's identifier, and under that of a group's peer, which is what the author was called before.
    func find(_ value: LargeValue, of peers: [PeerIdentifier]) throws(Errno) -> Finding {
        var finding = Finding.missing
        for peer in peers {
            let file = layout.values(of: peer, epoch: epoch).appending(value.hash.description)
            guard try files.kind(of: file) == .file else { continue }
            finding = .damaged
            guard try files.size(of: file) == value.length else { continue }
            let bytes = try files.read(file, limit: value.length)
            if ContentHash(of: bytes) == value.hash { return .whole(bytes) }
        }
        return finding
    }
}
