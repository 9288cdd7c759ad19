import Dispatch
import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// The one call at the end of a short-lived program.
struct FinishTests {
    /// Counts the operations below a directory, and holds them up while it is closed, for two minutes at most.
    private final class Gate: Sendable {
        private struct State {
            var count = 0
            var isClosed = false
        }

        private let state = Mutex(State())
        private let semaphore = DispatchSemaphore(value: 0)
        private let held = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))

        var count: Int { state.withLock { $0.count } }

        /// The kernel's files behind this gate.
        func files(below directory: FilePath) -> HookedFileLayer {
            HookedFileLayer { (_, path, _) throws(Errno) in
                if path.starts(with: directory) { self.pass() }
            }
        }

        private func pass() {
            let isClosed = state.withLock { state in
                state.count += 1
                return state.isClosed
            }
            guard isClosed else { return }
            held.continuation.yield()
            _ = semaphore.wait(timeout: .now() + 120)
            semaphore.signal()
        }

        func close() { state.withLock { $0.isClosed = true } }

        func open() {
            state.withLock { $0.isClosed = false }
            semaphore.signal()
        }

        /// Waits until an operation is held up.
        func firstHeld() async { for await _ in held.stream { return } }
    }

    /// The persons that another device has after it has taken everything in.
    private func keys(on device: TestDevice) async throws -> [String] {
        let store = try await device.open()
        try await store.settled()
        let keys = try await store.keys()
        try await store.close()
        return keys
    }

    @Test("A first program's save is joined from the fallback file and published by its last call, which closes the store")
    func published() async throws {
        try await withDevices(2) { devices, _ in
            let store = try await devices[0].follow()
            try await store.insert("a")
            #expect(await store.place == .fallback(try AccountName("alice")))
            #expect(try await store.finish() == .published)
            await #expect(throws: (any Error).self) { try await store.keys() }
            #expect(try await keys(on: devices[1]) == ["a"])
        }
    }

    @Test("A save of a store that stays with one container is published by the last call")
    func fixed() async throws {
        try await withDevices(2) { devices, _ in
            let store = try await devices[0].open()
            try await store.insert("a")
            #expect(try await store.finish() == .published)
            #expect(try await keys(on: devices[1]) == ["a"])
        }
    }

    @Test("While nobody is signed in a save stays, the result says so, and the next program after the sign-in publishes it although it only reads")
    func signedOut() async throws {
        try await withDevices(2) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow()
            try await store.insert("a")
            #expect(try await store.finish() == .kept(.signedOut))
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            let next = try await devices[0].follow()
            #expect(try await next.keys() == ["a"])
            #expect(try await next.finish() == .published)
            #expect(try await keys(on: devices[1]) == ["a"])
        }
    }

    @Test("Until what other devices have said has arrived a save stays in the fallback file, and it is joined once it has")
    func unread() async throws {
        try await withDevices(2) { devices, root in
            let other = try await devices[1].open()
            try await other.insert("o")
            try await other.settled()
            let logs = try #require(
                FileManager.default.subpathsOfDirectory(atPath: contentDirectory(root).string).first { $0.hasSuffix(".ublog") })
            let (log, away) = (contentDirectory(root).appending(logs), root.removingLastComponent().appending("away"))
            try FileManager.default.moveItem(atPath: log.string, toPath: away.string)
            let store = try await devices[0].follow()
            try await store.insert("a")
            #expect(try await store.finish() == .kept(.contentUnread))
            try FileManager.default.moveItem(atPath: away.string, toPath: log.string)
            let next = try await devices[0].follow()
            #expect(try await next.finish() == .published)
            try await other.settled()
            #expect(try await other.keys() == ["a", "o"])
            try await other.close()
        }
    }

    @Test("A paused store, and one whose container is away, keep a save, and the result names the reason")
    func kept() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow()
            try await store.settled()
            try await store.pause()
            try await store.insert("a")
            #expect(try await store.finish() == .kept(.paused))
            let next = try await devices[0].follow()
            try await next.resume()
            let away = FilePath(root.string + "-away")
            try FileManager.default.moveItem(atPath: root.string, toPath: away.string)
            #expect(try await next.finish() == .kept(.suspended(.rootGone)))
            try FileManager.default.moveItem(atPath: away.string, toPath: root.string)
            let last = try await devices[0].follow()
            #expect(try await last.keys() == ["a"])
            #expect(try await last.finish() == .published)
        }
    }

    @Test("A program that only reads touches no file of the container with its last call")
    func reader() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow()
            try await store.insert("a")
            #expect(try await store.finish() == .published)
            let gate = Gate()
            let reader = try await devices[0].open(over: gate.files(below: root))
            #expect(try await reader.keys() == ["a"])
            let before = gate.count
            #expect(try await reader.finish() == .published)
            #expect(gate.count == before)
            // The gate sees the files: a save makes the call publish.
            let writer = try await devices[0].open(over: gate.files(below: root))
            try await writer.insert("b")
            #expect(try await writer.finish() == .published)
            #expect(gate.count > before)
        }
    }

    @Test(
        "When the limit is over, or the task is cancelled, while a file system does not answer, the store closes and the save stays",
        arguments: [false, true])
    func held(isCancelled: Bool) async throws {
        try await withDevices(2) { devices, root in
            let (gate, clock) = (Gate(), StillClock())
            let store = try await devices[0].open(over: gate.files(below: root))
            try await store.settled()
            try await store.insert("a")
            gate.close()
            let finishing = Task { try await store.finish(within: .seconds(5), clock: clock) }
            try await within("an operation that is held up") { await gate.firstHeld() }
            if isCancelled {
                finishing.cancel()
            } else {
                try await within("the limit's timer") { await clock.pass(.seconds(5)) }
            }
            let finish = try await within("the end of the call") { try await finishing.value }
            #expect(finish == .kept(isCancelled ? .cancelled : .timedOut))
            gate.open()
            let next = try await devices[0].follow()
            #expect(try await next.keys() == ["a"])
            #expect(try await next.finish() == .published)
            #expect(try await keys(on: devices[1]) == ["a"])
        }
    }

    @Test("An unanswered question about saves from before the sign-in keeps them, and is no reason to wait for ever")
    func unanswered() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let first = try await devices[0].follow()
            try await first.insert("a")
            #expect(try await first.finish() == .kept(.signedOut))
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            let asked = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
            let never = AsyncStream.makeStream(of: Void.self)
            let store = try await devices[0].follow {
                $0.joiningPolicy = .ask { _ in
                    asked.continuation.yield()
                    // The question is cancelled when the store closes.
                    for await _ in never.stream {}
                    return .merge
                }
            }
            let clock = StillClock()
            let finishing = Task { try await store.finish(within: .seconds(5), clock: clock) }
            try await within("the question") { for await _ in asked.stream { return } }
            try await within("the limit's timer") { await clock.pass(.seconds(5)) }
            #expect(try await within("the end of the call") { try await finishing.value } == .kept(.unanswered))
            let next = try await devices[0].follow()
            #expect(try await next.finish() == .published)
        }
    }

    @Test("Each reason is a sentence of its own for people")
    func sentences() {
        let reasons: [StoreFinish.Reason] = [
            .signedOut, .contentUnread, .unanswered, .suspended(.containerGone), .paused, .timedOut, .cancelled, .failed("the disk is full"),
        ]
        let texts = Set(reasons.map { StoreFinish.kept($0).description })
        #expect(texts.count == reasons.count)
        #expect(texts.allSatisfy { $0.hasPrefix("saved on this device only: ") })
        #expect(StoreFinish.published.reason == nil && StoreFinish.kept(.paused).reason == .paused)
    }
}
