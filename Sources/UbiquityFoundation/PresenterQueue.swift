import Foundation
import Synchronization

/// A block on a queue of the client.
///
/// It cannot be cancelled: a client that cancels the operations of its queue means its own, and a message that never comes would leave an
/// access waiting.
final class QueueOperation: Operation, @unchecked Sendable {
    // A constant.
    private let block: @Sendable () -> Void

    init(_ block: @escaping @Sendable () -> Void) {
        self.block = block
        super.init()
    }

    override func main() { block() }

    override func cancel() {}
}

/// The answer to a message; the first one counts.
///
/// A presenter that never answers leaves the message unanswered, as in Cocoa.
final class PresenterAnswer<Value: Sendable>: Sendable {
    private let continuation: Mutex<UnsafeContinuation<Value, Never>?>

    init(_ continuation: UnsafeContinuation<Value, Never>) { self.continuation = Mutex(continuation) }

    func give(_ value: Value) {
        continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }?.resume(returning: value)
    }
}

/// Runs the steps of a task as operations of a presenter's queue.
final class PresenterQueueExecutor: TaskExecutor {
    private let queue: OperationQueue

    init(_ queue: OperationQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.addOperation(QueueOperation { job.runSynchronously(on: self.asUnownedTaskExecutor()) })
    }
}
