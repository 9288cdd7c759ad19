internal import GRDB
public import SystemPackage

/// A store's copy without any data of this package: an ordinary SQLite database with the app's tables.
public struct PlainCopy: Sendable, Hashable, Codable {
    /// The number of rows of each app table; copy and store were compared row by row.
    public var rows: [String: Int] = [:]
}

extension UbiquitousStore {
    /// Writes the app's tables, as of one moment, to a plain database without any table, trigger or key of this
    /// package.
    ///
    /// The store stays in use and does not change. The copy is written to a draft beside the destination. It is moved
    /// into place after a comparison of the number of rows and their content with the store's, as in
    /// ``migrate(to:options:progress:)``. Its journal mode is DELETE, and the app's migrator accepts it like the store.
    /// Triggers of the app that test `ubiquity_import` no longer test it in the copy.
    ///
    /// - Parameters:
    ///   - path: the destination; nothing may exist there.
    ///   - progress: called with the completed part, from 0 to 1, on a thread of GRDB.
    /// - Returns: the numbers of copied rows.
    /// - Throws: `UbiquitousStoreError`; `CancellationError` if the task is cancelled. No copy exists then.
    @discardableResult
    public func writePlainCopy(to path: FilePath, progress: (@Sendable (Double) -> Void)? = nil) async throws -> PlainCopy {
        let migration = try await migrate(to: path) { progress?(Double($0.rows) / Double(max(1, $0.total))) }
        return PlainCopy(rows: migration.tables)
    }
}

extension StoreInspection {
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
struct PlainCopyWriter {
    let target: FilePath
    var replacesExisting = false

    /// Writes the copy.
    ///
    /// - Parameters:
    ///   - db: the store, in a transaction, so that copy and comparison are of one moment.
    ///   - progress: called after each batch.
    /// - Returns: the numbers of copied rows.
    /// - Throws: `UbiquitousStoreError`, `CancellationError`.
    func write(_ db: Database, _ progress: ((StoreMigration) -> Void)?) throws -> StoreMigration {
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
