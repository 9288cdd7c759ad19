import Dispatch

@testable import TreeWatching

extension TreeWatcher {
    /// Makes the hub's thread wait until the semaphore is signalled.
    func hold() async -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        await withCheckedContinuation { continuation in
            hub.post { _ in
                continuation.resume()
                _ = gate.wait(timeout: .now() + 600)
            }
        }
        return gate
    }
}
