internal import FileCoordination
internal import Foundation
public import UbiquityContainers

extension Document {
    /// Returns the versions in conflict that nobody has resolved, newest first.
    ///
    /// - Throws: `ContainerError` when the item's directory cannot be read.
    public func conflictVersions() async throws -> [FileVersion] { try await FileVersion.unresolvedConflictVersions(ofItemAt: fileURL) ?? [] }

    /// Decides for one content, and ends the conflict: the other versions are removed.
    ///
    /// Versions that appear meanwhile stay. A crash leaves some of the versions, none of them cut.
    ///
    /// - Parameter version: the version whose content the item gets; nil keeps the document's own.
    /// - Throws: as `FileVersion.replaceItem(at:options:coordinator:deadline:)`; the versions that are not removed yet stay then.
    public func resolveConflict(keeping version: FileVersion? = nil) async throws {
        let versions = try await conflictVersions()
        let coordinator = FileCoordinator(filePresenter: self)
        if let version, isOpen {
            // It becomes the content in memory, and is saved like any other; what was not saved is given up with the rest.
            let chosen = try await coordinator.read(version.url, options: .withoutChanges) { url in
                try await blocking { try FileWrapper(url: url) }
            }
            try load(fromContents: chosen, ofType: fileType)
            undoManager.removeAllActions()
            updateChangeCount(.done)
        } else if let version {
            try await version.replaceItem(at: fileURL, coordinator: coordinator)
        }
        while isOpen, hasUnsavedChanges { try await save() }
        for version in versions { try await version.remove(coordinator: coordinator) }
        await lookForConflicts()
    }

    /// Keeps the content on disk as a version, on this device, before a large change; see `FileVersion.addVersion`.
    ///
    /// - Returns: the version, which ``otherVersions()`` lists until it is removed.
    /// - Throws: as `FileVersion.addVersion`.
    @discardableResult
    public func addVersion() async throws -> FileVersion {
        let coordinator = FileCoordinator(filePresenter: self)
        return try await coordinator.read(fileURL, options: .withoutChanges) { url in
            // A save of this document does not wait for its reads.
            await turn.take()
            defer { turn.give() }
            return try await FileVersion.addVersion(ofItemAt: url, withContentsOf: url, coordinator: coordinator)
        }
    }

    /// Returns all versions but the current one, newest first: those in conflict, resolved or not, and those that were kept.
    ///
    /// - Throws: `ContainerError` when the item's directory cannot be read.
    public func otherVersions() async throws -> [FileVersion] { try await FileVersion.otherVersions(ofItemAt: fileURL) ?? [] }

    func lookForConflicts() async {
        looks += 1
        while true {
            let look = looks
            guard let versions = try? await conflictVersions() else { return }
            // A look that has been asked for meanwhile may find others.
            guard look == looks else { continue }
            isInConflict = isOpen && !versions.isEmpty
            return
        }
    }
}
