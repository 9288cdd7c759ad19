internal import Foundation
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// A file or directory that is created as a draft and moved into place once it is complete; it overwrites nothing.
///
/// A process that is killed leaves the draft, which can be deleted, or the complete file in its place.
package struct NewFile: Sendable {
    let target: FilePath
    /// The path of the draft, beside the target.
    package let draft: FilePath
    let files: any FileLayer = LinuxFileLayer()

    /// Creates the value; nothing is written yet.
    ///
    /// - Parameters:
    ///   - target: the final path.
    ///   - draftSuffix: the suffix of the draft's name; by default a unique one, so that two writers do not share a
    ///     draft.
    package init(_ target: FilePath, draftSuffix: String = "-draft-\(UUID().uuidString)") {
        // A relative name has no directory that could be synced.
        self.target = PathFacts.absolute(target)
        draft = FilePath(self.target.string + draftSuffix)
    }

    /// Checks that the target is free, before any work begins.
    package func checkPlace() throws {
        let kind: FileKind?
        do {
            kind = try files.kind(of: target)
        } catch {
            throw failure(error)
        }
        guard kind == nil else { throw isTaken }
    }

    /// Makes the draft durable and moves it to the target; if that fails, the draft is removed.
    ///
    /// - Parameter replacesExisting: whether a database replaces an existing file.
    /// - Throws: `UbiquitousStoreError`.
    package func place(replacesExisting: Bool = false) throws {
        Waypoint.fileDrafted.pass()
        do {
            switch try files.kind(of: draft) {
            case .directory:
                for name in try files.names(in: draft) { try files.syncFile(draft.appending(name)) }
                try files.syncDirectory(draft)
                Waypoint.fileSynced.pass()
                // rename(2) moves a directory only to a free path, or over an empty directory.
                try files.renameOver(draft, to: target)
            default:
                try files.syncFile(draft)
                Waypoint.fileSynced.pass()
                if replacesExisting {
                    // SQLite would apply these files to the new database.
                    for suffix in Self.companions { try files.remove(FilePath(target.string + suffix)) }
                    try files.renameOver(draft, to: target)
                } else {
                    try files.renameNew(draft, to: target)
                }
            }
            Waypoint.filePlaced.pass()
            try files.syncDirectory(target.removingLastComponent())
        } catch {
            remove()
            throw [.fileExists, .directoryNotEmpty, .notDirectory].contains(error) ? isTaken : failure(error)
        }
    }

    /// Removes the draft, and SQLite's files beside it.
    package func remove() {
        for suffix in [""] + Self.companions { try? FileManager.default.removeItem(atPath: draft.string + suffix) }
    }

    /// Runs a body that writes the draft, and removes the draft if the body throws.
    ///
    /// - Parameter body: writes the draft; an `Errno` that it throws is explained.
    /// - Returns: the body's result.
    /// - Throws: `UbiquitousStoreError`; `CancellationError` if the task is cancelled; the body's other errors.
    package func drafting<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            remove()
            // The error of an interrupted statement becomes `CancellationError`.
            try Task.checkCancellation()
            throw error is Errno ? failure(error) : error
        }
    }

    /// The suffixes of SQLite's files beside a database.
    private static let companions = ["-wal", "-shm", "-journal"]

    private var isTaken: UbiquitousStoreError {
        UbiquitousStoreError(.fileSystem, "\(target) is there already: name a path where nothing is.", path: target)
    }

    /// Returns an error that names the file that could not be written.
    func failure(_ error: any Error) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .fileSystem, "\(target) could not be written; check that its directory is there, its owner, mode and free space.", path: target,
            cause: error)
    }
}
