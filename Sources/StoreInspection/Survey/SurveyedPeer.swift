internal import Foundation
internal import StoreExchange
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// A peer while the unread logs of each peer are counted.
struct SurveyedPeer {
    let identifier: PeerIdentifier
    var peer: ContainerSurvey.Peer
    /// The knowledge in its receipt.
    private(set) var stated = Knowledge()
    /// Its logs, in order.
    private var logs: [LogFileName] = []
    /// For a forked identifier, each complete log with the log before it.
    private var whole: Set<LogFileName> = []
    /// For a forked identifier, the log before each complete log that has one.
    private var predecessors: [LogFileName: LogFileName] = [:]

    /// Reads the peer's directory.
    ///
    /// - Parameters:
    ///   - identifier: the peer.
    ///   - layout: the content's layout.
    ///   - epoch: the present epoch.
    ///   - storage: receives the sizes of the peer's files.
    init(_ identifier: PeerIdentifier, _ layout: ContentLayout, epoch: Int64, _ storage: inout ContainerSurvey.Storage) {
        self.identifier = identifier
        peer = .init(peer: identifier.description, logs: 0, bytes: 0, last: 0, isForked: false, late: 0, knowledge: [])
        let directory = layout.logs(of: identifier, epoch: epoch)
        var receipts: [Int64] = []
        let directories = PeerFolders(layout: layout, files: LinuxFileLayer())
        do {
            _ = try directories.isThere(directory)
            try list(layout, epoch: epoch, &receipts, &storage)
            for folder in [layout.values, layout.baselines, layout.receipts] { _ = try directories.isThere(folder(identifier, epoch)) }
        } catch {
            peer.fault = "\(error)"
        }
        logs.sort()
        peer.logs = logs.count
        peer.last = logs.last?.sequence ?? 0
        peer.isForked = zip(logs, logs.dropFirst()).contains { $0.sequence == $1.sequence }
        if peer.isForked { readPredecessors(in: directory) }
        readReceipt(receipts, in: layout.receipts(of: identifier, epoch: epoch))
        if peer.device == nil { peer.device = layout.device(of: identifier, files: LinuxFileLayer()) }
    }

    /// Lists its logs and the numbers of its receipts.
    private mutating func list(
        _ layout: ContentLayout, epoch: Int64, _ receipts: inout [Int64], _ storage: inout ContainerSurvey.Storage
    ) throws(UbiquitousStoreError) {
        var failure: UbiquitousStoreError?
        try DirectoryScan.forEachIfThere(in: layout.peer(identifier), sizes: true) { entry in
            // Directories of other epochs.
            if entry.kind == .directory, entry.text != String(epoch) {
                if let name = entry.text { storage.other.addAll(below: layout.peer(identifier).appending(name)) }
            } else {
                storage.other.add(entry)
            }
        }
        let directory = layout.logs(of: identifier, epoch: epoch)
        try DirectoryScan.forEachIfThere(in: directory, sizes: true) { entry in
            if entry.kind == .file, let name = LogFileName(bytes: entry.name) {
                logs.append(name)
                storage.logs.add(entry)
                peer.bytes += entry.size
            } else if entry.kind == .directory, let name = entry.text {
                let below = directory.appending(name)
                switch name {
                case "values": storage.values.addAll(below: below)
                case ContentLayout.baselinesName: storage.baselines.addAll(below: below)
                case ContentLayout.temporaryName: storage.temporary.addAll(below: below)
                case ContentLayout.receiptsName:
                    storage.receipts.addAll(below: below)
                    do throws(UbiquitousStoreError) {
                        try DirectoryScan.forEachIfThere(in: below) { entry in
                            if let number = entry.text.flatMap(Receipt.number(ofFile:)) { receipts.append(number) }
                        }
                    } catch {
                        failure = error
                    }
                default: storage.other.addAll(below: below)
                }
            } else {
                storage.other.add(entry)
            }
        }
        if let failure { throw failure }
    }

    /// Reads the newest receipt that is complete: a synchroniser may have brought only a part of the last one.
    private mutating func readReceipt(_ numbers: [Int64], in directory: FilePath) {
        for number in numbers.sorted(by: >) {
            guard let bytes = try? LinuxFileLayer().read(directory.appending(String(number)), limit: 16 << 20),
                let receipt = Receipt(decoding: bytes)
            else { continue }
            (peer.device, peer.app, peer.seen) = (receipt.device, receipt.app, receipt.time)
            stated = receipt.stated
            return
        }
    }

    /// Returns each complete log with the log before it.
    private mutating func readPredecessors(in directory: FilePath) {
        for name in logs {
            guard let bytes = try? LinuxFileLayer().read(directory.appending(name.description), limit: LogFile.limit),
                let header = try? LogFile(decoding: bytes, named: name).header
            else { continue }
            whole.insert(name)
            predecessors[name] = header.previous.map(LogFileName.init)
        }
    }

    /// Returns the number of its logs that a peer with these heads has not read, and the first of these that exists.
    func unread(_ heads: Set<Knowledge.Position>) -> (count: Int64, first: LogFileName?) {
        guard peer.isForked else {
            let read = heads.lazy.map(\.sequence).max() ?? 0
            return read < peer.last ? (peer.last - read, logs[firstIndex(after: read)]) : (0, nil)
        }
        var unread = whole
        for head in heads {
            var next: LogFileName? = LogFileName(head)
            while let name = next, unread.remove(name) != nil { next = predecessors[name] }
        }
        return (Int64(unread.count), unread.min())
    }

    /// Returns the index of the first log after a sequence.
    private func firstIndex(after sequence: Int64) -> Int {
        var (low, high) = (0, logs.count)
        while low < high {
            let middle = (low + high) / 2
            if logs[middle].sequence <= sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
