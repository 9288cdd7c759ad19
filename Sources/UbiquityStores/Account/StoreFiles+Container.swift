internal import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

extension StoreFiles {
    /// Moves the local file to the container that the app names now.
    ///
    /// Saves that are made while nobody is signed in belong to no container yet: they go to the account that signs in,
    /// in the container that the app names then. If the file has been given to an account in the former container, it
    /// stays that account's, and opening reports it.
    ///
    /// The move is one statement, so it happens completely or not at all.
    ///
    /// - Parameter file: the local file, which need not exist. Opening it reports its faults.
    /// - Throws: no `DatabaseError`; other errors of GRDB.
    func bringAlong(_ file: FilePath) throws {
        guard FileManager.default.fileExists(atPath: file.string) else { return }
        do {
            var configuration = Configuration()
            configuration.busyMode = .timeout(30)
            let queue = try DatabaseQueue(path: file.string, configuration: configuration)
            defer { try? queue.close() }
            let former = try queue.read { db in
                try String.fetchOne(
                    db, sql: "SELECT container FROM ubiquity_state WHERE place = ? AND given IS NULL", arguments: [StoreFilePlace.local.rawValue])
            }
            guard let former, former != identifier.description else { return }
            try queue.writeWithoutTransaction { db in
                try db.execute(
                    sql: "UPDATE ubiquity_state SET container = ? WHERE container = ? AND given IS NULL", arguments: [identifier.description, former])
            }
            context.logger.info(
                "\(file): moved from the container \(former) to \(identifier)",
                metadata: .facts([.event: "containerChanged", .file: file.string]))
        } catch is DatabaseError {
            // The file has another version, or is no database: opening reports the fault.
        }
    }
}
