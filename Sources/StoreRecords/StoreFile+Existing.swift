internal import Foundation
internal import GRDB
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

extension StoreFile {
    /// Starts a new store with a copy of the app's plain database, if that exists.
    ///
    /// The copy is written beside the store file and moved into place when it is whole. So a crash leaves either a
    /// store that has not begun, with a part of the copy, or one that has begun. The plain database is only read.
    ///
    /// - Parameters:
    ///   - existing: the plain database.
    ///   - path: the store file, which does not exist yet.
    ///   - files: moves the copy into place.
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
                .database, "\(existing) could not be copied, so the store was not created; check that it is whole and can be read.",
                path: existing, cause: error)
        }
        try files.syncFile(copy.draft)
        try files.renameNew(copy.draft, to: path)
        try files.syncDirectory(path.removingLastComponent())
        Waypoint.openCopied.pass()
    }
}
