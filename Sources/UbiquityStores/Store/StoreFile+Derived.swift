internal import GRDB

extension StoreFile {
    /// Runs a body, and where a virtual table of the app is found malformed on the way, fills the derived ones and runs it once more.
    ///
    /// The index behind such a table says nothing of the store file, though SQLite's code is that of a damaged file
    /// (sqlite.org/rescode.html#corrupt_vtab): it does not hold what a trigger takes out of it.
    ///
    /// - Parameter body: does all that it writes in one transaction.
    /// - Returns: what the body returns.
    /// - Throws: what the body throws.
    func mendingDerived<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError where error.fault == .virtualTable {
            guard shapes.contains(where: { !$0.derived.isEmpty }) else {
                throw UbiquitousStoreError(
                    .database,
                    "A virtual table that triggers of the app keep is malformed: it no longer holds what they take out of it. Name it in `derived:` of the SyncedTable that it is computed from, and it is filled again from that.",
                    path: path, cause: error)
            }
            try pool.write { db in try StoreDeclarations.fillDerived(from: shapes, db) }
            return try body()
        }
    }
}
