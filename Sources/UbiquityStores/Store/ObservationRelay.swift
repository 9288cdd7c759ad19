internal import GRDB
internal import Synchronization

/// The observations that were started in a store, which follow it from file to file.
///
/// An observation runs until it is cancelled or fails, as in any database; after a change of the file it fetches again.
final class ObservationRelay: Sendable {
    /// One observation, in the file that is in use.
    private struct Entry {
        let start: @Sendable (any DatabaseWriter) -> AnyDatabaseCancellable
        /// The running observation, or nil while it starts.
        var running: AnyDatabaseCancellable?
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var next = 0
        /// The number of changes of the file.
        var moves = 0
    }

    private let state = Mutex(State())

    /// The number of observations that have neither been cancelled nor failed.
    var count: Int { state.withLock { $0.entries.count } }

    /// Starts an observation.
    ///
    /// - Parameters:
    ///   - observation: what to observe.
    ///   - scheduler: decides where values are delivered. Only this first start asks it whether to deliver at once.
    ///   - pool: the file in use.
    ///   - onChange: receives each value.
    /// - Returns: an object that ends the observation.
    func add<Reducer: ValueReducer>(
        _ observation: ValueObservation<Reducer>, scheduling scheduler: some ValueObservationScheduler, in pool: () -> any DatabaseWriter,
        onChange: @escaping @Sendable (Reducer.Value) -> Void
    ) -> AnyDatabaseCancellable {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        // The observation's own error handler is called first.
        let watched = observation.handleEvents(didFail: { [weak self] _ in self?.remove(number) })
        let start: @Sendable (any DatabaseWriter) -> AnyDatabaseCancellable = { pool in
            pool._add(observation: watched, scheduling: LaterScheduler(base: scheduler), onChange: onChange)
        }
        var moves = state.withLock { state in
            state.entries[number] = Entry(start: start)
            return state.moves
        }
        // Not under the lock: the call may deliver a value to the app at once.
        var running = pool()._add(observation: watched, scheduling: scheduler, onChange: onChange)
        while let now = settle(number, running, after: moves) {
            running.cancel()
            moves = now
            running = start(pool())
        }
        return AnyDatabaseCancellable { self.remove(number) }
    }

    /// Stores a started observation; returns the number of moves if the file has changed in the meantime.
    private func settle(_ number: Int, _ running: AnyDatabaseCancellable, after moves: Int) -> Int? {
        let (now, isOver) = state.withLock { state -> (Int?, Bool) in
            guard state.entries[number] != nil else { return (nil, true) }
            guard state.moves == moves else { return (state.moves, false) }
            state.entries[number]!.running = running
            return (nil, false)
        }
        if isOver { running.cancel() }
        return now
    }

    private func remove(_ number: Int) {
        // Released outside of the lock: cancelling calls handlers.
        let entry = state.withLock { $0.entries.removeValue(forKey: number) }
        entry?.running?.cancel()
    }

    /// Restarts the observations in another file.
    func move(to pool: any DatabaseWriter) {
        let (moves, entries) = state.withLock { state in
            state.moves += 1
            let entries = state.entries.filter { $0.value.running != nil }
            for number in entries.keys { state.entries[number]!.running = nil }
            return (state.moves, entries)
        }
        for (number, entry) in entries {
            entry.running?.cancel()
            // A later move finds nothing to cancel here, so this loop restarts the observation.
            var (running, moves) = (entry.start(pool), moves)
            while let now = settle(number, running, after: moves) {
                running.cancel()
                (running, moves) = (entry.start(pool), now)
            }
        }
    }
}

/// Delivers every value asynchronously, also the first: a change of the file happens on no thread that the app chose.
private struct LaterScheduler<Base: ValueObservationScheduler>: ValueObservationScheduler {
    let base: Base

    func immediateInitialValue() -> Bool { false }
    func schedule(_ action: @escaping @Sendable () -> Void) { base.schedule(action) }
}
