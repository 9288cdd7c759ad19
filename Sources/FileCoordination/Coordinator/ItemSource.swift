internal import Synchronization
package import SystemPackage

/// Brings items here whose bytes are elsewhere.
///
/// A coordinated read of such an item waits until its bytes are here; a write does not.
package protocol ItemSource: Sendable {
    /// Returns the item that must be brought before something is read.
    ///
    /// It is called for each coordinated read below the source's directory, so it must be quick where the item is here.
    ///
    /// - Parameter path: an absolute path, which may lie in a package.
    /// - Returns: the path itself or a package above it; nil if it is here, or nothing is known of it.
    func awaitedItem(_ path: FilePath) -> FilePath?

    /// Brings an item here.
    ///
    /// - Parameter item: a path that ``awaitedItem(_:)`` has returned.
    /// - Throws: the reason why it cannot be brought; `CancellationError`.
    func bring(_ item: FilePath) async throws

    /// Brings an item here, blocking the calling thread, which may be one of the few that run tasks.
    func bringBlocking(_ item: FilePath) throws
}

/// The sources of this process, by directory.
package enum ItemSources {
    private static let sources = Mutex<[FilePath: any ItemSource]>([:])
    private static let count = Atomic(0)

    /// Registers a source for everything below directories, in the place of an earlier one.
    package static func register(_ source: any ItemSource, below directories: [FilePath]) {
        sources.withLock { sources in
            for directory in directories { sources[directory] = source }
            count.store(sources.count, ordering: .releasing)
        }
    }

    private static func source(of path: FilePath, _ sources: [FilePath: any ItemSource]) -> (any ItemSource)? {
        if sources.count <= 4 { return sources.first { path.starts(with: $0.key) && path != $0.key }?.value }
        var place = path.removingLastComponent()
        while !place.components.isEmpty {
            if let source = sources[place] { return source }
            place.removeLastComponent()
        }
        return nil
    }

    /// Returns the first item that must be brought before items are read, with its source.
    static func awaited(_ paths: @autoclosure () -> [FilePath]) -> (item: FilePath, source: any ItemSource)? {
        guard count.load(ordering: .acquiring) > 0 else { return nil }
        for path in paths() {
            let source: (any ItemSource)? = sources.withLock { Self.source(of: path, $0) }
            if let source, let item = source.awaitedItem(path) { return (item, source) }
        }
        return nil
    }
}

/// The wait of one access for items that are brought.
struct ItemWaiting {
    private var attempts = 0

    /// An item that is taken away as often as this is in use elsewhere.
    private static let mostAttempts = 5

    /// Waits until an item is here.
    ///
    /// - Parameters:
    ///   - awaited: the item and its source.
    ///   - deadline: the access's deadline; a duration becomes a time.
    /// - Throws: `downloadFailed`; `deadlineExceeded`; `CancellationError`.
    mutating func wait(for awaited: (item: FilePath, source: any ItemSource), _ deadline: inout FileCoordinator.Deadline?) async throws {
        try begin(awaited.item)
        let (item, source) = awaited
        guard let remaining = deadline?.remaining else { return try await Self.bring(item, source) }
        let end = ContinuousClock.now + remaining
        deadline = .at(end)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Self.bring(item, source) }
            group.addTask {
                try await Task.sleep(until: end, clock: .continuous)
                throw FileCoordinationError(
                    .deadlineExceeded, "\(item) was not on this device before the deadline of the access; it is still being fetched.", path: item)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Blocks until an item is here.
    ///
    /// - Throws: `downloadFailed`.
    mutating func waitBlocking(for awaited: (item: FilePath, source: any ItemSource)) throws {
        try begin(awaited.item)
        let (item, source) = awaited
        do { try source.bringBlocking(item) } catch { throw Self.failure(item, error) }
    }

    private mutating func begin(_ item: FilePath) throws {
        attempts += 1
        guard attempts <= Self.mostAttempts else {
            throw FileCoordinationError(.downloadFailed, "\(item) was fetched and went again, \(attempts - 1) times.", path: item)
        }
    }

    private static func bring(_ item: FilePath, _ source: any ItemSource) async throws {
        do {
            try await source.bring(item)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw failure(item, error)
        }
    }

    private static func failure(_ item: FilePath, _ error: any Error) -> FileCoordinationError {
        FileCoordinationError(.downloadFailed, "\(item) is not on this device, and cannot be fetched.", path: item, cause: error)
    }
}
