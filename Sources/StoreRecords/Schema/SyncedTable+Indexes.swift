public import GRDB
internal import StoreFormat

extension SyncedTable {
    /// Creates the indexes that a store asks for at opening and that the table lacks.
    ///
    /// A table with a creator needs an index that begins with the creator. One whose primary key begins with it has that
    /// index already. Call the method in a migration, after the table has its columns:
    ///
    /// ```swift
    /// migrator.registerMigration("indexes") { db in for table in tables { try table.createMissingIndexes(db) } }
    /// ```
    ///
    /// - Parameter db: the database of a migration.
    /// - Throws: GRDB's errors.
    public func createMissingIndexes(_ db: Database) throws {
        guard case .creator(let column) = access else { return }
        let index = CreatorIndex(table: name, creator: column)
        if try !index.exists(db) { try index.create(db) }
    }
}
