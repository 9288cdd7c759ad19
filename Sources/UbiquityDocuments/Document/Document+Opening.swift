internal import FileCoordination
internal import Foundation
internal import SystemPackage
internal import UbiquityContainers

extension Document {
    /// Reads the item, and presents it from then on.
    ///
    /// It waits for writers of the item, and for its bytes if they are elsewhere. A document of a symbolic link becomes one of the item to
    /// which the link leads. Calling it while the document is open does nothing.
    ///
    /// - Throws: ``DocumentError``; the error of ``load(fromContents:ofType:)``; `FileCoordinationError`; `CancellationError`. The document
    ///   is closed then.
    public func open() async throws {
        guard !isOpen else { return }
        guard !isOpening else {
            throw DocumentError(.wrongState, "\(fileURL.path(percentEncoded: false)) is being opened: await the call that opens it.")
        }
        isOpening = true
        defer { isOpening = false }
        let coordinator = FileCoordinator(filePresenter: self)
        do {
            let given = fileURL
            setFileURL(try await blocking { DocumentFile.destination(of: given) })
            try await coordinator.read(fileURL) { url in
                let presenter = self
                setFileURL(url)
                await turn.take()
                defer { turn.give() }
                let read = try await blocking {
                    // Inside the read, so that no change is missed.
                    FileCoordinator.addFilePresenter(presenter)
                    return try DocumentFile(url).read()
                }
                try load(fromContents: read.content, ofType: fileType)
                begin(with: read.seen)
            }
        } catch {
            FileCoordinator.removeFilePresenter(self)
            throw error
        }
        await lookForConflicts()
        // It may have been deleted since it was read.
        await takeChangesOfOthers()
        await closeIfGone()
    }

    /// Begins with the content that was loaded.
    private func begin(with read: DocumentFile.Seen) {
        seen = read
        dropTaken()
        openings += 1
        writers = 0
        changes = ChangeCount()
        undoManager.removeAllActions()
        savingError = nil
        stateMayHaveChanged()
    }

    /// Reads the item again, and forgets changes that are not saved and how to undo others.
    ///
    /// - Throws: as ``open()``. The document stays open with its content then.
    public func revert() async throws {
        guard isOpen else { throw closedError("reverted") }
        try await read(discardsChanges: true)
    }

    /// Reads the item again.
    ///
    /// - Parameter discardsChanges: whether changes are forgotten that are made until it has been read; otherwise they are saved.
    /// - Throws: as ``open()``, or ``save()``.
    private func read(discardsChanges: Bool) async throws {
        let isSaveNeeded = try await FileCoordinator(filePresenter: self).read(fileURL) { url in
            // Until the content is loaded nothing is saved: a save that waits would write the content before it.
            await turn.take()
            defer { turn.give() }
            follow(to: url)
            let (place, known) = (fileURL, discardsChanges ? nil : seen?.stamp)
            let read = try await blocking { () -> (content: FileWrapper, seen: DocumentFile.Seen)? in
                let file = DocumentFile(place)
                // A save of its own may have ended in the meantime.
                if let known, try file.stamp() == known { return nil }
                return try file.read()
            }
            guard isOpen, let read else { return false }
            if !discardsChanges, hasUnsavedChanges { return true }
            try load(fromContents: read.content, ofType: fileType)
            seen = read.seen
            dropTaken()
            changes.update(.cleared)
            undoManager.removeAllActions()
            return false
        }
        if isSaveNeeded { return try await save() }
        savingError = nil
        stateMayHaveChanged()
    }

    /// Saves what has changed, and stops presenting the item.
    ///
    /// - Throws: as ``save()``. The document stays open with its changes then; ``closeWithoutSaving()`` gives them up.
    public func close() async throws {
        guard isOpen else { return }
        // What is changed while it is being saved is saved too.
        while isOpen, hasUnsavedChanges { try await save() }
        closeWithoutSaving()
    }

    /// Stops presenting the item.
    ///
    /// Changes that are not saved stay in memory until the document is opened or released.
    public func closeWithoutSaving() {
        autosaving?.cancel()
        autosaving = nil
        guard isOpen else { return }
        seen = nil
        dropTaken()
        FileCoordinator.removeFilePresenter(self)
        (isInConflict, savingError) = (false, nil)
        stateMayHaveChanged()
    }

    func closedError(_ what: String) -> DocumentError {
        let path = FilePath(fileURL.path(percentEncoded: false))
        return DocumentError(.wrongState, "\(path) cannot be \(what), because the document is not open: call open() first.", path: path)
    }

    /// Loads what others have written.
    ///
    /// If there are changes here, those are saved, and what others have written becomes a version in conflict.
    func takeChangesOfOthers() async {
        guard isOpen else { return }
        do {
            guard try await isChangedByOthers() else { return }
            if hasUnsavedChanges { try await save() } else { try await read(discardsChanges: false) }
            await lookForConflicts()
        } catch {
            note(error)
        }
    }

    /// Whether the item is another than the one that was read or written last.
    ///
    /// An item that is gone may be replaced in a moment; its presenter is told when it is not.
    private func isChangedByOthers() async throws -> Bool {
        // Not while the document writes it.
        await turn.take()
        defer { turn.give() }
        let url = fileURL
        guard let stamp = try await blocking({ try DocumentFile(url).stamp() }), let seen else { return false }
        return stamp != seen.stamp
    }

    /// Closes a document whose item was deleted; with unsaved changes it stays open, and says why it cannot be saved.
    func closeIfGone() async {
        let url = fileURL
        let isGone = await (try? blocking { try DocumentFile(url).stamp() == nil }) ?? false
        guard isGone, isOpen, url == fileURL else { return }
        guard hasUnsavedChanges else { return closeWithoutSaving() }
        note(DocumentFile(url).gone)
    }

    func note(_ error: any Error) {
        guard isOpen, !(error is CancellationError) else { return }
        savingError = error
        handleError(error)
    }

    /// Finds the item where it is now, also after a program has moved it without coordination.
    ///
    /// - Returns: the item's URL, at which nothing may be.
    func locate() async throws -> URL {
        let url = fileURL
        guard let hold = seen?.hold else { return url }
        let moved = try await blocking { () -> URL? in
            let path = DocumentFile(url).path
            guard !hold.isAt(path), try LinuxFileLayer().kind(of: path) == nil, let new = hold.path, !isBackup(new), !isTrash(new) else { return nil }
            return URL(filePath: new.string, directoryHint: url.hasDirectoryPath ? .isDirectory : .notDirectory)
        }
        if let moved, url == fileURL { setFileURL(moved) }
        return fileURL
    }
}

/// Whether an item was moved out of the way, such as by an editor that writes a new file in its place.
func isBackup(_ path: FilePath) -> Bool {
    let name = path.lastComponent?.string ?? ""
    return name.hasSuffix("~") || name.hasPrefix(".") || ["bak", "old", "orig", "swp", "tmp"].contains(path.extension?.lowercased())
}

/// Whether an item was moved into a trash.
func isTrash(_ path: FilePath) -> Bool {
    path.components.contains { [".Trash", "Trash"].contains($0.string) || $0.string.hasPrefix(".Trash-") }
}
