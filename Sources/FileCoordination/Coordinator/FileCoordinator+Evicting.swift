package import Foundation

extension FileCoordinator {
    /// Coordinates the removal of an item's local copy, which can be fetched again.
    ///
    /// Presenters of the item, and below it, are asked to accommodate the eviction. One that does not implement that refuses.
    /// A task that holds a coordinated write of the item may call this inside its accessor; anybody else waits for the write.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - deadline: the limit of the wait.
    ///   - accessor: evicts the item.
    /// - Throws: the accessor's error; `FileCoordinationError`; a presenter's own error if it refuses; `CancellationError`.
    package static func evict(_ url: URL, deadline: Deadline?, accessor: () async throws -> Void) async throws {
        try await FileCoordinator.current.write(url, options: .forEvicting, deadline: deadline) { _ in try await accessor() }
    }
}
