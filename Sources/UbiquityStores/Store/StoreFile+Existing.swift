internal import Foundation
internal import GRDB
internal import SystemPackage
internal import UbiquityContainers

extension StoreFile {
    /// Begins a store that is new with a copy of the app's plain database, where that is there.
    ///
    /// The copy is made beside the store file and put in its place whole, so that a crash leaves a store that is still to begin, or one that has
    /// begun. The plain database is only read.
    ///
    /// - Parameters:
    ///   - existing: the plain database.
    ///   - path: the store file, which is not there.
    ///   - files: puts the copy in its place.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    static func begin(with existing: FilePath, at path: FilePath, files: any FileLayer) throws {
        guard FileManager.default.fileExists(atPath: existing.string), !FileManager.default.fileExists(atPath: path.string) else { return }
        let draft = FilePath(path.string + "-draft")
        for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: draft.string + suffix) }
        do {
            var readOnly = Configuration()
            readOnly.readonly = true
            let source = try DatabaseQueue(path: existing.string, configuration: readOnly)
            defer { try? source.close() }
            guard try source.read({ db in try !db.tableExists("ubiquity_state") }) else {
                throw UbiquitousStoreError(
                    .unsupported, "\(existing) is a synced store itself; name a plain database, or open that store.", path: existing)
            }
            let copy = try DatabaseQueue(path: draft.string)
            try source.backup(to: copy)
            try copy.close()
        } catch let error as DatabaseError {
            throw UbiquitousStoreError(
                .database, "\(existing) could not be copied, so that the store was not made; see whether it is whole and can be read.",
                path: existing, cause: error)
        }
        try files.renameNew(draft, to: path)
        try files.syncDirectory(path.removingLastComponent())
        Waypoint.openCopied.pass()
    }
}
