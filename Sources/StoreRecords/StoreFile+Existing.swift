internal import Foundation
internal import GRDB
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

extension StoreFile {
    /// Begins a store that is new with a copy of the app's plain database, where that is there.
    ///
    /// The copy is made beside the store file and put in its place whole, so that a crash leaves a store that is still to begin, with some of the
    /// copy, or one that has begun. The plain database is only read.
    ///
    /// - Parameters:
    ///   - existing: the plain database.
    ///   - path: the store file, which is not there.
    ///   - files: puts the copy in its place.
    ///   - progress: called after each batch.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    static func begin(with existing: FilePath, at path: FilePath, files: any FileLayer, _ progress: ((StoreMigration) -> Void)?) throws {
        guard FileManager.default.fileExists(atPath: existing.string), !FileManager.default.fileExists(atPath: path.string) else { return }
        let copy = DatabaseCopy(draft: FilePath(path.string + "-draft"))
        do {
            var readOnly = Configuration()
            readOnly.readonly = true
            let source = try DatabaseQueue(path: existing.string, configuration: readOnly)
            defer { try? source.close() }
            guard try source.read({ db in try !db.tableExists("ubiquity_state") }) else {
                throw UbiquitousStoreError(
                    .unsupported, "\(existing) is a synced store itself; name a plain database, or open that store.", path: existing)
            }
            _ = try source.read { db in try copy.make(from: db, progress) }
        } catch let error as DatabaseError {
            throw UbiquitousStoreError(
                .database, "\(existing) could not be copied, so that the store was not made; see whether it is whole and can be read.",
                path: existing, cause: error)
        }
        try files.syncFile(copy.draft)
        try files.renameNew(copy.draft, to: path)
        try files.syncDirectory(path.removingLastComponent())
        Waypoint.openCopied.pass()
    }
}
