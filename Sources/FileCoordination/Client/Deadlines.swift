import Dispatch

/// Calls back when time has passed, off the cooperative pool: its threads may be blocked by the very accesses that a deadline is to end.
struct Deadlines: Sendable {
    /// A call that is to come, until it is cancelled.
    struct Timer: Sendable {
        let cancel: @Sendable () -> Void
    }

    private let clock: any Clock<Duration>
    /// Longer waits are as good as none, and overflow.
    private static let longest = Duration.seconds(3_000_000_000)

    /// Makes deadlines of a clock.
    ///
    /// - Parameter clock: measures them; of any other than `ContinuousClock` the sleeps go through the cooperative pool.
    init(clock: any Clock<Duration>) { self.clock = clock }

    /// Calls back once.
    ///
    /// - Parameters:
    ///   - duration: how long from now.
    ///   - body: what to do.
    /// - Returns: the call, to be cancelled when it is of no use any more.
    func call(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> Timer {
        guard clock is ContinuousClock else {
            let task = Task.detached { [clock] in
                try await clock.sleep(for: duration)
                body()
            }
            return Timer { task.cancel() }
        }
        let (seconds, attoseconds) = min(max(duration, .zero), Self.longest).components
        // A serial queue of its own, which libdispatch gives a thread when it has something to do.
        // Dispatch objects may be used on any thread.
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
