internal import Synchronization

/// The notices of a store, for any number of observers.
///
/// A late one first hears that the store is suspended, if it is.
public struct StoreNotices: AsyncSequence, Sendable {
    /// What the sequence gives.
    public typealias Element = StoreNotice
    /// It ends when the store closes, and never fails.
    public typealias Failure = Never

    let hub: Hub

    /// Begins to observe, from now on.
    public func makeAsyncIterator() -> AsyncStream<StoreNotice>.Iterator { hub.subscribe().makeAsyncIterator() }

    /// Hands each notice to every observer.
    final class Hub: Sendable {
        private struct State {
            var observers: [Int: AsyncStream<StoreNotice>.Continuation] = [:]
            var next = 0
            var suspended: StoreNotice?
            var isClosed = false
        }

        private let state = Mutex(State())

        func subscribe() -> AsyncStream<StoreNotice> {
            let (stream, continuation) = AsyncStream.makeStream(of: StoreNotice.self)
            let number: Int? = state.withLock { state in
                if let suspended = state.suspended { continuation.yield(suspended) }
                guard !state.isClosed else { return nil }
                state.next += 1
                state.observers[state.next] = continuation
                return state.next
            }
            guard let number else {
                continuation.finish()
                return stream
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { $0.observers[number] = nil }
            }
            return stream
        }

        func post(_ notice: StoreNotice) {
            let observers = state.withLock { state in
                switch notice {
                case .didSuspend: state.suspended = notice
                case .didResume: state.suspended = nil
                case .didImport, .didQuarantine, .didChangeInAnotherProcess, .didFindConflicts, .didBreakChecks, .didTakeNewIdentifier: break
                }
                return Array(state.observers.values)
            }
            for observer in observers { observer.yield(notice) }
        }

        func close() {
            let observers = state.withLock { state in
                state.isClosed = true
                defer { state.observers = [:] }
                return Array(state.observers.values)
            }
            for observer in observers { observer.finish() }
        }
    }
}
