import Dispatch

/// Runs tasks one job at a time on a thread outside the cooperative pool.
///
/// Accesses that wait for presenters' answers may block all threads of the pool, so the answers must not need one.
/// libdispatch gives a thread to each serial queue that has work.
final class TurnExecutor: TaskExecutor {
    private let queue: DispatchQueue

    /// Makes an executor with a separate queue.
    ///
    /// - Parameter label: names the queue in a debugger.
    init(_ label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
