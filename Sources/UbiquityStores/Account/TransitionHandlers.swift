internal import StoreExchange
internal import Synchronization

/// A registered handler of transitions, which is called until this object is cancelled or released.
public final class TransitionHandler: Sendable {
    private let remove: @Sendable () -> Void

    init(_ remove: @escaping @Sendable () -> Void) { self.remove = remove }

    deinit { remove() }

    /// Ends the registration; a running call goes on.
    public func cancel() { remove() }
}

/// The handlers that a store calls before it changes files.
final class TransitionHandlers: Sendable {
    typealias Handler = @Sendable (StoreTransition) async -> Void

    /// The file that a handler's saves belong to, of the store that calls the handler.
    struct Leaving: Sendable {
        let handlers: TransitionHandlers
        let base: StoreBase
    }

    /// Where a handler of will-change runs; saves of other stores have nothing to do with it.
    @TaskLocal static var leaving: Leaving?

    private struct State {
        var handlers: [Int: Handler] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    func add(_ handler: @escaping Handler) -> TransitionHandler {
        let number = state.withLock { state in
            state.next += 1
            state.handlers[state.next] = handler
            return state.next
        }
        return TransitionHandler { [weak self] in self?.remove(number) }
    }

    private func remove(_ number: Int) {
        // Released outside of the lock: it may hold the app's objects.
        let handler = state.withLock { $0.handlers.removeValue(forKey: number) }
        withExtendedLifetime(handler) {}
    }

    /// Calls all handlers at once, and waits for them.
    ///
    /// - Parameters:
    ///   - transition: the transition that they receive.
    ///   - base: the file in use.
    ///   - deadline: how long to wait; then the calls are cancelled, and go on by themselves.
    /// - Returns: whether all have returned.
    func call(_ transition: StoreTransition, at base: StoreBase, within deadline: Duration) async -> Bool {
        let handlers = state.withLock { Array($0.handlers.values) }
        guard !handlers.isEmpty else { return true }
        let (outcomes, continuation) = AsyncStream.makeStream(of: Bool.self)
        let calls = Self.$leaving.withValue(Leaving(handlers: self, base: base)) {
            Task {
                await withTaskGroup(of: Void.self) { group in
                    for handler in handlers { group.addTask { await handler(transition) } }
                }
                continuation.yield(true)
            }
        }
        let alarm = Task {
            if (try? await Task.sleep(for: deadline)) != nil { continuation.yield(false) }
        }
        defer {
            calls.cancel()
            alarm.cancel()
        }
        return await outcomes.first { _ in true } ?? false
    }
}
