internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Removes the files of ended epochs, of all peers.
///
/// A log that no peer that ended its epoch had joined stays until its author has set it aside. The author's directory
/// in a later epoch shows that it has. If an identifier has several branches, all of them stay while one branch
/// contains a log that was not joined. Only names that this package uses are removed, and no symbolic link is followed.
package struct EndedEpochs {
    let layout: ContentLayout
    let files: any FileLayer
    /// The peer of this store, which has already set its own logs aside.
    let own: PeerIdentifier

    /// Removes everything that can be removed below an epoch.
    ///
    /// - Parameter present: the present epoch.
    /// - Throws: `Errno` if the content's own directories cannot be read. Files of a peer that cannot be read or
    ///   removed are skipped, because a later call may succeed.
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
                // The peer's epoch is unknown.
                reached = 0
                continue
            }
            let last = peer == own ? present : epochs.max() ?? 0
            reached = min(reached, last)
            for epoch in epochs where epoch < present {
                try? remove(of: peer, epoch: epoch, knownBy: epoch < last ? nil : marks.knowledge(of: epoch))
            }
        }
        // A mark tells a returning peer which of its logs had been read. The last mark states the present epoch.
        for (epoch, names) in marks.names where epoch <= reached && epoch < marks.present {
            for name in names { try? files.remove(layout.epochs.appending(name)) }
        }
    }

    /// Removes one peer's directory of an epoch.
    ///
    /// If knowledge is given, the logs outside it stay, with the files that they need.
    private func remove(of peer: PeerIdentifier, epoch: Int64, knownBy knowledge: Knowledge?) throws(Errno) {
        let directory = layout.logs(of: peer, epoch: epoch)
        guard let names = try files.directoryNames(in: directory) else { return }
        let logs = names.compactMap { LogFileName($0) }
        let unread = knowledge?.unread(among: logs, of: peer) { log in
            let bytes = try? files.read(directory.appending(log.description), limit: LogFile.limit)
            return bytes.flatMap { try? LogFile(decoding: $0, named: log).header.previous }
        }
        // If there are several branches, the known logs stay too, because they identify the branches.
        let isForked = Set(logs.map(\.sequence)).count < logs.count
        guard !isForked || unread?.isEmpty != false else { return }
        let last = knowledge?.passed(peer) ?? .max
        for log in logs where log.sequence <= last { removeFile(directory.appending(log.description)) }
        guard logs.allSatisfy({ $0.sequence <= last }) else { return }
        for (folder, isOurs) in Self.folders { removeFolder(directory.appending(folder), isOurs) }
        try? files.removeDirectory(directory)
    }

    /// The folders beside the logs, and the test for names that this package uses in each.
    package static let folders: [(String, @Sendable (String) -> Bool)] = [
        ("values", { ContentHash(hexadecimal: $0) != nil }),
        ("baselines", { BaselineName($0) != nil }),
        ("receipts", { Receipt.number(ofFile: $0) != nil }),
        ("tmp.nosync", { _ in true }),
    ]

    private func removeFolder(_ folder: FilePath, _ isOurs: (String) -> Bool) {
        do {
            guard let names = try files.directoryNames(in: folder) else { return }
            for name in names where isOurs(name) { removeFile(folder.appending(name)) }
        } catch {
            // One that cannot be listed may be empty.
        }
        try? files.removeDirectory(folder)
    }

    private func removeFile(_ file: FilePath) {
        guard (try? files.kind(of: file)) == .file else { return }
        try? files.remove(file)
        Waypoint.epochCleaned.pass()
    }
}
