package import StoreRecords

extension ScopeRequest {
    /// Stores the request about a public container's statements for the app's next exchange, in place of an earlier one.
    ///
    /// - Parameter store: the store.
    /// - Throws: `UbiquitousStoreError` with `unsupported` in a container of one account; GRDB's errors.
    package func ask(_ store: InspectedStore) throws { try store.write { db in try ask(db) } }
}
