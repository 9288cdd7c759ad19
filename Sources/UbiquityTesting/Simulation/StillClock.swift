internal import Synchronization

/// A clock for sleeps and deadlines that stands still until it is moved; ``ManualClock`` is one for the time of day.
package final class StillClock: Clock {
    /// A moment, as the distance that the clock has been moved.
    package struct Instant: InstantProtocol {
        /// The distance from the clock's start.
        package var offset: Duration
        /// Returns a later moment.
        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// Returns the time until another moment.
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Compares moments by time.
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

    /// Makes a clock at its start.
    package init() {}

    /// The current moment of the clock.
    package var now: Instant { state.withLock { $0.now } }
    /// The resolution of a duration.
    package var minimumResolution: Duration { .nanoseconds(1) }

    /// Sleeps until the clock reaches a moment.
    ///
    /// - Parameters:
    ///   - deadline: the moment to wake at.
    ///   - tolerance: unused.
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

    /// Returns when this many tasks sleep.
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

    /// Moves the clock, and wakes the tasks that are due.
    package func advance(by duration: Duration) {
        let ready = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let ready = state.sleepers.filter { $0.value.until <= state.now }
            for id in ready.keys { state.sleepers[id] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// Waits until a task sleeps, and moves the clock.
    package func pass(_ duration: Duration) async {
        await sleepers(1)
        advance(by: duration)
    }
}
