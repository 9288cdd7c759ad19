internal import Synchronization

/// Runs something that blocks away from the cooperative pool, and lets it see that the task has been cancelled.
///
/// - Parameter body: may lock, sync and wait. It calls its argument between steps, which throws `CancellationError` once the task has been cancelled.
/// - Returns: what the body returns.
/// - Throws: what the body throws.
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

/// Whether somebody wants no more of something that blocks.
private final class CancellationFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }
}
