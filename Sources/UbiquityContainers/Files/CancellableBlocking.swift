internal import Synchronization

/// Runs blocking work outside the cooperative pool, and lets it check for cancellation.
///
/// - Parameter body: the work, which may lock, sync and wait. Between steps it calls its argument, which throws
///   `CancellationError` after the task has been cancelled.
/// - Returns: the result of the work.
/// - Throws: the error of the work.
package func blockingCancellably<Result: Sendable>(
    _ body: @escaping @Sendable (_ check: @Sendable () throws -> Void) throws -> Result
) async throws -> Result {
    let isCancelled = CancellationFlag()
    return try await withTaskCancellationHandler {
        try await blocking { try body { if isCancelled.isSet { throw CancellationError() } } }
    } onCancel: {
        isCancelled.set()
    }
}

/// A flag that asks blocking work to stop.
private final class CancellationFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }
}
