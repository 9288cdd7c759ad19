internal import Synchronization

/// A clock for sleeps and deadlines, which stands still until it is told to go on; ``ManualClock`` is one for the time of day.
package final class StillClock: Clock {
    /// A moment, by how far the clock has been moved until then.
    package struct Instant: InstantProtocol {
        /// From the clock's beginning.
        package var offset: Duration
        /// A later moment.
        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// How long it is until another.
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        /// In the order of time.
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [UInt64: (until: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var next: UInt64 = 0
        var cancelled: Set<UInt64> = []
    }
    private let state = Mutex(State())

    /// A clock at its beginning.
    package init() {}

    /// The moment that it shows.
    package var now: Instant { state.withLock { $0.now } }
    /// As fine as a duration is told.
    package var minimumResolution: Duration { .nanoseconds(1) }

    /// Sleeps until the clock is moved that far.
    ///
    /// - Parameters:
    ///   - deadline: when to wake.
    ///   - tolerance: is not used.
    /// - Throws: `CancellationError`.
    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, watchers) = state.withLock { state -> (Bool, [CheckedContinuation<Void, Never>]) in
                    if state.cancelled.contains(id) || deadline <= state.now { return (true, []) }
                    state.sleepers[id] = (deadline, continuation)
                    let ready = state.watchers.filter { $0.count <= state.sleepers.count }
                    state.watchers.removeAll { $0.count <= state.sleepers.count }
                    return (false, ready.map(\.continuation))
                }
                if isOver { continuation.resume() }
                for watcher in watchers { watcher.resume() }
            }
            try Task.checkCancellation()
        } onCancel: {
            let sleeper = state.withLock { state in
                state.cancelled.insert(id)
                return state.sleepers.removeValue(forKey: id)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Returns once so many tasks sleep.
    package func sleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Moves the clock, and wakes who has slept long enough.
    package func advance(by duration: Duration) {
        let ready = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let ready = state.sleepers.filter { $0.value.until <= state.now }
            for id in ready.keys { state.sleepers[id] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// Waits until somebody sleeps, and moves the clock.
    package func pass(_ duration: Duration) async {
        await sleepers(1)
        advance(by: duration)
    }
}
