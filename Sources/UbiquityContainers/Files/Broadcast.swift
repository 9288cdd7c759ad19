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

    /// Held for a moment only, and never while an observer is told: a task that is cancelled holds a lock of its own while its stream ends, and takes this
    /// one; telling takes the task's lock.
    private let state: Mutex<State>
    /// Held while observers are told, so that all hear the same order.
    private let delivery = Mutex<Void>(())
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
        let number: Int? = delivery.withLock { _ in
            let (present, number) = state.withLock { state -> ([Element], Int?) in
                guard !state.isClosed else { return (state.present, nil) }
                state.next += 1
                state.observers[state.next] = continuation
                return (state.present, state.next)
            }
            for present in present { continuation.yield(present) }
            return number
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
        delivery.withLock { _ in
            let (value, observers) = state.withLock { state in (value(&state.present), Array(state.observers.values)) }
            guard let value else { return }
            for observer in observers { observer.yield(value) }
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
