internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Reads the large values that logs name, from the directories of the peers that may have published them.
struct LargeValueReader: LargeValueSource {
    let layout: ContentLayout
    let epoch: Int64
    let files: any FileLayer

    /// The state of a value in the container.
    enum Finding: Equatable {
        case whole([UInt8])
        /// A file whose bytes differ, or a part of the value.
        case damaged
        case missing
    }

    /// Looks for a value in the directories of some peers: the author, and a group's peer, which is the author's former
    /// identifier.
    ///
    /// A value counts as damaged if it cannot be read because of what lies in its place, such as a link instead of a
    /// directory, or because of its mode. Another peer can help then.
    ///
    /// - Throws: `Errno` if this process cannot read anything now.
    func find(_ value: LargeValue, of peers: [PeerIdentifier]) throws(Errno) -> Finding {
        var finding = Finding.missing
        for peer in peers {
            do {
                guard let bytes = try bytes(of: value, in: layout.values(of: peer, epoch: epoch)) else { continue }
                if ContentHash(of: bytes) == value.hash { return .whole(bytes) }
            } catch let error as Errno where error.isOfProcess {
                throw error
            } catch {}
            finding = .damaged
        }
        return finding
    }

    /// The bytes of a value that is there whole; nil of any other.
    func whole(_ value: LargeValue, of peers: [PeerIdentifier]) throws -> [UInt8]? {
        if case .whole(let bytes) = try find(value, of: peers) { bytes } else { nil }
    }

    /// Returns the bytes of a file under a value's name, as far as they can be the value.
    ///
    /// Returns nil if there is no file.
    private func bytes(of value: LargeValue, in directory: FilePath) throws -> [UInt8]? {
        guard try PeerFolders(layout: layout, files: files).isThere(directory) else { return nil }
        let file = directory.appending(value.hash.description)
        guard try files.kind(of: file) == .file else { return nil }
        guard try files.size(of: file) == value.length else { return [] }
        return try files.read(file, limit: value.length)
    }
}
