import Dispatch
import Foundation
import Synchronization
import Testing

@testable import FileCoordination

/// Ported code blocks the threads of the cooperative pool; what would free them must not need one.
@Suite(.serialized) struct OccupiedPoolTests {
    /// How long the whole may take before it is given up; a machine that has much to do is slow.
    private static let limit = 60.0

    /// Runs blocking work on more tasks than the cooperative pool has threads, all at once.
    ///
    /// - Parameters:
    ///   - giveUp: frees them where they are not done in time, so that the run goes on.
    ///   - body: what each does, given its number.
    /// - Returns: whether they were done in time.
    private func occupyPool(giveUp: @escaping @Sendable () -> Void, _ body: @escaping @Sendable (Int) -> Void) async -> Bool {
        let count = 4 * ProcessInfo.processInfo.activeProcessorCount
        let done = DispatchGroup()
        for _ in 0..<count { done.enter() }
        for number in 0..<count {
            Task.detached {
                body(number)
                done.leave()
            }
        }
        // On a thread of its own, for the pool has none left.
        return await withCheckedContinuation { continuation in
            Thread {
                let isInTime = done.wait(timeout: .now() + Self.limit) == .success
                if !isInTime { giveUp() }
                continuation.resume(returning: isInTime)
            }.start()
        }
    }

    /// A presenter that works as an actor, as ported documents do.
    private actor Document: FilePresenter {
        nonisolated let presentedItemURL: URL?
        private(set) var asked = 0

        init(_ url: URL) { presentedItemURL = url }

        func accommodatePresentedItemDeletion() async throws {
            await Task.yield()
            asked += 1
        }
        func count() -> Int { asked }
    }

    @Test("C-47: blocking accesses on every thread of the cooperative pool are granted when presenters, actors too, have answered")
    func presentersAnswer() async throws {
        try await withWorld(watchesFiles: true) { world in
            let count = 4 * ProcessInfo.processInfo.activeProcessorCount
            let urls = try (0..<count).map { try world.file("d/\($0).txt") }
            let documents = urls.map { Document($0) }
            let around = RecordingPresenter(world.url("d"))
            for document in documents { world.client.add(document) }
            world.client.add(around)
            let coordinators = urls.map { _ in world.coordinator() }
            let isInTime = await occupyPool(giveUp: { for coordinator in coordinators { coordinator.cancel() } }) { number in
                try? remove(urls[number], coordinators[number])
            }
            #expect(isInTime, "the accesses wait for turns that get no thread")
            #expect(urls.allSatisfy { !FileManager.default.fileExists(atPath: $0.path) })
            for document in documents { #expect(await document.count() == 1) }
        }
    }

    @Test("C-61: a deadline ends an access while every thread of the cooperative pool is blocked")
    func deadlineFires() async throws {
        try await withBroker { place in
            let client = CoordinationClient(place: place, program: nil, watchesFiles: false)
            defer { client.disconnect() }
            let url = FileManager.default.temporaryDirectory.appending(path: "occupied-\(UUID().uuidString)")
            let gate = Gate()
            let isHeld = Gate()
            async let held: Void = FileCoordinator(client: client).write(url) { _ in
                isHeld.open()
                await gate.wait()
            }
            await isHeld.wait()
            let coordinator = FileCoordinator(client: client)
            let hasFailed = DispatchSemaphore(value: 0)
            let run = try AccessRun(coordinator, [.init(url, .write([]))])
            // As an asynchronous access waits that runs elsewhere than on the pool.
            Task.detached(executorPreference: TurnExecutor("test")) {
                _ = try? await client.wait(for: run.id, deadline: .after(.milliseconds(50)))
                hasFailed.signal()
            }
            let isInTime = await occupyPool(giveUp: { hasFailed.signal() }) { _ in
                hasFailed.wait()
                hasFailed.signal()
            }
            #expect(isInTime, "the deadline gets no thread")
            gate.open()
            try await held
        }
    }
}

/// Removes an item with the form that blocks, which an asynchronous function must not call.
private func remove(_ url: URL, _ coordinator: FileCoordinator) throws {
    try coordinator.coordinate(writingItemAt: url, options: .forDeleting) { try FileManager.default.removeItem(at: $0) }
}
