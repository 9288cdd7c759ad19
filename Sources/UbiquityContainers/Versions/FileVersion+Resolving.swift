public import FileCoordination
public import Foundation
internal import SystemPackage

extension FileVersion {
    /// The options of ``replaceItem(at:options:coordinator:deadline:)``; Cocoa's `NSFileVersion.ReplacingOptions`.
    public struct ReplacingOptions: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Moves the version itself, which then is no version any more.
        public static let byMoving = ReplacingOptions(rawValue: 1 << 0)
    }

    // MARK: Resolving

    /// Marks the conflict as resolved: the version is no longer among the unresolved ones, in any process, permanently.
    ///
    /// The version stays until it is removed. The mark applies to the current content: if the copy changes later, it is
    /// unresolved. Presenters of the item are told. A second call does nothing.
    ///
    /// - Parameter isResolved: true.
    /// - Throws: `ContainerError`: `notAllowed` for false on a version in conflict, because a decision cannot be
    ///   undone; `notAvailable` if the file system has no extended attributes, so that the version must be removed
    ///   instead; `fileSystem`.
    public func setResolved(_ isResolved: Bool) async throws(ContainerError) {
        guard isConflict else { return }
        guard isResolved else {
            throw ContainerError(
                .notAllowed, "The conflict of \(path) cannot be made unresolved: write the content to review again into \(localizedName).",
                path: path)
        }
        if self.isResolved { return }
        do {
            try await blocking { [path] in try ConflictCopy.markResolved(path) }
        } catch let error as Errno where error == .notSupported {
            throw ContainerError(
                .notAvailable,
                "The conflict of \(path) cannot be marked as resolved, because its file system has no extended attributes: remove the version.",
                path: path, cause: error)
        } catch {
            throw ContainerError(
                .fileSystem, "The conflict of \(path) cannot be marked as resolved; check that the file exists and is writable.", path: path,
                cause: error)
        }
        FileCoordinator.current.item(at: itemURL, didResolve: persistentIdentifier)
    }

    // MARK: Removing

    /// Removes a version that lost a conflict, in a coordinated write of its item and of itself.
    ///
    /// A missing version is no error. A crash leaves the version complete or removed.
    ///
    /// - Parameters:
    ///   - coordinator: coordinates the removal; by default one that does not wait for the accessor that is running.
    ///   - deadline: the limit of the wait for other accesses; nil waits without limit.
    /// - Throws: `ContainerError`: `notAllowed` for the current version, `fileSystem`; `FileCoordinationError`, a
    ///   presenter's own error, or `CancellationError`. The version still exists then.
    nonisolated(nonsending) public func remove(
        coordinator: FileCoordinator = .current, deadline: FileCoordinator.Deadline? = nil
    ) async throws {
        guard isConflict || isKept else {
            throw ContainerError(.notAllowed, "\(path) is the current version: to remove it, delete the item.", path: path)
        }
        try await Self.remove([self], coordinator, deadline)
    }

    /// Removes all versions except the current one, resolved or not, in coordinated writes of the item and of them.
    ///
    /// Versions that appear meanwhile stay, because the user has not seen them. A crash leaves some of the versions.
    ///
    /// - Parameters:
    ///   - url: a file URL; if there is no item, the call does nothing.
    ///   - coordinator: coordinates the removal; by default one that does not wait for the accessor that is running.
    ///   - deadline: the limit of the wait for other accesses; nil waits without limit.
    /// - Throws: as ``remove(coordinator:deadline:)``; some versions are removed then.
    nonisolated(nonsending) public static func removeOtherVersions(
        ofItemAt url: URL, coordinator: FileCoordinator = .current, deadline: FileCoordinator.Deadline? = nil
    ) async throws {
        var versions = try await otherVersions(ofItemAt: url)?[...] ?? []
        while !versions.isEmpty {
            // Few at a time, because the cost of a claim grows faster than the number of its items.
            try await remove(Array(versions.prefix(32)), coordinator, deadline)
            versions = versions.dropFirst(32)
        }
    }

    /// Removes versions of one item.
    nonisolated(nonsending) private static func remove(
        _ versions: [FileVersion], _ coordinator: FileCoordinator, _ deadline: FileCoordinator.Deadline?
    ) async throws {
        let item = FileAccessIntent.writingIntent(with: versions[0].itemURL, options: .contentIndependentMetadataOnly)
        let copies = versions.map { FileAccessIntent.writingIntent(with: $0.url, options: .forDeleting) }
        try await coordinator.coordinate(with: [item] + copies, deadline: deadline) {
            let paths = try copies.map { (intent) throws(ContainerError) in try path(of: intent.url) }
            try await blocking { try VersionFiles().remove(paths) }
            for version in versions { coordinator.item(at: item.url, didLose: version.persistentIdentifier) }
        }
    }

    // MARK: Keeping

    /// Keeps a copy of some content as a version of an item, on this device, in a coordinated read of the content; Cocoa's `addVersion`.
    ///
    /// An app keeps what a person may want back, such as the content before a large change. The version is listed by
    /// ``otherVersions(ofItemAt:)`` until it is removed. It lies in the directory `.versions.nosync` beside the item, which no synchroniser
    /// takes to other devices; a move of the item by a `Document` takes it along, and any other move leaves it. A crash leaves it
    /// complete or not there.
    ///
    /// - Parameters:
    ///   - url: the item, which need not exist.
    ///   - contents: the content to keep: a file or package, such as the item.
    ///   - byMoving: whether the content is removed once it is kept.
    ///   - coordinator: coordinates the read; by default one that does not wait for the accessor that is running.
    ///   - deadline: the limit of the wait for other accesses; nil waits without limit.
    /// - Returns: the version.
    /// - Throws: `ContainerError` with `fileSystem`; `FileCoordinationError`, a presenter's own error, or `CancellationError`. Nothing is
    ///   kept then.
    @discardableResult
    nonisolated(nonsending) public static func addVersion(
        ofItemAt url: URL, withContentsOf contents: URL, byMoving: Bool = false, coordinator: FileCoordinator = .current,
        deadline: FileCoordinator.Deadline? = nil
    ) async throws -> FileVersion {
        let item = try path(of: url)
        func keep(_ contents: URL) async throws -> FileVersion {
            let source = try path(of: contents)
            do {
                let identifier = try await blocking { try KeptVersions(of: item).add(source, moving: byMoving) }
                let place = KeptVersions(of: item).path(of: identifier)!
                return version(identifier, at: place, ofItemAt: url, date: KeptVersions.date(of: identifier) ?? Date())
            } catch {
                throw ContainerError(
                    .fileSystem, "\(source) cannot be kept as a version of \(item); check that the directory is writable and has space.",
                    path: item, cause: error)
            }
        }
        if byMoving { return try await coordinator.write(contents, options: .forDeleting, deadline: deadline) { try await keep($0) } }
        return try await coordinator.read(contents, options: .withoutChanges, deadline: deadline) { try await keep($0) }
    }

    /// Takes the kept versions of an item along after its move.
    package static func moveKept(ofItemAt url: URL, to newURL: URL) async throws {
        let (from, to) = (try path(of: url), try path(of: newURL))
        try await blocking { try KeptVersions(of: from).move(to: to) }
    }

    /// Removes the kept versions of an item that has been deleted.
    package static func removeKept(ofItemAt url: URL) async {
        guard let item = try? path(of: url) else { return }
        try? await blocking { KeptVersions(of: item).removeAll() }
    }

    // MARK: Choosing

    /// Replaces an item, by default the version's own, with the version's content, in one step of a coordinated write.
    ///
    /// The previous content is lost; it does not become a version. The item gets the current time as its modification
    /// time, so that it counts as changed. A crash leaves the old or the new content. The version survives it too,
    /// unless `byMoving` was given and the move was done.
    ///
    /// - Parameters:
    ///   - url: the item to replace; its directory must exist, the item need not, and a directory that is no package is not replaced.
    ///   - options: `byMoving` moves the version instead of copying it.
    ///   - coordinator: coordinates the call; by default one that does not wait for the accessor that is running.
    ///   - deadline: the limit of the wait for other accesses; nil waits without limit.
    /// - Returns: the item's current URL, which differs if the item has moved meanwhile.
    /// - Throws: `ContainerError`: `notAllowed` when the current version would move, or replace itself; `fileSystem`;
    ///   `FileCoordinationError`, a presenter's own error, or `CancellationError`. Nothing has changed then.
    @discardableResult
    nonisolated(nonsending) public func replaceItem(
        at url: URL, options: ReplacingOptions = [], coordinator: FileCoordinator = .current, deadline: FileCoordinator.Deadline? = nil
    ) async throws -> URL {
        guard try Self.path(of: url) != path else {
            throw ContainerError(.notAllowed, "\(path) cannot replace itself; name another item, or choose another version.", path: path)
        }
        guard options.contains(.byMoving) else {
            return try await coordinator.read(self.url, options: .withoutChanges, writing: url, deadline: deadline) { version, item in
                let (from, to) = (try Self.path(of: version), try Self.path(of: item))
                try await blocking { try VersionFiles().replace(to, byCopying: from) }
                return item
            }
        }
        guard isConflict || isKept else {
            throw ContainerError(.notAllowed, "\(path) is the current version: to move it, move the item.", path: path)
        }
        return try await coordinator.write(self.url, options: .forDeleting, writing: url, deadline: deadline) { version, item in
            let (from, to) = (try Self.path(of: version), try Self.path(of: item))
            try await blocking { try VersionFiles().replace(to, byMoving: from) }
            coordinator.item(at: itemURL, didLose: persistentIdentifier)
            return item
        }
    }
}
