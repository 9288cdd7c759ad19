import Synchronization

@testable import TreeWatching

/// Errors in the order in which they were told.
final class ErrorList: Sendable {
    private let errors = Mutex<[TreeWatchingError]>([])
    func append(_ error: TreeWatchingError) { errors.withLock { $0.append(error) } }
    var all: [TreeWatchingError] { errors.withLock { $0 } }
}
