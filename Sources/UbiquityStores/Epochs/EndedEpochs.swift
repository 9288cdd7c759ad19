internal import SystemPackage
internal import UbiquityContainers

/// Removes the files of ended epochs, whoever wrote them (DESIGN §4, rules 1 and 9).
///
/// A log that nobody who ended its epoch had taken in stays until its author has set it aside, which shows in that the author has its place in a
/// later epoch. Of an identifier with several branches all stay while one of them lies on none that they had taken in. Only names of ours are removed, and no symbolic link is followed.
struct EndedEpochs {
    let layout: ContentLayout
    let files: any FileLayer
    /// Whose store this is: what it had to set aside, it has.
    let own: PeerIdentifier

    /// Removes what can be removed below an epoch.
    ///
    /// - Parameter present: the epoch that goes on.
    /// - Throws: `Errno` where the content's own directories cannot be read; what cannot be read or removed of a peer is passed over, for it may be another time.
    func remove(below present: Int64) throws {
        let marks = try EpochMarks(of: layout, files: files)
        let directories = PeerFolders(layout: layout, files: files)
        // The last epoch that every peer has reached.
        var reached = present
        for name in try files.namesIfThere(in: layout.directory) {
            guard let peer = PeerIdentifier(name) else { continue }
            let epochs: [Int64]
            do {
                epochs = try directories.names(in: layout.peer(peer)).compactMap(ContentLayout.epoch(ofDirectory:))
            } catch is PeerFault {
                // Nobody here can tell how far it is.
                reached = 0
                continue
            }
            let last = peer == own ? present : epochs.max() ?? 0
            reached = min(reached, last)
            for epoch in epochs where epoch < present {
                try? remove(of: peer, epoch: epoch, knownBy: epoch < last ? nil : marks.knowledge(of: epoch))
            }
        }
        // A mark tells a peer that returns what had been read of its logs; the last says which epoch it is.
        for (epoch, names) in marks.names where epoch <= reached && epoch < marks.present {
            for name in names { try? files.remove(layout.epochs.appending(name)) }
        }
    }

    /// Removes one peer's directory of an epoch, but for the logs that are not known, where that is asked, and what these need.
    private func remove(of peer: PeerIdentifier, epoch: Int64, knownBy knowledge: Knowledge?) throws(Errno) {
        let directory = layout.logs(of: peer, epoch: epoch)
        guard try files.kind(of: directory) == .directory else { return }
        let logs = try files.namesIfThere(in: directory).compactMap { LogFileName($0) }
        let unread = knowledge?.unread(among: logs, of: peer) { log in
            let bytes = try? files.read(directory.appending(log.description), limit: LogFile.limit)
            return bytes.flatMap { try? LogFile(decoding: $0, named: log).header.predecessor }
        }
        // Of several branches those that are known stay with the others, for by them it is told which is which.
        let isForked = Set(logs.map(\.sequence)).count < logs.count
        guard !isForked || unread?.isEmpty != false else { return }
        let last = knowledge?.passed(peer) ?? .max
        for log in logs where log.sequence <= last { removeFile(directory.appending(log.description)) }
        guard logs.allSatisfy({ $0.sequence <= last }) else { return }
        for (folder, isOurs) in Self.folders { removeFolder(directory.appending(folder), isOurs) }
        try? files.removeDirectory(directory)
    }

    /// What lies beside the logs, and which names there are ours.
    static let folders: [(String, @Sendable (String) -> Bool)] = [
        ("values", { ContentHash(hexadecimal: $0) != nil }),
        ("baselines", { BaselineName($0) != nil }),
        ("receipts", { Receipt.number(ofFile: $0) != nil }),
        ("tmp.nosync", { _ in true }),
    ]

    private func removeFolder(_ folder: FilePath, _ isOurs: (String) -> Bool) {
        guard (try? files.kind(of: folder)) == .directory else { return }
        for name in (try? files.names(in: folder)) ?? [] where isOurs(name) { removeFile(folder.appending(name)) }
        try? files.removeDirectory(folder)
    }

    private func removeFile(_ file: FilePath) {
        guard (try? files.kind(of: file)) == .file else { return }
        try? files.remove(file)
        Waypoint.epochCleaned.pass()
    }
}
