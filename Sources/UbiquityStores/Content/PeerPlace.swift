internal import Foundation
internal import SystemPackage
internal import UbiquityContainers

/// Makes a new store's place in its content: the directories of its peer, and an epoch mark where there is none.
///
/// Each step may be repeated after a crash.
struct PeerPlace {
    let layout: ContentLayout
    let container: UbiquityContainer
    let files: any FileLayer

    /// Settles a store that has no place yet.
    ///
    /// A store file that is new while the content holds logs under its identifier has lost its past: it takes a new identifier and
    /// will import the old one's logs as another's, for an identifier is never used again.
    func settle(_ given: StoreState) throws -> StoreState {
        var state = given
        do {
            try files.makeDirectory(layout.directory.removingLastComponent())
            try files.makeDirectory(layout.directory)
            try files.makeDirectory(layout.epochs)
            state.epoch = max(state.epoch, try currentEpoch())
            if try hasLogs(of: state.peer) {
                state.peer = PeerIdentifier(account: state.peer.account, uuid: UUID())
                try AttachmentMark(peer: state.peer).write(into: container.markDirectory, files: files)
            }
            try makeDirectories(of: state.peer, epoch: state.epoch)
            if try currentEpoch() == 0 { try writeMark(state) }
        } catch let error as Errno {
            throw UbiquitousStoreError(
                .fileSystem, "The store's place below \(layout.directory) cannot be made; check the container's owner, mode and free space.",
                path: layout.directory, cause: error)
        }
        state.attached = true
        return state
    }

    /// The highest epoch that a mark names, 0 where there is none.
    private func currentEpoch() throws(Errno) -> Int64 {
        try files.names(in: layout.epochs).compactMap(ContentLayout.epoch(ofMark:)).max() ?? 0
    }

    private func hasLogs(of peer: PeerIdentifier) throws(Errno) -> Bool {
        guard try files.kind(of: layout.peer(peer)) == .directory else { return false }
        for epoch in try files.names(in: layout.peer(peer)) where Int64(epoch) != nil {
            if try files.names(in: layout.peer(peer).appending(epoch)).contains(where: { LogFileName($0) != nil }) { return true }
        }
        return false
    }

    private func makeDirectories(of peer: PeerIdentifier, epoch: Int64) throws(Errno) {
        let logs = layout.logs(of: peer, epoch: epoch)
        try files.makeDirectory(layout.peer(peer))
        try files.makeDirectory(logs)
        try files.makeDirectory(layout.receipts(of: peer, epoch: epoch))
        try files.makeDirectory(layout.temporary(of: peer, epoch: epoch))
        try files.syncDirectory(logs)
        try files.syncDirectory(layout.peer(peer))
        try files.syncDirectory(layout.directory)
    }

    private func writeMark(_ state: StoreState) throws(Errno) {
        let draft = layout.temporary(of: state.peer, epoch: state.epoch).appending(UUID().uuidString)
        try files.writeNew(draft, Array("{\"format\":1,\"epoch\":\(state.epoch),\"peer\":\"\(state.peer)\"}\n".utf8))
        try files.renameNew(draft, to: layout.epochMark(state.epoch, by: state.peer))
        try files.syncDirectory(layout.epochs)
    }
}
