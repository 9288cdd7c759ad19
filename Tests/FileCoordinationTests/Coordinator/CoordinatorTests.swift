import Foundation
import Synchronization
import Testing
import UbiquityTesting
import Waiting

@testable import FileCoordination

/// Coordinated accesses as an app makes them.
@Suite struct CoordinatorTests {
    @Test("A coordinated read returns what its accessor returns, and the claim ends")
    func readsValue() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt", "hello")
            let text = try await world.coordinator().read(url) { try String(contentsOf: $0, encoding: .utf8) }
            #expect(text == "hello")
            #expect(world.client.snapshot().claims.isEmpty)
        }
    }

    @Test("C-02: a coordinated reader waits until the writer's accessor has returned")
    func readerWaits() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt", "old")
            let gate = Gate()
            async let write: Void = world.coordinator().write(url) { url in
                await gate.wait()
                try Data("new".utf8).write(to: url)
            }
            await world.until { $0.claims.contains { $0.state == .held } }
            async let text = world.coordinator().read(url) { try String(contentsOf: $0, encoding: .utf8) }
            await world.waiting(1)
            gate.open()
            try await write
            #expect(try await text == "new")
        }
    }

    @Test("C-12: a claim ends when the accessor throws, and the error arrives")
    func accessorThrows() async throws {
        struct Failure: Error {}
        try await withWorld { world in
            let url = try world.file("a.txt")
            await #expect(throws: Failure.self) { try await world.coordinator().write(url) { _ in throw Failure() } }
            #expect(world.client.snapshot().claims.isEmpty)
        }
    }

    @Test("C-13: an item that does not exist yet can be claimed, by its name")
    func creates() async throws {
        try await withWorld { world in
            let url = world.url("new/deep.txt")
            let gate = Gate()
            async let first: Void = world.coordinator().write(url) { _ in await gate.wait() }
            await world.until { $0.claims.contains { $0.state == .held } }
            async let second: Void = world.coordinator().write(url) { _ in }
            await world.waiting(1)
            gate.open()
            try await first
            try await second
        }
    }

    @Test("C-28, C-31: a presenter relinquishes and saves before a reader's accessor, and reacquires after it, in its own turn")
    func readersMessages() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let presenter = RecordingPresenter(url)
            world.client.add(presenter)
            try await world.coordinator().read(url) { _ in presenter.note("accessor") }
            #expect(await presenter.told(4) == ["relinquishToReader", "save", "accessor", "reacquire"])
        }
    }

    @Test("C-28, C-34: a presenter of a file hears of somebody else's write before it reacquires")
    func writersMessages() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let presenter = RecordingPresenter(url)
            world.client.add(presenter)
            try await world.coordinator().write(url) { _ in presenter.note("accessor") }
            #expect(await presenter.told(4) == ["relinquishToWriter", "accessor", "didChange", "reacquire"])
        }
    }

    @Test("C-33: a coordinator's own presenter gets no messages of its accesses")
    func ownPresenter() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let own = RecordingPresenter(url)
            let other = RecordingPresenter(url)
            world.client.add(own)
            world.client.add(other)
            try await world.coordinator(for: own).write(url) { _ in }
            #expect(await other.told(3) == ["relinquishToWriter", "didChange", "reacquire"])
            #expect(own.log.isEmpty)
        }
    }

    @Test("C-27: a presenter's error stops the access, and is what the caller gets")
    func presenterRefuses() async throws {
        struct DiskFull: Error {}
        try await withWorld { world in
            let url = try world.file("a.txt")
            let presenter = RecordingPresenter(url) { if $0 == "save" { throw DiskFull() } }
            world.client.add(presenter)
            let hasRun = Mutex(false)
            await #expect(throws: DiskFull.self) { try await world.coordinator().read(url) { _ in hasRun.withLock { $0 = true } } }
            #expect(!hasRun.withLock { $0 })
            #expect(await presenter.told(3) == ["relinquishToReader", "save", "reacquire"])
        }
    }

    @Test("C-61: a deadline's error names the presenter that has not answered, and its process")
    func deadline() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let gate = Gate()
            let presenter = RecordingPresenter(url) { if $0 == "save" { await gate.wait() } }
            world.client.add(presenter)
            let read = Task { try await world.coordinator().read(url, deadline: .after(.seconds(5))) { _ in } }
            try await within("a sleeper") { await world.clock.sleepers(1) }
            _ = await presenter.told(2)
            await world.until { $0.presenters[0].unanswered.map(\.name) == ["savePresentedItemChanges"] }
            world.clock.advance(by: .seconds(5))
            let error = await #expect(throws: FileCoordinationError.self) { try await read.value }
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.waits.map(\.kind) == [.presenter])
            #expect(error?.waits.first?.process == ProcessInfo.processInfo.processIdentifier)
            #expect(error?.message.contains(url.path) == true)
            gate.open()
        }
    }

    @Test("Cancelling the task of a waiting access throws CancellationError and leaves no claim")
    func taskCancellation() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let gate = Gate()
            async let write: Void = world.coordinator().write(url) { _ in await gate.wait() }
            await world.until { $0.claims.contains { $0.state == .held } }
            let read = Task { try await world.coordinator().read(url) { _ in } }
            await world.waiting(1)
            read.cancel()
            await #expect(throws: CancellationError.self) { try await read.value }
            #expect(world.client.snapshot().claims.count == 1)
            gate.open()
            try await write
        }
    }
}
