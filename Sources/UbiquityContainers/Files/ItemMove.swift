internal import Foundation
package import SystemPackage

/// Moves an item to a name at which nothing is, also to another file system; the caller coordinates.
///
/// Between two file systems the item is copied completely under a name that synchronisers ignore, and then renamed. A crash leaves the
/// source, and perhaps that copy beside the destination; both items; or the destination, and what is left of the source under such a name.
package struct ItemMove: Sendable {
    private let files: any FileLayer

    package init(_ files: any FileLayer = LinuxFileLayer()) { self.files = files }

    /// Moves an item.
    ///
    /// - Throws: `CocoaError.fileWriteFileExists` when an item exists at the destination; `ContainerError` with `fileSystem`. The item has
    ///   not moved then.
    package func move(_ source: FilePath, to target: FilePath) async throws {
        do {
            try await blocking { [self] in if try !rename(source, to: target) { try copy(source, to: target) } }
        } catch let error as Errno where error == .fileExists {
            throw CocoaError(
                .fileWriteFileExists,
                userInfo: [
                    NSFilePathErrorKey: target.string, NSLocalizedDescriptionKey: "There is an item at \(target) already; choose another name.",
                ])
        } catch {
            throw ContainerError(
                .fileSystem, "\(source) cannot be moved to \(target); check that its directory exists and is writable.", path: target, cause: error
            )
        }
    }

    /// Renames the item; false if the places are on two file systems.
    private func rename(_ source: FilePath, to target: FilePath) throws(Errno) -> Bool {
        do {
            try files.renameNew(source, to: target)
        } catch .improperLink {
            return false
        }
        // The item has moved, whether or not that survives a loss of power.
        for directory in Set([source.removingLastComponent(), target.removingLastComponent()]) { try? files.syncDirectory(directory) }
        return true
    }

    private func copy(_ source: FilePath, to target: FilePath) throws {
        let (draft, replacement) = (ItemReplacement.draft(beside: target), ItemReplacement(files))
        do {
            try FileManager.default.copyItem(atPath: source.string, toPath: draft.string)
            try replacement.sync(draft)
            try files.renameNew(draft, to: target)
            try files.syncDirectory(target.removingLastComponent())
        } catch {
            replacement.discard(draft)
            throw error
        }
        let old = ItemReplacement.draft(beside: source)
        do {
            try files.renameNew(source, to: old)
        } catch {
            replacement.discard(target)
            throw error
        }
        replacement.discard(old)
    }
}
