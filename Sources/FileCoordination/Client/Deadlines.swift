import Dispatch

/// Calls back after a delay, outside the cooperative pool: accesses that a deadline must end may block all of the
/// pool's threads.
struct Deadlines: Sendable {
    /// A scheduled call, which can be cancelled.
    struct Timer: Sendable {
        let cancel: @Sendable () -> Void
    }

    private let clock: any Clock<Duration>
    /// Longer delays would overflow, and are as good as none.
    private static let longest = Duration.seconds(3_000_000_000)

    /// Makes deadlines for a clock.
    ///
    /// - Parameter clock: measures the delays. With any clock other than `ContinuousClock`, the sleeps use the
    ///   cooperative pool.
    init(clock: any Clock<Duration>) { self.clock = clock }

    /// Calls back once.
    ///
    /// - Parameters:
    ///   - duration: the delay.
    ///   - body: the closure to call.
    /// - Returns: the call; cancel it when it is not needed any more.
    func call(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> Timer {
        guard clock is ContinuousClock else {
            let task = Task.detached { [clock] in
                try await clock.sleep(for: duration)
                body()
            }
            return Timer { task.cancel() }
        }
        let (seconds, attoseconds) = min(max(duration, .zero), Self.longest).components
        // Each timer has its own serial queue, and libdispatch gives the queue a thread when it has work. Any thread
        // may use Dispatch objects.
        nonisolated(unsafe) let source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "file coordination deadline"))
        source.setEventHandler {
            source.cancel()
            body()
        }
        source.schedule(deadline: .now() + .nanoseconds(Int(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)))
        source.activate()
        return Timer { source.cancel() }
    }
}
