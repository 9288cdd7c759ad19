internal import GRDB
internal import Synchronization

/// The observations that were started in a store, which go with it from file to file.
///
/// An observation goes on until it is cancelled or fails, as in a database of its own; after a change of the file it fetches anew.
final class ObservationRelay: Sendable {
    /// One observation, in the file that is in use.
    private struct Entry {
        let start: @Sendable (any DatabaseWriter) -> AnyDatabaseCancellable
        /// Nil while it is being started.
        var running: AnyDatabaseCancellable?
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var next = 0
        /// How many times the file has been changed.
        var moves = 0
    }

    private let state = Mutex(State())

    /// Starts an observation.
    ///
    /// - Parameters:
    ///   - observation: what to observe.
    ///   - scheduler: says where changes are told; whether at once, it is asked only now.
    ///   - pool: the file in use.
    ///   - onChange: is told each value.
    /// - Returns: ends the observation.
    func add<Reducer: ValueReducer>(
        _ observation: ValueObservation<Reducer>, scheduling scheduler: some ValueObservationScheduler, in pool: () -> any DatabaseWriter,
        onChange: @escaping @Sendable (Reducer.Value) -> Void
    ) -> AnyDatabaseCancellable {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        // Its own handler of errors is called first.
        let watched = observation.handleEvents(didFail: { [weak self] _ in self?.remove(number) })
        let start: @Sendable (any DatabaseWriter) -> AnyDatabaseCancellable = { pool in
            pool._add(observation: watched, scheduling: LaterScheduler(base: scheduler), onChange: onChange)
        }
        var moves = state.withLock { state in
            state.entries[number] = Entry(start: start)
            return state.moves
        }
        // Not under the lock: it may call the app at once.
        var running = pool()._add(observation: watched, scheduling: scheduler, onChange: onChange)
        while let now = settle(number, running, after: moves) {
            running.cancel()
            moves = now
            running = start(pool())
        }
        return AnyDatabaseCancellable { self.remove(number) }
    }

    /// Enters what has been started; the number of moves where the file has been changed meanwhile.
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
        // Let go outside of the lock: cancelling calls handlers.
        let entry = state.withLock { $0.entries.removeValue(forKey: number) }
        entry?.running?.cancel()
    }

    /// Goes on in another file.
    func move(to pool: any DatabaseWriter) {
        let (moves, entries) = state.withLock { state in
            state.moves += 1
            let entries = state.entries.filter { $0.value.running != nil }
            for number in entries.keys { state.entries[number]!.running = nil }
            return (state.moves, entries)
        }
        for (number, entry) in entries {
            entry.running?.cancel()
            // A later move has none to end here: it starts this one again.
            var (running, moves) = (entry.start(pool), moves)
            while let now = settle(number, running, after: moves) {
                running.cancel()
                (running, moves) = (entry.start(pool), now)
            }
        }
    }
}

/// Tells every value later, the first too: a change of the file comes on no thread of the app's.
private struct LaterScheduler<Base: ValueObservationScheduler>: ValueObservationScheduler {
    let base: Base

    func immediateInitialValue() -> Bool { false }
    func schedule(_ action: @escaping @Sendable () -> Void) { base.schedule(action) }
}
