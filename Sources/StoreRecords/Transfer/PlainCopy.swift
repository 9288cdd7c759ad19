package import GRDB
package import SystemPackage

/// A store's copy without anything of this package: an ordinary SQLite database of the app's tables.
public struct PlainCopy: Sendable, Hashable, Codable {
    /// How many rows each of the app's tables has; copy and store were compared row by row.
    public var rows: [String: Int] = [:]

    package init(rows: [String: Int] = [:]) { self.rows = rows }
}

extension StoreInspection {
    /// Writes a plain copy of the store, beside the app that uses it; see ``UbiquitousStore/writePlainCopy(to:progress:)``.
    ///
    /// - Parameters:
    ///   - path: where to; nothing may be there.
    ///   - progress: called with the part that is done, from 0 to 1.
    /// - Returns: what was copied.
    /// - Throws: `UbiquitousStoreError`.
    package func writePlainCopy(to path: FilePath, progress: ((Double) -> Void)? = nil) throws -> PlainCopy {
        let writer = PlainCopyWriter(target: path)
        return try read { db in PlainCopy(rows: try writer.write(db) { progress?(Double($0.rows) / Double(max(1, $0.total))) }.tables) }
    }
}

/// Copies a store's tables without those of this package, and puts the copy in its place.
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
    ///   - db: the store, in a transaction, so that what is copied and what is compared is of one moment.
    ///   - progress: called after each batch.
    /// - Returns: what was copied.
    /// - Throws: `UbiquitousStoreError`, `CancellationError`.
    package func write(_ db: Database, _ progress: ((StoreMigration) -> Void)?) throws -> StoreMigration {
        // Of one name always, so that the next call finds what one that was killed has left.
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
