internal import FileCoordination
public import Foundation
internal import SystemPackage
internal import UbiquityContainers

extension Document {
    /// Saves what has changed, and moves the item, with its other versions.
    ///
    /// Presenters of the item learn its new place, and accesses that wait follow it. It creates no directories and replaces nothing. A
    /// crash leaves the item at the old place or at the new one; versions may be left at the old name, as documents of their own.
    ///
    /// - Parameter newURL: the new place, in a directory that exists.
    /// - Throws: `CocoaError.fileWriteFileExists`; ``DocumentError``; `ContainerError` with `fileSystem`; `FileCoordinationError`, or a
    ///   presenter's own error; `CancellationError`. The item has not moved then.
    public func move(to newURL: URL) async throws {
        while isOpen, hasUnsavedChanges { try await save() }
        let source = try await locate()
        guard newURL.isFileURL, source != newURL else { return }
        let versions = try await FileVersion.otherVersions(ofItemAt: source)?.filter(\.isConflict) ?? []
        var intents = [
            FileAccessIntent.writingIntent(with: source, options: .forMoving), .writingIntent(with: newURL, options: .forReplacing),
        ]
        for version in versions {
            guard let moved = FileVersion.lost(version.persistentIdentifier, ofItemAt: newURL) else { continue }
            intents += [.writingIntent(with: version.url, options: .forMoving), .writingIntent(with: moved.url, options: .forReplacing)]
        }
        let coordinator = FileCoordinator(filePresenter: self)
        try await coordinator.coordinate(with: intents) {
            await turn.take()
            defer { turn.give() }
            let wasCurrent = try await isAsSeen(at: intents[0].url)
            let pairs = stride(from: 0, to: intents.count, by: 2).map { (intents[$0].url, intents[$0 + 1].url) }
            try await ItemMove().move(FilePath(pairs[0].0.path(percentEncoded: false)), to: FilePath(pairs[0].1.path(percentEncoded: false)))
            coordinator.item(at: pairs[0].0, didMoveTo: pairs[0].1)
            setFileURL(pairs[0].1)
            // On another file system it is another file.
            if wasCurrent, isOpen, let new = try? await look(at: pairs[0].1) { seen = new }
            for (from, to) in pairs.dropFirst() {
                // A version that cannot follow becomes a document of its own.
                guard
                    (try? await ItemMove().move(FilePath(from.path(percentEncoded: false)), to: FilePath(to.path(percentEncoded: false)))) != nil
                else { continue }
                coordinator.item(at: from, didMoveTo: to)
            }
            try? await FileVersion.moveKept(ofItemAt: pairs[0].0, to: pairs[0].1)
        }
        await lookForConflicts()
    }

    private func isAsSeen(at url: URL) async throws -> Bool {
        guard let seen else { return false }
        return try await blocking { try DocumentFile(url).stamp() == seen.stamp }
    }

    private func look(at url: URL) async throws -> DocumentFile.Seen? {
        try await blocking {
            let file = DocumentFile(url)
            return try file.stamp().map { DocumentFile.Seen(stamp: $0, hold: ItemHold(file.path)) }
        }
    }

    /// Moves the item to another name in its directory, as ``move(to:)`` does.
    ///
    /// - Parameter name: the new name; without an extension it keeps the item's own.
    /// - Throws: ``DocumentError`` with `invalidName` if it is no name of a visible item; as ``move(to:)``.
    public func rename(to name: String) async throws {
        let path = FilePath(fileURL.path(percentEncoded: false))
        guard !name.isEmpty, !name.contains("/"), !name.hasPrefix("."), !name.utf8.contains(0), name.utf8.count <= 255, !ForeignNames.staysHere(name)
        else {
            throw DocumentError(
                .invalidName, "\(path) cannot be renamed to “\(name)”: give a name without “/” that begins with no dot and does not end in .nosync.",
                path: path)
        }
        let old = fileURL.pathExtension
        let full = old.isEmpty || name.lowercased().hasSuffix(".\(old.lowercased())") || name.contains(".") ? name : "\(name).\(old)"
        try await move(
            to: fileURL.deletingLastPathComponent().appending(path: full, directoryHint: fileURL.hasDirectoryPath ? .isDirectory : .notDirectory))
    }

    /// Deletes the item, and closes the document; other presenters are asked first, and may refuse.
    ///
    /// Versions in conflict stay, and become documents of their own: nobody has decided about them. Versions that were kept are removed. A
    /// crash leaves the item, or removes it from sight.
    ///
    /// - Throws: ``DocumentError``; `FileCoordinationError`, or a presenter's own error; `CancellationError`. The item exists then.
    public func delete() async throws {
        let url = try await locate()
        try await FileCoordinator(filePresenter: self).write(url, options: .forDeleting) { url in
            await turn.take()
            defer { turn.give() }
            try await blocking {
                let path = FilePath(url.path(percentEncoded: false))
                let draft = ItemReplacement.draft(beside: path)
                do {
                    try LinuxFileLayer().renameNew(path, to: draft)
                    try LinuxFileLayer().syncDirectory(path.removingLastComponent())
                } catch let error as Errno where error == .noSuchFileOrDirectory {
                    return
                } catch {
                    throw DocumentError(
                        .unwritable, "\(path) cannot be deleted; check the owner and mode of its directory.", path: path, cause: error)
                }
                ItemReplacement().discard(draft)
            }
            changes.update(.cleared)
            closeWithoutSaving()
        }
        await FileVersion.removeKept(ofItemAt: url)
    }
}
