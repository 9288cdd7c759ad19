package import GRDB
package import SystemPackage

/// A store's copy without any data of this package: an ordinary SQLite database with the app's tables.
public struct PlainCopy: Sendable, Hashable, Codable {
    /// The number of rows of each app table; copy and store were compared row by row.
    public var rows: [String: Int] = [:]

    package init(rows: [String: Int] = [:]) { self.rows = rows }
}

extension InspectedStore {
    /// Writes a plain copy of the store while an app uses it; see ``UbiquitousStore/writePlainCopy(to:progress:)``.
    ///
    /// - Parameters:
    ///   - path: the destination; nothing may exist there.
    ///   - progress: called with the completed part, from 0 to 1.
    /// - Returns: the numbers of copied rows.
    /// - Throws: `UbiquitousStoreError`.
    package func writePlainCopy(to path: FilePath, progress: ((Double) -> Void)? = nil) throws -> PlainCopy {
        let writer = PlainCopyWriter(target: path)
        return try read { db in PlainCopy(rows: try writer.write(db) { progress?(Double($0.rows) / Double(max(1, $0.total))) }.tables) }
    }
}

/// Copies a store's tables without those of this package, and moves the copy into place.
package struct PlainCopyWriter {
    package let target: FilePath
    package var replacesExisting = false

    package init(target: FilePath, replacesExisting: Bool = false) {
        self.target = target
        self.replacesExisting = replacesExisting
    }

    /// Writes the copy.
    ///
    /// - Parameters:
    ///   - db: the store, in a transaction, so that copy and comparison are of one moment.
    ///   - progress: called after each batch.
    /// - Returns: the numbers of copied rows.
    /// - Throws: `UbiquitousStoreError`, `CancellationError`.
    package func write(_ db: Database, _ progress: ((StoreMigration) -> Void)?) throws -> StoreMigration {
        // The draft's name is constant, so that the next call finds the draft of a killed process.
        let place = NewFile(target, draftSuffix: "-draft")
        if !replacesExisting { try place.checkPlace() }
        do {
            let result = try DatabaseCopy(draft: place.draft, isStripped: true).make(from: db, progress)
            try place.place(replacesExisting: replacesExisting)
            return result
        } catch let error as DatabaseError {
            throw place.failure(error)
        }
    }
}
