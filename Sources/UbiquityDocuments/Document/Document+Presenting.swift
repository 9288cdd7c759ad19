public import FileCoordination
public import Foundation
internal import SystemPackage
internal import UbiquityContainers

// The answers to other readers and writers of the item. They run in the presenter's turn.
extension Document {
    /// Saves, so that a reader sees what is in memory.
    ///
    /// - Throws: the error of the save fails the other access.
    public func savePresentedItemChanges() async throws {
        guard isOpen, hasUnsavedChanges else { return }
        try await save()
    }

    /// Disables editing until the writer is done, and then loads what it has written.
    ///
    /// - Returns: enables editing again.
    public func relinquishPresentedItemToWriter() async -> Reacquirer? {
        guard isOpen else { return nil }
        writers += 1
        let opening = openings
        return { [weak self] in await self?.reacquire(opening) }
    }

    private func reacquire(_ opening: Int) async {
        // The document may have been closed and opened meanwhile.
        guard isOpen, opening == openings else { return }
        writers -= 1
        await takeChangesOfOthers()
        // A writer of this process that deletes the item without saying so is told to nobody.
        await closeIfGone()
    }

    /// Saves and closes the document: what is deleted may be seen again, such as a container after its account has signed in again.
    ///
    /// - Throws: the error of the save refuses the deletion, unless the item has gone already.
    public func accommodatePresentedItemDeletion() async throws {
        do {
            while isOpen, hasUnsavedChanges { try await save() }
        } catch let error as DocumentError where error.code == .gone {
            // There is nothing to delete.
        }
        closeWithoutSaving()
    }

    /// Refuses: an open document is in use.
    ///
    /// - Throws: ``DocumentError`` with `wrongState`.
    public func accommodatePresentedItemEviction() async throws {
        guard isOpen else { return }
        throw DocumentError(.wrongState, "\(fileURL.path(percentEncoded: false)) is open: close the document first.")
    }

    /// Follows the item, but not to a backup that an editor has made of it, nor into a trash.
    public func presentedItemDidMove(to newURL: URL) async {
        let path = FilePath(newURL.path(percentEncoded: false))
        let isUncoordinated = FilePresenterMessage.current?.processIdentifier == 0
        guard isUncoordinated, isBackup(path) || isTrash(path) else {
            follow(to: newURL)
            return await lookForConflicts()
        }
        if isTrash(path) { return await closeIfGone() }
        // The item is another one from now on: the one that the editor writes at the name.
        let presenter = self
        try? await blocking {
            FileCoordinator.removeFilePresenter(presenter)
            FileCoordinator.addFilePresenter(presenter)
        }
        await takeChangesOfOthers()
    }

    /// Loads what has changed.
    public func presentedItemDidChange() async { await takeChangesOfOthers() }

    /// Follows the item, or closes the document if the item was deleted.
    public func presentedItemDidDisappear() async {
        await takeChangesOfOthers()
        await closeIfGone()
    }

    /// Notes a version in conflict.
    public func presentedItemDidGain(_ version: FileVersionIdentifier) async { await lookForConflicts() }
    /// Notes that a version has gone.
    public func presentedItemDidLose(_ version: FileVersionIdentifier) async { await lookForConflicts() }
    /// Notes that a conflict is resolved.
    public func presentedItemDidResolveConflict(_ version: FileVersionIdentifier) async { await lookForConflicts() }
    /// Notes whether it is in conflict.
    public func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<UbiquityAttribute>) async {
        if attributes.contains(.hasUnresolvedConflicts) { await lookForConflicts() }
    }
}
