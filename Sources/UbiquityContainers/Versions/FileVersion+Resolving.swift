public import FileCoordination
public import Foundation
internal import SystemPackage

extension FileVersion {
    /// How ``replaceItem(at:options:coordinator:deadline:)`` goes about it; Cocoa's `NSFileVersion.ReplacingOptions`.
    public struct ReplacingOptions: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The version itself becomes the item, and is a version no longer.
        public static let byMoving = ReplacingOptions(rawValue: 1 << 0)
    }

    // MARK: Resolving

    /// Says that nobody need look at the version any more: it is among the unresolved ones no longer, in any process, for good.
    ///
    /// The version stays until it is removed. Its content counts: should something else be written into the copy later, that is unresolved. Presenters of the
    /// item hear of it. Doing it again does nothing.
    ///
    /// - Parameter isResolved: true.
    /// - Throws: `ContainerError`: `notAllowed` for false on a version in conflict, for what was decided is not undecided again; `notAvailable` where the file
    ///   system keeps no extended attributes, so that the version has to be removed instead; `fileSystem`.
    public func setResolved(_ isResolved: Bool) async throws(ContainerError) {
        guard isConflict else { return }
        guard isResolved else {
            throw ContainerError(
                .notAllowed, "The conflict of \(path) cannot be made unresolved: write what is to be looked at again into \(localizedName).",
                path: path)
        }
        if self.isResolved { return }
        do {
            try await blocking { [path] in try ConflictCopy.markResolved(path) }
        } catch let error as Errno where error == .notSupported {
            throw ContainerError(
                .notAvailable, "The conflict of \(path) cannot be marked as resolved, for its file system keeps no attributes: remove the version.",
                path: path, cause: error)
        } catch {
            throw ContainerError(
                .fileSystem, "The conflict of \(path) cannot be marked as resolved; see that the file is there and can be written.", path: path,
                cause: error)
        }
        FileCoordinator().item(at: itemURL, didResolve: persistentIdentifier)
    }

    // MARK: Removing

    /// Removes a version that lost a conflict, in a coordinated write of its item and of itself.
    ///
    /// A version that has gone already is no error. A crash leaves it there or not.
    ///
    /// - Parameters:
    ///   - coordinator: inside an accessor, the accessor's coordinator, which waits for nobody then; one of its own unless given.
    ///   - deadline: when to give up waiting for others; nil waits without limit.
    /// - Throws: `ContainerError`: `notAllowed` for the current version, `fileSystem`; `FileCoordinationError`, a presenter's own error, or
    ///   `CancellationError`. The version is there then.
    nonisolated(nonsending) public func remove(
        coordinator: FileCoordinator = FileCoordinator(), deadline: FileCoordinator.Deadline? = nil
    ) async throws {
        guard isConflict else {
            throw ContainerError(.notAllowed, "\(path) is the current version: to remove it, delete the item.", path: path)
        }
        try await Self.remove([self], coordinator, deadline)
    }

    /// Removes the versions beside the current one, resolved or not, in coordinated writes of the item and of them.
    ///
    /// Those that come while it works stay, for nobody has looked at them. A crash leaves some of them.
    ///
    /// - Parameters:
    ///   - url: a file URL; where nothing is there, nothing is done.
    ///   - coordinator: inside an accessor, the accessor's coordinator, which waits for nobody then; one of its own unless given.
    ///   - deadline: when to give up waiting for others; nil waits without limit.
    /// - Throws: as ``remove(coordinator:deadline:)``; some of them are gone then.
    nonisolated(nonsending) public static func removeOtherVersions(
        ofItemAt url: URL, coordinator: FileCoordinator = FileCoordinator(), deadline: FileCoordinator.Deadline? = nil
    ) async throws {
        var versions = try await otherVersions(ofItemAt: url)?[...] ?? []
        while !versions.isEmpty {
            // Few at a time, for the cost of a claim grows faster than the number of its items.
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

    // MARK: Choosing

    /// Puts the version's content in the place of an item, by default its own, in one step, in a coordinated write.
    ///
    /// What was there before is gone; it is no version. The item has the present time as its modification time, so that it counts as changed. A crash leaves
    /// the old content or the new one, and the version but where it was to be moved and was.
    ///
    /// - Parameters:
    ///   - url: the item to replace; nothing need be there but its directory, and a directory is not replaced.
    ///   - options: `byMoving` moves the version instead of copying it.
    ///   - coordinator: inside an accessor, the accessor's coordinator, which waits for nobody then; one of its own unless given.
    ///   - deadline: when to give up waiting for others; nil waits without limit.
    /// - Returns: where the item is, which may have moved meanwhile.
    /// - Throws: `ContainerError`: `notAllowed` where the current version is to be moved, or to replace itself; `fileSystem`; `FileCoordinationError`, a
    ///   presenter's own error, or `CancellationError`. Everything is as it was then.
    @discardableResult
    nonisolated(nonsending) public func replaceItem(
        at url: URL, options: ReplacingOptions = [], coordinator: FileCoordinator = FileCoordinator(), deadline: FileCoordinator.Deadline? = nil
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
        guard isConflict else {
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
