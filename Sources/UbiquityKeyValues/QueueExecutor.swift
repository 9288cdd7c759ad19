internal import Dispatch

/// Runs the steps of tasks on a dispatch queue, one after the other, so that they need no thread of the cooperative pool.
final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "ubiquity.keyvalues")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
