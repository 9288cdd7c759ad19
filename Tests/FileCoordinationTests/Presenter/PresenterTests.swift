import Foundation
import Logging
import Synchronization
import Testing
import Waiting

@testable import FileCoordination

/// Presenters, as an app writes and registers them.
@Suite struct PresenterTests {
    /// A presenter that implements `presentedItemDidChange` and, as asked, none of the subitem methods.
    private final class Coarse: FilePresenter {
        let presentedItemURL: URL?
        let told = AsyncStream<String>.makeStream()

        init(_ url: URL) {
            presentedItemURL = url
        }

        func presentedItemDidChange() async { told.continuation.yield("didChange") }
        func savePresentedItemChanges() async throws { told.continuation.yield("save") }
    }

    @Test("C-36: a package's presenter without subitem methods hears presentedItemDidChange, one of a plain directory nothing")
    func subitemDefaults() async throws {
        try await withWorld { world in
            try world.file("p.rtfd/a")
            try world.file("plain/a")
            let (package, plain) = (Coarse(world.url("p.rtfd")), Coarse(world.url("plain")))
            world.client.add(package)
            world.client.add(plain)
            let coordinator = world.coordinator()
            for (old, new) in [("p.rtfd/a", "p.rtfd/b"), ("plain/a", "plain/b")] {
                try await coordinator.write(world.url(old)) { _ in }
                try await coordinator.write(world.url(old), options: .forMoving) { url in
                    try FileManager.default.moveItem(at: url, to: world.url(new))
                    coordinator.item(at: url, didMoveTo: world.url(new))
                }
                try await coordinator.write(world.url(old)) { try Data().write(to: $0) }
                // A message that both implement shows where the ones before it have ended.
                try await world.coordinator().prepare(reading: [world.url(old).deletingLastPathComponent()]) {}
            }
            let iterator = package.told.stream.limited().makeAsyncIterator()
            var heard: [String] = []
            while heard.last != "save", let next = try await iterator.next() { heard.append(next) }
            #expect(heard == ["didChange", "didChange", "didChange", "save"])
            let plainIterator = plain.told.stream.limited().makeAsyncIterator()
            #expect(try await plainIterator.next() == "save")
        }
    }

