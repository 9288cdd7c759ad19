internal import Dispatch

/// Runs what blocks away from the cooperative pool, whose few threads belong to everybody.
///
/// - Parameter body: may lock, sync and wait.
/// - Returns: what the body returns.
/// - Throws: what the body throws.
package func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Swift.Result(catching: body)) }
    }
}
