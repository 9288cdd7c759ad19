internal import FileCoordination
internal import Foundation
internal import SystemPackage

/// The deletion of everything in a container, on purpose, as “Delete Documents & Data” in iCloud's settings.
///
/// The container and its attachment marks stay, so that apps can continue to use it. A store in it loses its content on
/// every device that the synchroniser reaches, and suspends: its own file keeps everything. A store file in the
/// container itself, below a `.nosync` folder, is deleted with the rest.
public struct ContainerWipe: Sendable, Codable, Hashable {
    /// The number of deleted files.
    public var files = 0
    /// The remaining items, by path.
    public var left: [ContainerCopy.LeftOut] = []

    /// Deletes everything in a container.
    ///
    /// First all stores lose their directory in one step, so that none writes into it during the deletion. Then each
    /// item is deleted under coordination: presenters are asked and told, and the wipe waits for running accesses.
    /// Items that appear meanwhile are deleted too. If the wipe is interrupted, the rest stays unchanged, and the next
    /// wipe continues with it.
    ///
    /// - Parameters:
    ///   - container: the container.
    ///   - deadline: the limit of the wait for other accesses, for each item.
    ///   - progress: receives the number of deleted files as it grows.
    /// - Returns: the deleted and the remaining items, with reasons.
    /// - Throws: `FileCoordinationError` with `brokerUnavailable`: nothing has changed then; `ContainerError` with
    ///   `rootUnavailable` or `fileSystem`; `CancellationError`.
    public static func run(
        _ container: UbiquityContainer, deadline: Duration = .seconds(30), progress: @escaping @Sendable (_ files: Int) -> Void = { _ in }
    ) async throws -> ContainerWipe {
        // This check comes before any change: without coordination the wipe could not delete what the stores have left.
        try await FileCoordinator.requireAvailability(in: container.url, deadline: .after(deadline))
        let wiping = Wiping(container: container, deadline: deadline, progress: progress)
        var wipe = ContainerWipe()
        // Several passes, because other processes may write meanwhile, but a limited number.
        for _ in 0..<Self.passes {
            try await blocking { try wiping.dropStores() }
            let before = wipe.files
            wipe.left = []
            for item in try await blocking({ try wiping.items() }) { try await wiping.delete(item, &wipe) }
            if wipe.files == before { return wipe }
        }
        let back = try await blocking { try wiping.items() }.filter { item in
            !wipe.left.contains { container.path.pushing(FilePath($0.path)) == item }
        }
        wipe.left += back.map { .init(path: $0.lastComponent!.string, reason: "another program creates it again as soon as it is deleted") }
        return wipe
    }

    private static let passes = 5
}

/// The state of a running wipe.
private struct Wiping {
    let container: UbiquityContainer
    let deadline: Duration
    let progress: @Sendable (Int) -> Void

    private var files: any FileLayer { container.files }

    /// Removes `CoreData` with one rename to a place that synchronisers and stores ignore.
    func dropStores() throws {
        guard try files.kind(of: container.path) == .directory else {
            throw ContainerError(.rootUnavailable, "The container \(container.path) is not there: there is nothing to delete.", path: container.path)
        }
        let stores = container.path.appending(UbiquityContainer.storesName)
        do {
            guard try files.kind(of: stores) != nil else { return }
            try files.renameNew(stores, to: ContainerWipe.newRemains(in: container.path))
            try files.syncDirectory(container.path)
        } catch {
            throw ContainerError(
                .fileSystem, "\(stores) cannot be removed; check the owner and mode of \(container.path).", path: stores, cause: error)
        }
    }

    /// Returns the units of deletion: the entries of the container, with those of `Documents` before the directory
    /// itself.
    func items() throws -> [FilePath] {
        func entries(of directory: FilePath) throws -> [FilePath] {
            try (files.directoryNames(in: directory) ?? []).sorted().map { directory.appending($0) }
        }
        do {
            let marks = container.markDirectory
            return try entries(of: container.documents) + entries(of: container.path).filter { $0 != marks }
        } catch {
            throw ContainerError(.fileSystem, "\(container.path) cannot be listed; check its owner and mode.", path: container.path, cause: error)
        }
    }

    func delete(_ item: FilePath, _ wipe: inout ContainerWipe) async throws {
        try Task.checkCancellation()
        var removal = Removal(files: files, progress: { [progress, before = wipe.files] in progress(before + $0) })
        do {
            removal = try await FileCoordinator().write(
                URL(filePath: item.string), options: .forDeleting, deadline: .after(deadline)
            ) { [removal] _ in
                try await blocking {
                    var removal = removal
                    removal.remove(item)
                    return removal
                }
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            removal.left.append((item, "other accesses did not end (\(error))"))
        }
        wipe.files += removal.removed
        let prefix = container.path.components.count
        wipe.left += removal.left.map { path, reason in
            .init(path: FilePath(root: nil, path.components.dropFirst(prefix)).string, reason: reason)
        }
    }
}

/// The removal of a tree; items that cannot be removed stay and are listed.
private struct Removal: Sendable {
    let files: any FileLayer
    let progress: @Sendable (Int) -> Void
    var removed = 0
    var left: [(path: FilePath, reason: String)] = []

    mutating func remove(_ path: FilePath) {
        do {
            switch try files.kind(of: path) {
            case nil: return
            case .directory:
                let before = left.count
                for name in try files.names(in: path) { remove(path.appending(name)) }
                // If a directory cannot be emptied, its entries carry the reason.
                if left.count == before { try files.removeDirectory(path) }
            case .file, .other:
                try files.remove(path)
                removed += 1
                progress(removed)
            }
        } catch {
            left.append((path, "it cannot be removed (\(error))"))
        }
    }
}
