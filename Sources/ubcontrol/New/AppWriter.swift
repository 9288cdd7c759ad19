import Foundation
import SystemPackage
import UbiquityContainers

/// Writes an app's files: all of them, or nothing.
struct AppWriter {
    /// The app's directory, which does not exist before.
    let directory: FilePath
    private let layer: any FileLayer

    /// Makes a writer.
    ///
    /// - Parameters:
    ///   - directory: the directory to write; the one around it exists.
    ///   - layer: the file operations.
    init(_ directory: FilePath, layer: any FileLayer = LinuxFileLayer()) {
        self.directory = directory
        self.layer = layer
    }

    /// Writes the files in a directory beside the app's, and gives that its name.
    ///
    /// - Parameter files: the files, by paths below the directory.
    /// - Throws: `ContainerError`: `fileExists` if anything has the directory's name, else `fileSystem`. Nothing of the
    ///   app is left then.
    func write(_ files: [AppTemplate.File]) throws(ContainerError) {
        try checkPlace()
        let parent = directory.removingLastComponent()
        let draft = parent.appending(".ubiquity-new-\(UUID().uuidString)")
        do {
            try layer.makeDirectory(draft)
            for file in files { try write(file, in: draft) }
            // rename(2) replaces no file, and no directory with anything in it.
            try layer.renameOver(draft, to: directory)
            try layer.syncDirectory(parent)
        } catch {
            try? FileManager.default.removeItem(atPath: draft.string)
            throw ContainerError(
                .fileSystem, "\(directory) cannot be written (\(error)); check the owner, mode and free space of \(parent).", path: directory,
                cause: error)
        }
    }

    private func checkPlace() throws(ContainerError) {
        let parent = directory.removingLastComponent()
        guard PathFacts.real(parent) != nil else {
            throw ContainerError(.fileSystem, "\(parent) does not exist; make it first, or name another directory with --directory.", path: directory)
        }
        guard (try? layer.kind(of: directory)) != nil else { return }
        throw ContainerError(.fileExists, "\(directory) is there already; name another directory with --directory.", path: directory)
    }

    private func write(_ file: AppTemplate.File, in draft: FilePath) throws {
        let path = draft.pushing(FilePath(file.path))
        try FileManager.default.createDirectory(atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
        try layer.writeNew(path, Array(file.text.utf8))
    }
}
