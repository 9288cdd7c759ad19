internal import CLinux
internal import Dispatch
internal import Foundation
internal import Synchronization

/// Runs an actor on a dispatch queue of its own, so that its blocking system calls hold up no task of the cooperative pool.
package final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    package init(label: String) { queue = DispatchQueue(label: label) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        queue.async { unowned.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

/// The same on a thread of its own, which gives way to everything else: its nice value is ten greater, and it is served last at the disk.
///
/// A queue's thread cannot be lent to that: what has become nicer may not go back without privileges (setpriority(2)).
final class BackgroundExecutor: SerialExecutor {
    /// What is shared with the thread, which ends once the executor is gone and all is done.
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

        /// Those that wait, once there are any; nil when there will be none.
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

    /// How much nicer its thread is than the one that made it.
    static let niceness: CInt = 10

    deinit { jobs.end() }

    func enqueue(_ job: consuming ExecutorJob) { jobs.add((UnownedJob(job), asUnownedSerialExecutor())) }
}
