internal import GRDB
internal import StoreFormat
package import StoreRecords

extension RejectedLog {
    /// Returns the logs of other accounts that have no effect in a store.
    ///
    /// - Parameter store: the store.
    /// - Returns: the logs, by peer.
    /// - Throws: `UbiquitousStoreError` with `unsupported` for a store without a scope; GRDB's errors.
    package static func list(in store: InspectedStore) throws -> [RejectedLog] {
        try store.read { db in
            guard try ScopeState.exists(db) else {
                throw UbiquitousStoreError(
                    .unsupported, "\(store.file) lies in a container of one account, where nothing is rejected.", path: store.file)
            }
            return try list(db)
        }
    }
}
