import Dispatch
import Foundation
import Synchronization
import Testing
import Waiting

@testable import UbiquityContainers

/// Values that go to several observers.
struct BroadcastTests {
    /// Does something once when it gets work, before that runs.
    private final class WatchedExecutor: TaskExecutor {
        private let queue = DispatchQueue(label: "watched")
        private let action = Mutex<(@Sendable () -> Void)?>(nil)

        func atNextWork(_ body: @escaping @Sendable () -> Void) { action.withLock { $0 = body } }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            action.withLock { $0.take() }?()
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    @Test("an observer whose task is cancelled while it is told something goes, and neither waits for the other")
    func cancelledWhileTold() async throws {
        let broadcast = Broadcast<Int>()
        let (stream, executor) = (broadcast.subscribe(), WatchedExecutor())
        let observer = Task(executorPreference: executor) { for await _ in stream {} }
        let hasEnded = Mutex<Bool?>(nil)
        executor.atNextWork {
            // A thread that tells is here; another cancels meanwhile.
            let ended = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                observer.cancel()
                ended.signal()
            }
            let result = ended.wait(timeout: .now() + 60)
            hasEnded.withLock { $0 = result == .success }
        }
        // A value that finds the observer busy is kept for it, and wakes nobody.
        try await until("the observer is woken by a value") {
            broadcast.post { _ in 1 }
            return hasEnded.withLock { $0 != nil }
        }
        #expect(hasEnded.withLock { $0 } == true)
        await observer.value
    }

    @Test("observers hear all that is posted in one order, a late one what is present first, and all end when it is closed")
    func order() async throws {
        let broadcast = Broadcast<Int>(present: 0)
        let first = broadcast.subscribe()
        DispatchQueue.concurrentPerform(iterations: 200) { number in
            broadcast.post { present in
                present = [number]
                return number
            }
        }
        let second = broadcast.subscribe()
        broadcast.post { _ in nil }
        broadcast.post { _ in 1_000 }
        broadcast.close()
        var heard: ([Int], [Int]) = ([], [])
        for await value in first { heard.0.append(value) }
        for await value in second { heard.1.append(value) }
        #expect(heard.0.count == 202 && Set(heard.0.dropFirst().dropLast()) == Set(0..<200) && heard.0.last == 1_000)
        #expect(heard.1 == heard.0.suffix(2))
        for await _ in broadcast.subscribe() { break }
    }
}
