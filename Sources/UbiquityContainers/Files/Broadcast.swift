internal import Synchronization

/// Hands values to any number of observers, each in the same order.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        /// What a new observer hears first.
        var present: [Element] = []
        var observers: [Int: AsyncStream<Element>.Continuation] = [:]
        var next = 0
        var isClosed = false
    }

    private let state: Mutex<State>
    private let buffering: AsyncStream<Element>.Continuation.BufferingPolicy

    /// Makes a broadcast without observers.
    ///
    /// - Parameters:
    ///   - present: what a new observer hears first.
    ///   - buffering: what a slow observer misses.
    package init(present: Element? = nil, buffering: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded) {
        state = Mutex(State(present: present.map { [$0] } ?? []))
        self.buffering = buffering
    }

    /// Begins to observe; what comes ends when the broadcast is closed.
    package func subscribe() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: buffering)
        let number: Int? = state.withLock { state in
            for present in state.present { continuation.yield(present) }
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

    /// Tells the observers something.
    ///
    /// - Parameter value: makes it; may change what later observers hear first, and is called under a lock.
    package func post(_ value: (_ present: inout [Element]) -> Element?) {
        state.withLock { state in
            guard let value = value(&state.present) else { return }
            for observer in state.observers.values { observer.yield(value) }
        }
    }

    package func close() {
        let observers = state.withLock { state in
            state.isClosed = true
            defer { state.observers = [:] }
            return Array(state.observers.values)
        }
        for observer in observers { observer.finish() }
    }
}
