internal import Foundation
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// A file, or a directory of files, that is made beside its place and put there once it is whole; nothing that is there is overwritten.
///
/// A process that is killed leaves the draft, which may be deleted, or the whole file in its place.
package struct NewFile: Sendable {
    let target: FilePath
    /// Where it is made.
    package let draft: FilePath
    let files: any FileLayer = LinuxFileLayer()

    /// A file to be.
    ///
    /// - Parameters:
    ///   - target: its place.
    ///   - draftSuffix: what the draft's name has behind the file's; one of its own each time, unless given, so that two makers do not write one.
    package init(_ target: FilePath, draftSuffix: String = "-draft-\(UUID().uuidString)") {
        // A name alone has no directory that could be made durable.
        self.target = PathFacts.absolute(target)
        draft = FilePath(self.target.string + draftSuffix)
    }

    /// Sees that the place is free, before any work is done for it.
    package func checkPlace() throws {
        let kind: FileKind?
        do {
            kind = try files.kind(of: target)
        } catch {
            throw failure(error)
        }
        guard kind == nil else { throw isTaken }
    }

    /// Makes the draft durable and puts it in its place; one that cannot go there is removed.
    ///
    /// - Parameter replacesExisting: whether a database takes the place of what is there.
    /// - Throws: `UbiquitousStoreError`.
    package func place(replacesExisting: Bool = false) throws {
        Waypoint.fileDrafted.pass()
        do {
            switch try files.kind(of: draft) {
            case .directory:
                for name in try files.names(in: draft) { try files.syncFile(draft.appending(name)) }
                try files.syncDirectory(draft)
                Waypoint.fileSynced.pass()
                // rename(2) puts a directory in the place of nothing, or of an empty one.
                try files.renameOver(draft, to: target)
            default:
                try files.syncFile(draft)
                Waypoint.fileSynced.pass()
                if replacesExisting {
                    // Beside another database it would be taken for its own.
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

    /// Removes the draft, and what SQLite may have left beside it.
    package func remove() {
        for suffix in [""] + Self.companions { try? FileManager.default.removeItem(atPath: draft.string + suffix) }
    }

    /// Runs a body that makes the draft, and removes that where the body throws.
    ///
    /// - Parameter body: makes the draft; an `Errno` that it throws is explained.
    /// - Returns: what the body returns.
    /// - Throws: `UbiquitousStoreError`; `CancellationError` where the task is cancelled; what else the body throws.
    package func drafting<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            remove()
            // A statement that was interrupted says so in its own words.
            try Task.checkCancellation()
            throw error is Errno ? failure(error) : error
        }
    }

    /// What SQLite keeps beside a database.
    private static let companions = ["-wal", "-shm", "-journal"]

    private var isTaken: UbiquitousStoreError {
        UbiquitousStoreError(.fileSystem, "\(target) is there already: name a place where nothing is.", path: target)
    }

    /// Says of an error what could not be written.
    func failure(_ error: any Error) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .fileSystem, "\(target) could not be written; check that its directory is there, its owner, mode and free space.", path: target,
            cause: error)
    }
}
