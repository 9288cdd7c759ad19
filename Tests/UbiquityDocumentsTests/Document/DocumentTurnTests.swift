import Dispatch
import Synchronization
import Testing
import Waiting

@testable import UbiquityDocuments

struct DocumentTurnTests {
    /// Runs tasks on a queue of its own, as a presenter's messages are handled.
    private final class QueueExecutor: TaskExecutor {
        private let queue = DispatchQueue(label: "turns")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    /// Counts those that have the turn.
    private final class Holders: Sendable {
        private let counts = Mutex((now: 0, most: 0))

        var most: Int { counts.withLock { $0.most } }

        func enter() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
        func leave() { counts.withLock { $0.now -= 1 } }
    }

    @MainActor
    private static func work(_ turn: DocumentTurn, _ holders: Holders) async {
        for _ in 0..<500 {
            await turn.take()
            holders.enter()
            await Task.yield()
            holders.leave()
            turn.give()
        }
    }

    @Test("One has the turn at a time, and none that waits for it is forgotten, on whatever executor")
    func turns() async throws {
        let (turn, holders) = (DocumentTurn(), Holders())
        let tasks = (0..<8).map { number in
            Task.detached(executorPreference: number.isMultiple(of: 2) ? QueueExecutor() : nil) { await Self.work(turn, holders) }
        }
        try await within("all turns") { for task in tasks { await task.value } }
        #expect(holders.most == 1)
    }
}
