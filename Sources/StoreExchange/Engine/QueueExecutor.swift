internal import CLinux
internal import Dispatch
internal import Foundation
internal import Synchronization

/// Runs an actor on a dispatch queue of its own, so that its blocking system calls block no task of the cooperative
/// pool.
package final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    package init(label: String) { queue = DispatchQueue(label: label) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        queue.async { unowned.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

/// Runs an actor on a thread of its own that gives way to other work: its nice value is greater by ten, and its disk
/// access comes last.
///
/// A queue's thread cannot be used for that: without privileges, a thread cannot lower its nice value again
/// (setpriority(2)).
final class BackgroundExecutor: SerialExecutor {
    /// The state shared with the thread, which ends after the executor is gone and all jobs have run.
    private final class Jobs: Sendable {
        typealias Job = (job: UnownedJob, executor: UnownedSerialExecutor)

        private let state = Mutex((waiting: [Job](), isOver: false))
        private let wake = DispatchSemaphore(value: 0)

        func add(_ job: Job) {
            state.withLock { $0.waiting.append(job) }
            wake.signal()
        }

        func end() {
            state.withLock { $0.isOver = true }
            wake.signal()
        }

        /// Waits for jobs and returns them; nil if there will be none.
        func next() -> [Job]? {
            while true {
                wake.wait()
                let (jobs, isOver) = state.withLock { state in
                    defer { state.waiting = [] }
                    return (state.waiting, state.isOver)
                }
                if !jobs.isEmpty { return jobs }
                if isOver { return nil }
            }
        }
    }

    private let jobs = Jobs()

    init(label: String) {
        let thread = Thread { [jobs] in
            clinux_give_way(Self.niceness)
            while let batch = jobs.next() {
                for (job, executor) in batch { job.runSynchronously(on: executor) }
            }
        }
        thread.name = label
        thread.start()
    }

    /// The amount by which the thread's nice value is greater than that of the thread that created it.
    static let niceness: CInt = 10

    deinit { jobs.end() }

    func enqueue(_ job: consuming ExecutorJob) { jobs.add((UnownedJob(job), asUnownedSerialExecutor())) }
}
