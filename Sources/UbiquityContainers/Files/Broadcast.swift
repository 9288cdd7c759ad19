internal import Synchronization

/// Sends values to any number of observers, all in one order.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        /// The first value for a new observer.
        var present: [Element] = []
        var observers: [Int: AsyncStream<Element>.Continuation] = [:]
        var next = 0
        var isClosed = false
    }

    /// Held only briefly, and never while an observer receives a value.
    ///
    /// A cancelled task holds its own lock while its stream ends, and then takes this lock; sending a value takes the
    /// task's lock.
    private let state: Mutex<State>
    /// Held while observers receive values, so that all observers see the same order.
    private let delivery = Mutex<Void>(())
    private let buffering: AsyncStream<Element>.Continuation.BufferingPolicy
    /// Called with each value after the observers, on the thread that sends it.
    private let relay = Mutex<(@Sendable (Element) -> Void)?>(nil)

    /// Makes a broadcast without observers.
    ///
    /// - Parameters:
    ///   - present: the first value for a new observer.
    ///   - buffering: the values to drop for a slow observer.
    package init(present: Element? = nil, buffering: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded) {
        state = Mutex(State(present: present.map { [$0] } ?? []))
        self.buffering = buffering
    }

    /// Starts an observation, which ends when the broadcast is closed.
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

    /// Sends a value to the observers.
    ///
    /// - Parameter value: makes the value; it may change the first values for new observers, and runs with the lock
    ///   held.
    package func post(_ value: (_ present: inout [Element]) -> Element?) {
        let sent: Element? = delivery.withLock { _ in
            let (value, observers) = state.withLock { state in (value(&state.present), Array(state.observers.values)) }
            guard let value else { return nil }
            for observer in observers { observer.yield(value) }
            return value
        }
        if let sent { relay.withLock { $0 }?(sent) }
    }

    /// Calls a function with each value from now on, once observers have it, on the thread that sends it.
    package func relay(to function: @escaping @Sendable (Element) -> Void) { relay.withLock { $0 = function } }

    package func close() {
        // An observation that has begun gets its first value before its end.
        delivery.withLock { _ in
            let observers = state.withLock { state in
                state.isClosed = true
                defer { state.observers = [:] }
                return Array(state.observers.values)
            }
            for observer in observers { observer.finish() }
        }
    }
}
