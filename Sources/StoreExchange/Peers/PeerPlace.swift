internal import Foundation
package import StoreFormat
internal import SystemPackage
package import UbiquityContainers

/// Creates a peer's attachment mark and directories in a content, and an epoch mark if there is none.
///
/// Each step can be repeated after a crash.
package struct PeerPlace {
    package let layout: ContentLayout
    package let container: UbiquityContainer
    package let files: any FileLayer

    package init(layout: ContentLayout, container: UbiquityContainer, files: any FileLayer) {
        self.layout = layout
        self.container = container
        self.files = files
    }

    /// Creates the content's own directories.
    ///
    /// - Returns: the highest epoch that a mark names, or 0 if there is none.
    func prepare() throws -> Int64 {
        try explained {
            for directory in layout.way { try make(directory) }
            try checkOverlap()
            try make(layout.epochs)
            return try files.names(in: layout.epochs).compactMap(ContentLayout.epoch(ofMark:)).max() ?? 0
        }
    }

    /// Checks that no content lies in another.
    ///
    /// A program that lists one would take the other for a part of it.
    private func checkOverlap() throws {
        for folder in layout.way.dropFirst().dropLast() where try files.kind(of: folder.appending(UbiquityContainer.epochsName)) != nil {
            throw UbiquitousStoreError(
                .unsupported, "The content cannot lie in \(layout.directory), because \(folder) is a content itself; choose another contentPath.",
                path: layout.directory)
        }
        guard try files.kind(of: layout.epochs) == nil else { return }
        let below = UbiquityContainer.storeContents(of: container.path, files).first { $0.hasPrefix("\(layout.content)/") }
        guard let below else { return }
        throw UbiquitousStoreError(
            .unsupported, "The content cannot lie in \(layout.directory), because another content lies in it, \(below); choose another contentPath.",
            path: layout.directory)
    }

    /// Returns whether a store was attached under an identifier, in any epoch.
    ///
    /// Each store leaves receipts. Its logs may have been removed for a baseline, of its own or of another peer.
    func isTaken(_ peer: PeerIdentifier) throws -> Bool {
        try explained {
            let epochs = try files.namesIfThere(in: layout.peer(peer)).compactMap(ContentLayout.epoch(ofDirectory:))
            return try epochs.contains { epoch in
                try files.namesIfThere(in: layout.logs(of: peer, epoch: epoch)).contains { LogFileName($0) != nil }
                    || files.namesIfThere(in: layout.receipts(of: peer, epoch: epoch)).contains { Receipt.number(ofFile: $0) != nil }
                    || files.namesIfThere(in: layout.baselines(of: peer, epoch: epoch)).contains { BaselineName($0) != nil }
            }
        }
    }

    /// Attaches an identifier that this device has chosen.
    func makeMark(of peer: PeerIdentifier) throws {
        do {
            try AttachmentMark(peer: peer, home: container.home).write(into: container.markDirectory, files: files)
        } catch {
            throw UbiquitousStoreError(.fileSystem, error.message, path: error.path, cause: error.cause)
        }
    }

    /// Creates a peer's own directories.
    ///
    /// - Parameters:
    ///   - peer: the peer.
    ///   - epoch: the epoch.
    ///   - isWhole: whether the directory of receipts is created too. It is the last one: while it is missing, the
    ///     place counts as gone, so that all steps of creating the place are repeated.
    /// - Throws: `UbiquitousStoreError`.
    func makeDirectories(of peer: PeerIdentifier, epoch: Int64, isWhole: Bool = true) throws {
        try explained {
            let logs = layout.logs(of: peer, epoch: epoch)
            try make(layout.peer(peer))
            try make(logs)
            try make(layout.temporary(of: peer, epoch: epoch))
            if isWhole { try make(layout.receipts(of: peer, epoch: epoch)) }
            try files.syncDirectory(logs)
            try files.syncDirectory(layout.peer(peer))
            // Parent directories are synced too. Otherwise a power cut could remove the directory of a store that
            // remembers it.
            for directory in layout.way.reversed() { try files.syncDirectory(directory) }
            try files.syncDirectory(container.path)
        }
        Waypoint.placeMade.pass()
    }

    /// Creates a peer's own directories in a container with a scope, where policies begin epochs.
    func makeSignedPlace(of peer: PeerIdentifier, epoch: Int64) throws {
        try explained { for directory in layout.way { try make(directory) } }
        try makeDirectories(of: peer, epoch: epoch, isWhole: false)
    }

    /// Begins an epoch.
    ///
    /// - Parameters:
    ///   - mark: the contents of the mark.
    ///   - peer: the author of the mark.
    ///   - epoch: an epoch in which the peer has its directories. The draft of the mark is written there.
    /// - Throws: `UbiquitousStoreError`.
    package func write(_ mark: EpochMark, of peer: PeerIdentifier, placedIn epoch: Int64) throws {
        try explained {
            let temporary = layout.temporary(of: peer, epoch: epoch)
            try make(temporary)
            let draft = temporary.appending(UUID().uuidString)
            try files.writeNew(draft, try mark.encoded())
            try files.renameNew(draft, to: layout.epochMark(mark.epoch, by: peer))
            try files.syncDirectory(layout.epochs)
        }
        Waypoint.placeMarked.pass()
    }

    /// Creates a directory if it does not exist.
    ///
    /// A link does not count as one, wherever it leads.
    private func make(_ directory: FilePath) throws(Errno) {
        try files.makeDirectory(directory)
        guard try files.kind(of: directory) == .directory else { throw .notDirectory }
    }

    private func explained<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as Errno {
            throw UbiquitousStoreError(
                .fileSystem, "The store's directories below \(layout.directory) cannot be created; check the container's owner, mode and free space.",
                path: layout.directory, cause: error)
        }
    }
}
