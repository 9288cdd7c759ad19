import Synchronization
import SystemPackage

// Finds the changes that belong to coordinated writes, so that presenters do not hear of them twice, nor of their own
// writes.
extension CoordinationClient {
    /// Returns whether a change of a presenter's item belongs to a coordinated write.
    func isExplained(_ presenter: PresenterID, at path: FilePath) -> Bool {
        state.withLock { $0.isCoordinated(path) || $0.isForeign(presenter) }
    }

    /// Tells a presenter of a directory about a change in it, unless the change belongs to a coordinated write.
    ///
    /// The question and the report are one step. The news of another process's write that arrived between the two would
    /// be told, and the report of the same change after it.
    ///
    /// - Parameters:
    ///   - message: what has happened to subitems.
    ///   - presenter: the presenter.
    ///   - write: the write after which the change was found; the check after a later write of the subitem covers the
    ///     change too. nil if a file event told of it.
    func notice(_ message: PresenterMessage, by presenter: PresenterID, ifLatestIs write: UInt64? = nil) {
        let effects = state.withLock { state in
            let isExplained = message.subitems.contains { path in
                state.isCoordinated(path) || write.map { state.latestWrites[path] != $0 } ?? false
            }
            return isExplained ? ClientState.Effects() : state.effects(of: .noticed(presenter, message))
        }
        perform(effects)
    }
}

extension ClientState {
    /// Returns the item to watch for a presenter; nil if there is none.
    func presentedItem(of id: PresenterID) -> PresentedItem? {
        guard let entry = registry.entries[id], !entry.isWitness, let path = path(of: id) else { return nil }
        return PresentedItem(path: path, number: entry.item)
    }

    /// Returns whether a change of a path belongs to a coordinated write that is in progress or whose file events may
    /// still arrive.
    func isCoordinated(_ path: FilePath) -> Bool {
        isBeingWritten(path) || aftermath.values.contains { $0.contains { $0.writes(path) } }
            || foreign.explains(path)
    }

    /// Assigns a number to an ended write.
    mutating func noteWrite(of paths: some Sequence<FilePath>) -> UInt64 {
        nextWrite += 1
        for path in paths { latestWrites[path] = nextWrite }
        return nextWrite
    }

    /// Forgets a write whose file events have arrived.
    mutating func forgetWrite(_ write: UInt64, of paths: some Sequence<FilePath>) {
        for path in paths where latestWrites[path] == write { latestWrites[path] = nil }
    }
}

extension ClaimItem {
    /// Returns whether writing this item explains a change of a path.
    func writes(_ path: FilePath) -> Bool {
        guard access.writes else { return false }
        if path == self.path || (access.coversDescendants && path.starts(with: self.path)) { return true }
        return packageDepths.first.map { path.components.prefix($0).elementsEqual(self.path.components.prefix($0)) } ?? false
    }
}

extension Arbiter {
    /// Returns whether a held claim explains a change of a path.
    func isBeingWritten(_ path: FilePath, byOthersThan client: ClientID? = nil) -> Bool {
        trie.claims(covering: path).contains { id in
            guard let claim = claims[id], claim.isHeld, !claim.isDelegation, id.client != client else { return false }
            return claim.items.contains { $0.writes(path) }
        }
    }

    /// Tells a presenter about an uncoordinated change.
    mutating func notice(_ message: PresenterMessage, by id: PresenterID, _ actions: inout [ArbiterAction]) {
        guard let presenter = presenters[id] else { return }
        if case .didMove(let path) = message, path == presenter.path { return }
        // A change of a path that another client is writing is dropped: the presenter's process does not know the
        // accesses of other processes. Versions pass, because possibly no other source has reported them.
        let paths = message.subitems.isEmpty ? presenter.path.map { [$0] } ?? [] : message.subitems
        if !message.isOfVersion, paths.contains(where: { isBeingWritten($0, byOthersThan: id.client) }) { return }
        let delivery = delivery(of: message, to: id, Cause(client: id.client, process: 0, purpose: .named("")))
        if case .didMove(let path) = message, let old = presenters[id]?.path {
            presenters[id]?.unhandledMoves.add(Move(from: old, to: path), toldBy: delivery.id)
            relocate(id, to: path)
        }
        send(delivery, &actions)
    }
}
