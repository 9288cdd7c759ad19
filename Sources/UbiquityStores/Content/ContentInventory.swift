internal import SystemPackage
internal import UbiquityContainers

/// The logs that are there and not taken in yet, as far as listings and changes have told.
///
/// It costs memory for what waits, not for what has been read.
struct ContentInventory {
    private var files: [PeerIdentifier: [Int64: [LogFileName]]] = [:]
    /// Files that could not be used when last read; read again once they change.
    private var faulty: [PeerIdentifier: Set<LogFileName>] = [:]

    /// The peers that have logs waiting, by name.
    var peers: [PeerIdentifier] { files.keys.sorted() }

    mutating func insert(_ name: LogFileName, of peer: PeerIdentifier) {
        faulty[peer]?.remove(name)
        var names = files[peer]?[name.sequence] ?? []
        guard !names.contains(name) else { return }
        names.append(name)
        files[peer, default: [:]][name.sequence] = names
    }

    mutating func remove(_ name: LogFileName, of peer: PeerIdentifier) {
        files[peer]?[name.sequence]?.removeAll { $0 == name }
        if files[peer]?[name.sequence]?.isEmpty == true { files[peer]?[name.sequence] = nil }
        if files[peer]?.isEmpty == true { files[peer] = nil }
        faulty[peer]?.remove(name)
    }

    mutating func markFaulty(_ name: LogFileName, of peer: PeerIdentifier) { faulty[peer, default: []].insert(name) }

    /// Forgets logs up to a sequence, which have been taken in.
    mutating func forget(through sequence: Int64, of peer: PeerIdentifier) {
        guard let known = files[peer] else { return }
        if known.count < 64 || known.keys.min().map({ $0 <= sequence }) == true {
            files[peer] = known.filter { $0.key > sequence }
            if files[peer]?.isEmpty == true { files[peer] = nil }
        }
    }

    /// The files of a sequence that may be usable: more than one where an identifier has been forked, or one file came twice.
    func candidates(of peer: PeerIdentifier, sequence: Int64) -> [LogFileName] {
        (files[peer]?[sequence] ?? []).filter { faulty[peer]?.contains($0) != true }
    }

    func hasLater(than sequence: Int64, of peer: PeerIdentifier) -> Bool { files[peer]?.keys.contains { $0 > sequence } ?? false }

    func count(of peer: PeerIdentifier) -> Int { files[peer]?.count ?? 0 }
}

extension ContentInventory {
    /// Lists all logs of an epoch that are above what is known.
    init(listing layout: ContentLayout, epoch: Int64, knowledge: Knowledge, except own: PeerIdentifier, files: any FileLayer) throws(Errno) {
        for directory in try files.names(in: layout.directory) {
            guard let peer = PeerIdentifier(directory), peer != own else { continue }
            let known = knowledge.sequence(of: peer)
            let names: [String]
            do {
                names = try files.names(in: layout.logs(of: peer, epoch: epoch))
            } catch .noSuchFileOrDirectory {
                continue
            } catch .notDirectory {
                continue
            }
            for name in names {
                if let log = LogFileName(name), log.sequence > known { insert(log, of: peer) }
            }
        }
    }
}
