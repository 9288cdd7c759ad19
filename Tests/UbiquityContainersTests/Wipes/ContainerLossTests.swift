import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityTesting
import Waiting

@testable import TreeWatching
@testable import UbiquityContainers

/// Whether a container that is gone was moved or deleted, however late the word of it comes.
@Suite("The loss of a container")
struct ContainerLossTests {
    enum Fate: CaseIterable { case moved, deleted }
    /// What comes first.
    enum First: CaseIterable { case look, word }

    @Test(
        "A container that was moved is told as moved, and one that was deleted as deleted, whether it is looked at before or after the watcher hears of it",
        arguments: Fate.allCases, First.allCases)
    func told(fate: Fate, first: First) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let files = NotingFileLayer()
            let container = try await UbiquityContainer("org.example.notes", home: home, files: files)
            let monitor = try ContainerMonitor.shared(for: container)
            try await monitor.ready()
            let events = monitor.events.subscribe().limited("an event").makeAsyncIterator()
            let watcher = try #require(await monitor.watcher)
            let gate = await watcher.hold()
            let looks = files.looks(at: container.path).limited("a look at the container").makeAsyncIterator()
            let aside = container.path.removingLastComponent().appending("aside")
            try await monitor.unseen {
                switch fate {
                case .moved: try FileManager.default.moveItem(atPath: container.path.string, toPath: aside.string)
                case .deleted: try FileManager.default.removeItem(atPath: container.path.string)
                }
            }
            if first == .word {
                gate.signal()
                #expect(try await watcher.rootLoss() == (fate == .moved ? .moved : .deleted))
            }
            let look = Task { await monitor.settle() }
            if first == .look {
                #expect(try await looks.next() != nil)
                gate.signal()
            }
            try await within("the look") { await look.value }
            #expect(try await events.next()?.kind == (fate == .moved ? .containerMoved : .containerRemoved))
        }
    }

    @Test("A container that is moved away and put back before anybody looks is told of by nobody, and its next loss is told as what it is")
    func restored() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.notes", home: home)
            let monitor = try ContainerMonitor.shared(for: container)
            try await monitor.ready()
            let events = monitor.events.subscribe().limited("an event").makeAsyncIterator()
            let watcher = try #require(await monitor.watcher)
            let gate = await watcher.hold()
            let aside = container.path.removingLastComponent().appending("aside").string
            try FileManager.default.moveItem(atPath: container.path.string, toPath: aside)
            try FileManager.default.moveItem(atPath: aside, toPath: container.path.string)
            gate.signal()
            await monitor.lookNow()
            #expect(try await watcher.rootLoss() == nil)
            try await monitor.unseen { try FileManager.default.removeItem(atPath: container.path.string) }
            #expect(try await events.next()?.kind == .containerRemoved)
        }
    }
}

/// The kernel's files; it notes when it is asked what is at a path.
private final class NotingFileLayer: KernelFileLayer {
    private let files = LinuxFileLayer()
    private let watched = Mutex<(path: FilePath, noted: AsyncStream<Void>.Continuation)?>(nil)

    /// Each answer about a path, from now on.
    func looks(at path: FilePath) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        watched.withLock { $0 = (path, continuation) }
        return stream
    }

    func kind(of path: FilePath) throws(Errno) -> FileKind? {
        defer { watched.withLock { if $0?.path == path { $0?.noted.yield() } } }
        return try files.kind(of: path)
    }
}
