internal import GRDB
internal import StoreFormat
public import StoreRecords

extension UbiquitousStore {
    /// Deletes the records that have lain in a trash for longer than its lifetime.
    ///
    /// It deletes what this device's account may delete; the records of other accounts stay until their own devices delete
    /// them. Signed out, and in a store that only reads a public place, it deletes nothing. Nothing is written unless there
    /// is something to delete.
    ///
    /// Nobody can know that all readers have seen a record in the trash, because they leave no trace. The lifetime decides
    /// alone, by the clocks of the device that moved the record and of this one.
    ///
    /// - Parameter trash: the trash.
    /// - Returns: the deleted records.
    /// - Throws: `UbiquitousStoreError`: `notFound` if there is no such synced table or column; `unsupported` if a column of
    ///   the table cannot be cleared. GRDB's errors.
    @discardableResult
    public func empty(_ trash: Trash) async throws -> [ObjectID] {
        let shapes = current.file.shapes
        let now = HybridTime(context.now())
        let mayDelete: @Sendable (ObjectID) -> Bool = { self.canDelete($0) }
        let found = try await read { db in
            try trash.check(shapes, db)
            return try trash.expired(now: now, where: mayDelete, db)
        }
        guard !found.isEmpty else { return [] }
        return try await write { db in
            // A save since then may have taken a record out of the trash.
            let expired = try trash.expired(now: now, where: mayDelete, db)
            try trash.delete(expired, db)
            return expired
        }
    }
}
