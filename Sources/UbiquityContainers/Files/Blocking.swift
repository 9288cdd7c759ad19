internal import Dispatch

/// Runs blocking work outside the cooperative pool, whose few threads all tasks share.
///
/// - Parameter body: the work, which may lock, sync and wait.
/// - Returns: the result of the work.
/// - Throws: the error of the work.
package func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Swift.Result(catching: body)) }
    }
}
