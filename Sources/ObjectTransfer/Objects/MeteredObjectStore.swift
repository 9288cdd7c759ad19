package import SystemPackage
package import TreeWatching
internal import UbiquityContainers

/// Another store, whose bytes and failures are recorded.
package struct MeteredObjectStore: ObjectStore {
    private let store: any ObjectStore
    private let metrics: MetricRecorder

    package init(_ store: any ObjectStore, metrics: MetricRecorder = MetricRecorder()) {
        self.store = store
        self.metrics = metrics
    }

    /// Performs an operation, and records its failure.
    private func metered<Result: Sendable>(_ operation: () async throws -> Result) async throws -> Result {
        do {
            return try await operation()
        } catch let error as ObjectStoreError {
            // A missing object is an answer.
            if error.kind != .notFound { metrics.count(.transferFailures, [.reason: error.kind.rawValue]) }
            throw error
        }
    }

    /// Records the bytes of a local file that has been carried as a whole.
    private func carried(_ file: FilePath, _ direction: String) {
        guard metrics.isActive, let size = try? LinuxFileLayer().size(of: file) else { return }
        metrics.count(.transferBytes, by: Int(size), [.direction: direction])
    }

    package func list(_ directory: String) async throws -> [StoredObject] { try await metered { try await store.list(directory) } }

    package func put(_ file: FilePath, at path: String, progress: @escaping @Sendable (Int64) -> Void) async throws {
        try await metered { try await store.put(file, at: path, progress: progress) }
        carried(file, "sent")
    }

    package func get(_ path: String, size: Int64?, to file: FilePath, progress: @escaping @Sendable (Int64) -> Void) async throws {
        try await metered { try await store.get(path, size: size, to: file, progress: progress) }
        carried(file, "fetched")
    }

    package func delete(_ path: String) async throws { try await metered { try await store.delete(path) } }

    package func stat(_ path: String) async throws -> StoredObject? { try await metered { try await store.stat(path) } }

    package func limit(bytesPerSecond: Int64?) async throws { try await metered { try await store.limit(bytesPerSecond: bytesPerSecond) } }

    package func close() async { await store.close() }
}
