internal import Synchronization

/// Lets one save or read of a document after the other touch the disk.
///
/// Accesses of one presenter never wait for each other, so a save inside a presenter's answer can go before one that waits for its claim.
/// Nobody waits for a claim while having the turn.
final class DocumentTurn: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func take() async {
        await withCheckedContinuation { continuation in
            // The look and the entry in the list are one step: a task with an executor of its own can be suspended before this block runs.
            let isFree = state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func give() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
