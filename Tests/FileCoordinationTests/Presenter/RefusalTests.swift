import Foundation
import Synchronization
import Testing

@testable import FileCoordination

/// Presenters that refuse, and what becomes of who asked.
@Suite struct RefusalTests {
    private struct DiskFull: Error {}

    enum Form: CaseIterable { case async, blocking, queue }

    /// What is refused, and by which access.
    enum Question: String, CaseIterable { case save, accommodateDeletion, accommodateSubitemDeletion }

    @Test(
        "C-27: an error from save or accommodate stops an access of any form, is what the caller gets, and the accessor does not run",
        arguments: Question.allCases, Form.allCases)
    func refused(question: Question, form: Form) async throws {
        try await withWorld { world in
            let url = try world.file("d/a.txt", "text")
            let presenter = RecordingPresenter(question == .accommodateSubitemDeletion ? world.url("d") : url) { message in
                if message.hasPrefix(question.rawValue) { throw DiskFull() }
            }
            world.client.add(presenter)
            let hasRun = Mutex(false)
            let accessor: @Sendable () -> Void = { hasRun.withLock { $0 = true } }
            let coordinator = world.coordinator()
            let reads = question == .save
            let error: (any Error)?
            switch form {
            case .async:
                do {
                    if reads {
                        try await coordinator.read(url) { _ in accessor() }
                    } else {
                        try await coordinator.write(url, options: .forDeleting) { _ in accessor() }
                    }
                    error = nil
                } catch let caught { error = caught }
            case .blocking:
                error = await withCheckedContinuation { continuation in
                    Thread { continuation.resume(returning: accessBlocking(url, coordinator, reads: reads, accessor)) }.start()
                }
            case .queue:
                let intent = reads ? FileAccessIntent.readingIntent(with: url) : .writingIntent(with: url, options: .forDeleting)
                error = await withCheckedContinuation { continuation in
                    coordinator.coordinate(with: [intent], queue: OperationQueue()) { error in
                        if error == nil { accessor() }
                        continuation.resume(returning: error)
                    }
                }
            }
            #expect(error is DiskFull, "\(String(describing: error))")
            #expect(!hasRun.withLock { $0 })
            #expect(try String(contentsOf: url, encoding: .utf8) == "text")
            #expect(world.client.snapshot().claims.isEmpty)
        }
    }
}

private func accessBlocking(_ url: URL, _ coordinator: FileCoordinator, reads: Bool, _ accessor: () -> Void) -> (any Error)? {
    do {
        if reads {
            try coordinator.coordinate(readingItemAt: url) { _ in accessor() }
        } else {
            try coordinator.coordinate(writingItemAt: url, options: .forDeleting) { _ in accessor() }
        }
        return nil
    } catch {
        return error
    }
}

/// Accesses that never wait for each other.
@Suite struct OwnAccessTests {
    @Test(
        "C-09: two threads that write one item are in their accessors at once with one coordinator, one presenter, or one purpose",
        arguments: ["coordinator", "presenter", "purpose"])
    func together(what: String) async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let presenter = RecordingPresenter(url)
            world.client.add(presenter)
            let shared = world.coordinator()
            let inside = Meeting(of: 2)
            let results = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<2 {
                    let coordinator = what == "coordinator" ? shared : world.coordinator(for: what == "presenter" ? presenter : nil)
                    if what == "purpose" { coordinator.purposeIdentifier = "org.example.sync" }
                    group.addTask {
                        await withCheckedContinuation { continuation in
                            Thread { continuation.resume(returning: writeBlocking(url, coordinator) { inside.meet() }) }.start()
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results == [true, true], "one waited for the other")
        }
    }

    /// Where threads wait for each other.
    private final class Meeting: Sendable {
        private let condition = NSCondition()
        private let count: Int
        private let present = Mutex(0)

        init(of count: Int) { self.count = count }

        /// Whether all have come before a minute was over.
        func meet() -> Bool {
            condition.lock()
            defer { condition.unlock() }
            present.withLock { $0 += 1 }
            condition.broadcast()
            let limit = Date(timeIntervalSinceNow: 60)
            while present.withLock({ $0 }) < count { if !condition.wait(until: limit) { return false } }
            return true
        }
    }
}

private func writeBlocking(_ url: URL, _ coordinator: FileCoordinator, _ accessor: () -> Bool) -> Bool {
    (try? coordinator.coordinate(writingItemAt: url) { _ in accessor() }) ?? false
}
