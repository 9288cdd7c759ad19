internal import StoreFormat
package import StoreRecords

extension ScopeRequest {
    /// Stores the request about a public container's statements for the app's next exchange, after earlier ones.
    ///
    /// - Parameter store: the store.
    /// - Throws: `UbiquitousStoreError` with `unsupported` in a container of one account; GRDB's errors.
    package func ask(_ store: InspectedStore) throws { try store.write { db in try ask(db) } }

    /// Returns the requests that wait in a store, in their order; none in a container of one account.
    package static func waiting(in store: InspectedStore) throws -> [Waiting] { try store.read { db in try list(db) } }

    /// Withdraws a request.
    ///
    /// - Parameters:
    ///   - number: its number in the list of those that wait.
    ///   - store: the store.
    /// - Throws: `UbiquitousStoreError` with `notFound` if no such request waits; GRDB's errors.
    package static func withdraw(_ number: Int64, from store: InspectedStore) throws {
        guard try store.write({ db in try drop(number, db) }) else {
            throw UbiquitousStoreError(
                .notFound, "No request \(number) waits in \(store.file); it may be done or refused already.", path: store.file)
        }
    }
}
