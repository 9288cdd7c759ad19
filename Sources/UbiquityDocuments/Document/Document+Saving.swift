internal import FileCoordination
public import Foundation
internal import SystemPackage
internal import UbiquityContainers

extension Document {
    /// What a save does with the place that it writes; the names are Cocoa's.
    public enum SaveOperation: Hashable, Sendable {
        /// Writes a new item; an item that is there already fails the save. The document is at this place afterwards, and open.
        case creating
        /// Replaces the item of an open document.
        case overwriting
    }

    /// Saves the content at the document's place, whether it has changed or not.
    ///
    /// - Throws: as ``save(to:for:)``.
    public func save() async throws { try await save(to: fileURL, for: .overwriting) }

    /// Saves the content.
    ///
    /// The item is replaced in one step, after its readers and writers have finished. A crash leaves the old or the new content. What was
    /// changed meanwhile stays unsaved.
    ///
    /// - Parameters:
    ///   - url: the item's place; for `overwriting` the document's own.
    ///   - operation: whether the item is new.
    /// - Throws: ``DocumentError``; `CocoaError.fileWriteFileExists`; the error of ``contents(forType:)``; `FileCoordinationError`, or a
    ///   presenter's own error; `CancellationError`. The item is as it was then, and the changes are in memory.
    public func save(to url: URL, for operation: SaveOperation) async throws {
        do {
            switch operation {
            case .creating: try await create(at: url)
            case .overwriting:
                guard url == fileURL else {
                    let path = FilePath(url.path(percentEncoded: false))
                    throw DocumentError(
                        .wrongState,
                        "\(path) cannot be overwritten by the document of \(fileURL.path(percentEncoded: false)): save it with creating, or move it.",
                        path: path)
                }
                try await overwrite()
            }
            savingError = nil
            autosavingFailures = 0
        } catch {
            if !(error is CancellationError) { savingError = error }
            throw error
        }
        stateMayHaveChanged()
        scheduleAutosave()
    }

    private func create(at url: URL) async throws {
        guard !isOpening else {
            throw DocumentError(.wrongState, "\(fileURL.path(percentEncoded: false)) is being opened: await the call that opens it.")
        }
        let content = try contents(forType: url.pathExtension.lowercased())
        let token = changes.token
        let wasOpen = isOpen
        // Nobody is asked about an item that is not replaced.
        try await blocking { try DocumentFile(url).requireNothing() }
        try await FileCoordinator(filePresenter: self).write(url) { url in
            await turn.take()
            defer { turn.give() }
            seen = try await blocking { try DocumentFile(url).create(content) }
            dropTaken()
            openings += 1
            writers = 0
            setFileURL(url)
            changes.saved(token)
        }
        let presenter = self
        // The presenter has another item now.
        try? await blocking {
            if wasOpen { FileCoordinator.removeFilePresenter(presenter) }
            FileCoordinator.addFilePresenter(presenter)
        }
        await lookForConflicts()
        await takeChangesOfOthers()
        await closeIfGone()
    }

    private func overwrite() async throws {
        guard isOpen else { throw closedError("saved") }
        let content = try contents(forType: fileType)
        let token = changes.token
        lastTaken += 1
        let number = lastTaken
        // The item may move without coordination until the write has begun.
        for _ in 0..<8 {
            let url = try await locate()
            guard
                let outcome = try await FileCoordinator(filePresenter: self).write(
                    url, accessor: { url in try await write(content, to: url, number: number) })
            else { return }
            guard case .replaced(_, let isConflict) = outcome else { continue }
            changes.saved(token)
            if isConflict { await lookForConflicts() }
            return
        }
        throw DocumentError(
            .unwritable, "\(fileURL.path(percentEncoded: false)) cannot be saved: another program moves it again and again. Save it later.",
            path: FilePath(fileURL.path(percentEncoded: false)))
    }

    /// Writes inside the accessor.
    ///
    /// - Returns: nil if a later content has been written, or the content was given up.
    private func write(_ content: FileWrapper, to url: URL, number: UInt64) async throws -> DocumentFile.Outcome? {
        await turn.take()
        defer { turn.give() }
        guard let former = seen else { throw closedError("saved") }
        guard number > lastSaved else { return nil }
        follow(to: url)
        guard try await locate() == url else { return .moved }
        let (isFirst, known) = (!isCleaned, former.hold)
        let outcome = try await blocking {
            let file = DocumentFile(url)
            if isFirst { file.clean() }
            let outcome = try file.replace(with: content, seen: former.stamp)
            if case .moved = outcome {
                // Nothing is at its place: it must be elsewhere.
                guard let place = known?.path, !isBackup(place), !isTrash(place) else { throw file.gone }
            }
            return outcome
        }
        isCleaned = true
        if case .replaced(let new, _) = outcome {
            lastSaved = max(lastSaved, number)
            if isOpen { seen = new }
        }
        return outcome
    }

    // MARK: Autosaving

    /// Saves after the delay, unless there is nothing to save.
    func scheduleAutosave() {
        guard isOpen, autosaving == nil, hasUnsavedChanges, let delay = autosavingDelay else { return }
        // A save that fails is tried again after 2, 4, 8 … times the delay, at most 16 times.
        let pause = delay * (1 << min(autosavingFailures, 4))
        autosaving = Task { [weak self, clock] in
            guard (try? await clock.sleep(for: pause)) != nil, !Task.isCancelled else { return }
            await self?.autosave()
        }
    }

    private func autosave() async {
        if isOpen, hasUnsavedChanges {
            do {
                try await save()
            } catch {
                autosavingFailures += 1
                note(error)
            }
        }
        // Another one may have been begun meanwhile.
        guard !Task.isCancelled else { return }
        autosaving = nil
        scheduleAutosave()
    }
}