    @Test("C-32: a presenter gets its messages one after the other, so a slow one delays the next")
    func serial() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let gate = Gate()
            let presenter = RecordingPresenter(url) { if $0 == "didChange" { await gate.wait() } }
            world.client.add(presenter)
            try await world.coordinator().write(url) { _ in }
            #expect(await presenter.told(2) == ["relinquishToWriter", "didChange"])
            async let read: Void = world.coordinator().read(url, options: .withoutChanges) { _ in }
            await world.waiting(1)
            #expect(presenter.log == ["relinquishToWriter", "didChange"])
            gate.open()
            try await read
            #expect(await presenter.told(5) == ["relinquishToWriter", "didChange", "reacquire", "relinquishToReader", "reacquire"])
        }
    }

    @Test("C-32: a presenter's URL may be read from inside an access")
    func urlInside() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let presenter = RecordingPresenter(url)
            world.client.add(presenter)
            try await world.coordinator().write(url) { inner in #expect(presenter.presentedItemURL == inner) }
        }
    }

    /// A presenter that has nothing to do once an access is over.
    private final class Indifferent: FilePresenter {
        let presentedItemURL: URL?
        init(_ url: URL) { presentedItemURL = url }
        func relinquishPresentedItemToWriter() async -> Reacquirer? { nil }
    }

    @Test("C-31: a presenter may have no reacquirer")
    func noReacquirer() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let presenter = Indifferent(url)
            world.client.add(presenter)
            for _ in 0..<3 { try await world.coordinator().write(url) { _ in } }
            await world.until { $0.presenters.allSatisfy(\.unanswered.isEmpty) }
            withExtendedLifetime(presenter) {}
        }
    }

    /// A presenter that works as an actor.
    private actor Document: FilePresenter {
        nonisolated let presentedItemURL: URL?
        private var text = "unsaved"
        private let client: CoordinationClient

        init(_ url: URL, client: CoordinationClient) {
            presentedItemURL = url
            self.client = client
        }

        func savePresentedItemChanges() async throws {
            guard let url = presentedItemURL else { return }
            try await FileCoordinator(filePresenter: self, client: client).write(url) { url in try Data(text.utf8).write(to: url) }
        }
    }

    @Test("C-52: a presenter's coordinated write in savePresentedItemChanges is done before the read that waits for it")
    func savesFirst() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt", "old")
            let document = Document(url, client: world.client)
            world.client.add(document)
            let text = try await world.coordinator().read(url) { try String(contentsOf: $0, encoding: .utf8) }
            #expect(text == "unsaved")
            withExtendedLifetime(document) {}
        }
    }

    @Test("C-35: a presenter may have no URL, and its URL is read again after an access on its behalf")
    func urlComesLater() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let presenter = RecordingPresenter(nil)
            world.client.add(presenter)
            try await world.coordinator().write(url) { _ in }
            #expect(presenter.log.isEmpty)
            try await world.coordinator(for: presenter).write(url) { presenter.presentedItemURL = $0 }
            try await world.coordinator().write(url) { _ in }
            #expect(await presenter.told(3) == ["relinquishToWriter", "didChange", "reacquire"])
            try await world.coordinator(for: presenter).read(url) { _ in presenter.presentedItemURL = nil }
            #expect(world.client.snapshot().presenters.map(\.path) == [nil])
        }
    }

    @Test("C-57: the registered presenters of this process are listed in the order in which they were added")
    func listed() async throws {
        try await withWorld { world in
            let presenters = try (0..<3).map { RecordingPresenter(try world.file("\($0)")) }
            for presenter in presenters { world.client.add(presenter) }
            world.client.add(presenters[0])
            #expect(world.client.presenters.map { ObjectIdentifier($0) } == presenters.map { ObjectIdentifier($0) })
            world.client.remove(presenters[1])
            #expect(world.client.presenters.map { ObjectIdentifier($0) } == [presenters[0], presenters[2]].map { ObjectIdentifier($0) })
        }
    }

    @Test("C-58: a presenter that is added inside a read of its item misses nothing that comes after")
    func addedInsideRead() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let presenter = RecordingPresenter(url)
            let gate = Gate()
            async let read: Void = world.coordinator().read(url) { _ in
                await gate.wait()
                world.client.add(presenter)
            }
            await world.until { $0.claims.contains { $0.state == .held } }
            async let write: Void = world.coordinator().write(url) { _ in presenter.note("accessor") }
            await world.waiting(1)
            gate.open()
            _ = try await (read, write)
            #expect(await presenter.told(4) == ["relinquishToWriter", "accessor", "didChange", "reacquire"])
        }
    }

    /// A presenter that removes itself as its last deed.
    private final class Departing: FilePresenter {
        let presentedItemURL: URL?
        private let client: CoordinationClient?

        init(_ url: URL, removesFrom client: CoordinationClient?) {
            presentedItemURL = url
            self.client = client
        }

        deinit { client?.remove(self) }
    }

    @Test("C-59: a presenter can remove itself in its deinit, and one that was forgotten blocks nobody", arguments: [true, false])
    func departed(removes: Bool) async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            weak var weakPresenter: Departing?
            do {
                let presenter = Departing(url, removesFrom: removes ? world.client : nil)
                world.client.add(presenter)
                weakPresenter = presenter
            }
            #expect(weakPresenter == nil, "the registry holds presenters weakly")
            #expect(world.client.presenters.isEmpty)
            #expect(world.client.snapshot().presenters.isEmpty == removes)
            try await world.coordinator().write(url) { _ in }
            #expect(world.client.snapshot().presenters.isEmpty)
        }
    }

    @Test("C-59: an answer that is awaited of a presenter that was removed counts as given")
    func removedWhileAsked() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let gate = Gate()
            let presenter = RecordingPresenter(url) { _ in await gate.wait() }
            world.client.add(presenter)
            async let read: Void = world.coordinator().read(url) { _ in }
            _ = await presenter.told(1)
            world.client.remove(presenter)
            try await read
            gate.open()
        }
    }

    @Test("C-64: a change may be told that is none, and the receiver can read the item in its turn")
    func spuriousChange() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt", "same")
            let heard = Mutex("")
            let done = Gate()
            let presenter = Reader(url, world) { text in
                heard.withLock { $0 = text }
                done.open()
            }
            world.client.add(presenter)
            try await world.coordinator().write(url) { _ in }
            await done.wait()
            #expect(heard.withLock { $0 } == "same")
        }
    }

    /// A presenter that reads its item, coordinated, when it has changed.
    private final class Reader: FilePresenter {
        let presentedItemURL: URL?
        private let world: World
        private let body: @Sendable (String) -> Void

        init(_ url: URL, _ world: World, _ body: @escaping @Sendable (String) -> Void) {
            presentedItemURL = url
            self.world = world
            self.body = body
        }

        func presentedItemDidChange() async {
            guard let url = presentedItemURL else { return }
            try? await world.coordinator(for: self).read(url) { body(try String(contentsOf: $0, encoding: .utf8)) }
        }
    }

    @Test("A presenter that does not implement eviction vetoes it")
    func evictionDefault() async throws {
        try await withWorld { world in
            let error = await #expect(throws: FileCoordinationError.self) {
                try await Indifferent(world.url("a")).accommodatePresentedItemEviction()
            }
            #expect(error?.code == .presenterRefused)
        }
    }

    @Test("A message tells who caused it: process, purpose, and whether that is this process")
    func cause() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let seen = Mutex<[FilePresenterMessage]>([])
            let presenter = RecordingPresenter(url) { _ in seen.withLock { $0.append(FilePresenterMessage.current!) } }
            world.client.add(presenter)
            let coordinator = world.coordinator()
            coordinator.purposeIdentifier = "org.example.import"
            try await coordinator.write(url) { _ in #expect(FilePresenterMessage.current == nil) }
            _ = await presenter.told(3)
            await world.until { $0.presenters.allSatisfy(\.unanswered.isEmpty) }
            let messages = seen.withLock { $0 }
            #expect(messages.count == 3)
            #expect(messages.allSatisfy { $0.purposeIdentifier == "org.example.import" && $0.isFromThisProcess })
            #expect(messages.allSatisfy { $0.processIdentifier == ProcessInfo.processInfo.processIdentifier })
        }
    }

    @Test("A nested access with the same coordinator is granted at once; one with another fails and says why")
    func nested() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let coordinator = world.coordinator()
            try await coordinator.write(url) { url in
                try await coordinator.write(url) { _ in }
                let error = await #expect(throws: FileCoordinationError.self) { try await world.coordinator().read(url) { _ in } }
                #expect(error?.code == .deadlock && error?.waits.map(\.kind) == [.waitingClaim, .heldClaim])
            }
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread {
                    continuation.resume(
                        with: Result {
                            try coordinator.coordinate(writingItemAt: url) { url in
                                try coordinator.coordinate(readingItemAt: url) { _ in }
                                #expect(throws: FileCoordinationError.self) {
                                    try world.coordinator().coordinate(readingItemAt: url) { _ in }
                                }
                            }
                        })
                }.start()
            }
        }
    }

    @Test("C-43, C-44: attributes and versions are announced to presenters, of versions to the announcer's own too")
    func announcements() async throws {
        try await withWorld { world in
            let url = try world.file("d/a.txt")
            let own = RecordingPresenter(url, observing: [.isUploaded, .isDownloading])
            let directory = RecordingPresenter(world.url("d"))
            world.client.add(own)
            world.client.add(directory)
            let coordinator = world.coordinator(for: own)
            coordinator.item(at: url, didChangeUbiquityAttributes: [.isUploaded, .isUploading])
            coordinator.item(at: url, didGain: FileVersionIdentifier(rawValue: "v1"))
            coordinator.item(at: url, didLose: FileVersionIdentifier(rawValue: "v1"))
            coordinator.item(at: url, didResolve: FileVersionIdentifier(rawValue: "v2"))
            #expect(await own.told(4) == ["attributes NSURLUbiquitousItemIsUploadedKey", "gained v1", "lost v1", "resolved v2"])
            #expect(await directory.told(3) == ["subitem a.txt gained v1", "subitem a.txt lost v1", "subitem a.txt resolved v2"])
        }
    }

    @Test("A blocking form in a presenter's method is warned of in a debug build, the async form is not")
    func blockingWarning() async throws {
        let log = LogLines()
        let client = CoordinationClient(logger: Logger(label: "test") { _ in log })
        try await withWorld { world in
            let (url, other) = (try world.file("a.txt"), try world.file("b.txt"))
            let presenter = RecordingPresenter(url) { message in
                if message == "save" { try await FileCoordinator(client: client).read(other) { _ in } }
                if message == "relinquishToReader" { try readBlocking(other, client) }
            }
            client.add(presenter)
            try await FileCoordinator(client: client).read(url) { _ in }
            #if DEBUG
                let lines = log.lines.withLock { $0 }
                #expect(lines.count == 1 && lines.first?.hasPrefix("A coordinated access for ") == true)
                #expect(lines.first?.hasSuffix(" blocks in a presenter's method, which delays its next messages. Use the async form.") == true)
            #else
                #expect(log.lines.withLock { $0 }.isEmpty)
            #endif
        }
    }
}

private func readBlocking(_ url: URL, _ client: CoordinationClient) throws {
    try FileCoordinator(client: client).coordinate(readingItemAt: url) { _ in }
}

/// Keeps what is logged.
private final class LogLines: LogHandler {
    let lines = Mutex<[String]>([])
    var logLevel: Logger.Level {
        get { .warning }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { lines.withLock { $0.append(event.message.description) } }
}
