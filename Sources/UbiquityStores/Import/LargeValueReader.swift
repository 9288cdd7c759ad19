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
    ///
    /// What cannot be read for what lies there, such as a link in the place of a directory, or for its mode, counts as damaged: another peer can help.
    ///
    /// - Throws: `Errno` where this process cannot read anything now.
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

    /// What lies in a directory under a value's name, as far as it can be the value; nil where nothing does.
    private func bytes(of value: LargeValue, in directory: FilePath) throws -> [UInt8]? {
        guard try PeerFolders(layout: layout, files: files).isThere(directory) else { return nil }
        let file = directory.appending(value.hash.description)
        guard try files.kind(of: file) == .file else { return nil }
        guard try files.size(of: file) == value.length else { return [] }
        return try files.read(file, limit: value.length)
    }
}
