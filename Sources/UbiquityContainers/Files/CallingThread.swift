internal import Dispatch
internal import Synchronization

/// Runs asynchronous work on the calling thread, which blocks until the work has ended.
///
/// The thread itself runs each step of the work, so no thread of the cooperative pool is occupied or needed; only actors with executors
/// of their own, and detached tasks, run elsewhere. The work sees the task-local values of the caller, so an access that it makes inside
/// an accessor counts as nested.
///
/// - Parameter body: the work.
/// - Returns: the result of the work.
/// - Throws: the error of the work.
@available(*, noasync, message: "Await the work.")
package func blockingCaller<Value>(_ body: () async throws -> Value) throws -> Value {
    let thread = CallingThread()
    return try withoutActuallyEscaping(body) { body in
        // The caller waits for the end of the work, so nothing of it is used by two threads at a time.
        nonisolated(unsafe) let body = body
        nonisolated(unsafe) var result: Result<Value, any Error>?
        let task = Task(executorPreference: thread) {
            do { result = .success(try await body()) } catch { result = .failure(error) }
            thread.end()
        }
        thread.run()
        _ = task
        return try result!.get()
    }
}

/// A thread that runs the steps of a task until the task has ended.
private final class CallingThread: TaskExecutor {
    private struct Steps {
        var waiting: [UnownedJob] = []
        var isEnded = false
    }

    private let steps = Mutex(Steps())
    private let arrival = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        steps.withLock { $0.waiting.append(job) }
        arrival.signal()
    }

    func end() {
        steps.withLock { $0.isEnded = true }
        arrival.signal()
    }

    /// Runs steps in the order of their arrival.
    func run() {
        while true {
            arrival.wait()
            let (job, isEnded) = steps.withLock { steps in (steps.waiting.isEmpty ? nil : steps.waiting.removeFirst(), steps.isEnded) }
            if let job { job.runSynchronously(on: asUnownedTaskExecutor()) } else if isEnded { return }
        }
    }
}
