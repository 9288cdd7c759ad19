public import FileCoordination
public import Foundation
internal import SystemPackage

extension UbiquityContainer {
    /// Moves an item into or out of the container, like Cocoa's `FileManager` method.
    ///
    /// It is a coordinated move: presenters of the item learn its new place, and the move waits for other accesses. It
    /// creates no directories and replaces nothing. Between two file systems the item is copied completely under a name
    /// that synchronisers ignore, and then renamed. A crash leaves the source, and perhaps that copy beside the
    /// destination.
    ///
    /// - Parameters:
    ///   - isUbiquitous: whether to move the item into the container.
    ///   - url: the item.
    ///   - destinationURL: the new place: in an existing directory below the container, or outside the container.
    ///   - deadline: the limit of the wait for other accesses; nil waits without limit.
    /// - Throws: `CocoaError.fileWriteFileExists` (516) when an item exists at the destination; `ContainerError`:
    ///   `invalidName` when the places contradict `isUbiquitous`, `fileSystem`; `FileCoordinationError`; or
    ///   `CancellationError`. The item has not moved then.
    public func setUbiquitous(_ isUbiquitous: Bool, itemAt url: URL, destinationURL: URL, deadline: FileCoordinator.Deadline? = nil) async throws {
        let inside = isUbiquitous ? destinationURL : url
        let outside = isUbiquitous ? url : destinationURL
        guard contains(inside), !contains(outside) else {
            throw ContainerError(
                .invalidName,
                "\(url.path) cannot be moved to \(destinationURL.path): \(isUbiquitous ? "the destination must be below \(path), and the item outside it" : "the item must be below \(path), and the destination outside it").",
                path: FilePath(destinationURL.path))
        }
        let coordinator = FileCoordinator.current
        try await coordinator.write(
            url, options: .forMoving, writing: destinationURL, writingOptions: .forReplacing, deadline: deadline
        ) { source, target in
            try await ItemMove(files).move(FilePath(source.path), to: FilePath(target.path))
            coordinator.item(at: source, didMoveTo: target)
        }
    }

    /// Returns whether an item is meant for the user's other devices: it is in the container, and in no `.nosync`
    /// folder.
    ///
    /// The result does not tell whether the item has arrived there.
    ///
    /// - Parameter url: a file URL.
    /// - Returns: whether the item is meant for other devices.
    public func isUbiquitousItem(at url: URL) -> Bool {
        guard contains(url) else { return false }
        let names = FilePath(url.path).lexicallyNormalized().components.dropFirst(path.components.count).map(\.string)
        return names.first != Self.markDirectoryName && names.first != Self.storesName && !names.contains { $0.hasSuffix(".nosync") }
    }

    private func contains(_ url: URL) -> Bool {
        guard url.isFileURL else { return false }
        let item = FilePath(url.path).lexicallyNormalized()
        return item.starts(with: path) && item != path
    }
}
