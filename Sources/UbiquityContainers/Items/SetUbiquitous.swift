public import FileCoordination
public import Foundation
internal import SystemPackage

extension UbiquityContainer {
    /// Moves an item into the container, or out of it; `FileManager`'s method of Cocoa's.
    ///
    /// It is a coordinated move: presenters of the item hear where it is, and others that use it are waited for. Nothing is made on the way, and nothing that
    /// is there is replaced. Between two file systems the item is copied whole under a name that no synchroniser takes, and then renamed: a crash leaves the
    /// source, and perhaps that copy, beside the destination.
    ///
    /// - Parameters:
    ///   - isUbiquitous: whether the item is to be in the container.
    ///   - url: the item.
    ///   - destinationURL: where it is to be: below the container, in a directory that is there; or outside it.
    ///   - deadline: when to give up waiting for others that use it; nil waits without limit.
    /// - Throws: `CocoaError.fileWriteFileExists` (516) where there is an item at the destination; `ContainerError`: `invalidName` where the places are not as
    ///   `isUbiquitous` says, `fileSystem`; `FileCoordinationError`; or `CancellationError`. The item is where it was.
    public func setUbiquitous(_ isUbiquitous: Bool, itemAt url: URL, destinationURL: URL, deadline: FileCoordinator.Deadline? = nil) async throws {
        let inside = isUbiquitous ? destinationURL : url
        let outside = isUbiquitous ? url : destinationURL
        guard contains(inside), !contains(outside) else {
            throw ContainerError(
                .invalidName,
                "\(url.path) cannot be moved to \(destinationURL.path): \(isUbiquitous ? "the destination has to lie below \(path), and the item outside it" : "the item has to lie below \(path), and the destination outside it").",
                path: FilePath(destinationURL.path))
        }
        let coordinator = FileCoordinator()
        try await coordinator.write(
            url, options: .forMoving, writing: destinationURL, writingOptions: .forReplacing, deadline: deadline
        ) { source, target in
            try await move(FilePath(source.path), to: FilePath(target.path))
            coordinator.item(at: source, didMoveTo: target)
        }
    }

    /// Whether an item is meant for the user's other devices: it lies in the container, and in no `.nosync` folder.
    ///
    /// It says nothing of whether it has got there.
    ///
    /// - Parameter url: a file URL.
    /// - Returns: whether it is.
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

    private func move(_ source: FilePath, to target: FilePath) async throws {
        do {
            if try !rename(source, to: target) { try await copy(source, to: target) }
        } catch let error as Errno where error == .fileExists {
            throw CocoaError(
                .fileWriteFileExists,
                userInfo: [
                    NSFilePathErrorKey: target.string, NSLocalizedDescriptionKey: "There is an item at \(target) already; choose another name.",
                ])
        } catch {
            throw ContainerError(
                .fileSystem, "\(source) cannot be moved to \(target); see that its directory is there and can be written.", path: target, cause: error
            )
        }
    }

    /// Renames; false between two file systems.
    private func rename(_ source: FilePath, to target: FilePath) throws(Errno) -> Bool {
        do {
            try files.renameNew(source, to: target)
            return true
        } catch .improperLink {
            return false
        }
    }

    /// The move between two file systems.
    private func copy(_ source: FilePath, to target: FilePath) async throws {
        let draft = target.removingLastComponent().appending(".\(target.lastComponent!.string).\(UUID().uuidString).nosync")
        try await blocking { [files] in
            do {
                try FileManager.default.copyItem(atPath: source.string, toPath: draft.string)
                if try files.kind(of: draft) == .file {
                    try files.syncFile(draft)
                } else {
                    for name in FileManager.default.enumerator(atPath: draft.string)?.compactMap({ $0 as? String }) ?? [] {
                        let entry = draft.pushing(FilePath(name))
                        if try files.kind(of: entry) == .file { try files.syncFile(entry) }
                        if try files.kind(of: entry) == .directory { try files.syncDirectory(entry) }
                    }
                }
                try files.renameNew(draft, to: target)
                try files.syncDirectory(target.removingLastComponent())
            } catch {
                try? FileManager.default.removeItem(atPath: draft.string)
                throw error
            }
            try FileManager.default.removeItem(atPath: source.string)
        }
    }
}
