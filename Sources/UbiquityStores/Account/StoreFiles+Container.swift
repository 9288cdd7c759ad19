internal import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

extension StoreFiles {
    /// Takes the file of this device along to the container that the app names now.
    ///
    /// What is saved while nobody is signed in is in no container yet: it goes to the account that signs in, in whichever container the app names then.
    /// What is on its way to an account in the former container stays that account's, and opening says so.
    ///
    /// It is one statement, whole or not at all.
    ///
    /// - Parameter file: the local file, which need not be there. What is wrong with it is found out when it is opened.
    /// - Throws: nothing that SQLite says of the file.
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
            context.logger.info("\(file): it was of the container \(former), and is of \(identifier) from now on")
        } catch is DatabaseError {
            // A file of another version, or none: opening says what is wrong.
        }
    }
}
