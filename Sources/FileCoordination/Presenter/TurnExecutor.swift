import Dispatch

/// Runs tasks one job at a time on a thread that is none of the cooperative pool's.
///
/// The threads of the pool may all be blocked by accesses that wait for presenters' answers, so what gives these answers must not need one.
/// libdispatch makes a thread for each serial queue that has something to do.
final class TurnExecutor: TaskExecutor {
    private let queue: DispatchQueue

    /// Makes an executor with a queue of its own.
    ///
    /// - Parameter label: names the queue in a debugger.
    init(_ label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
