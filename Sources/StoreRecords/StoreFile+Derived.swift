internal import GRDB
internal import StoreFormat

extension StoreFile {
    /// Runs a body; if a virtual table of the app is malformed, fills the derived tables and runs the body once more.
    ///
    /// A malformed index of such a table does not mean that the store file is damaged, although SQLite uses the code of
    /// a damaged file (sqlite.org/rescode.html#corrupt_vtab): the index lacks an entry that a trigger deletes.
    ///
    /// - Parameter body: makes all its writes in one transaction.
    /// - Returns: the result of the body.
    /// - Throws: the error of the body.
    package func mendingDerived<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError where error.fault == .virtualTable {
            guard shapes.contains(where: { !$0.derived.isEmpty }) else {
                throw UbiquitousStoreError(
                    .database,
                    "A virtual table that the app's triggers maintain is malformed: it lacks an entry that they delete. Name it in `derived:` of the SyncedTable from which it is computed, so that the store can fill it again.",
                    path: path, cause: error)
            }
            try pool.write { db in try StoreDeclarations.fillDerived(from: shapes, db) }
            return try body()
        }
    }
}
