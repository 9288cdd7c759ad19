import Foundation
import Glibc
import Synchronization
import SystemPackage
import Testing
import Waiting

@testable import FileCoordination

/// What presenters hear of coordinated writes by other processes, while they watch their items themselves.
@Suite struct ForeignWriteTests {
    /// Two clients of one broker, which know as little of each other as two processes do, and a directory.
    private struct Duo {
        let presenting: CoordinationClient
        let writing: CoordinationClient
        /// An element for each claim that the writing client asks for.
        let requests: AsyncStream<Void>
        let directory: URL

        func url(_ name: String) -> URL { directory.appending(path: name, directoryHint: .notDirectory) }

        @discardableResult func file(_ name: String, _ text: String = "") throws -> URL {
            let url = url(name)
            try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
            return url
        }

        func present(_ presenters: RecordingPresenter...) async throws {
            for presenter in presenters { presenting.add(presenter) }
            try await knowsPresenters()
            try await settle()
        }

        /// Returns once the broker knows the presenters: the call that adds one waits for it two seconds at most.
        func knowsPresenters() async throws {
            try await until("the broker knows the presenters") { presenting.state.withLock { $0.connection != nil && $0.pings.isEmpty } }
        }

        /// Returns once the watches have reported everything so far.
        func settle() async throws {
            for watch in presenting.watches.all { try await within("a watch to settle") { await watch.settle() } }
        }

        var coordinator: FileCoordinator { FileCoordinator(client: writing) }

        /// Writes as the other process, and fails with whom that waits for.
        func write(_ url: URL, options: FileCoordinator.WritingOptions = [], _ accessor: (URL) async throws -> Void) async throws {
            try await coordinator.write(url, options: options, deadline: .after(.seconds(60)), accessor: accessor)
        }
    }

    private func withDuo(_ body: (Duo) async throws -> Void) async throws {
        try await withBroker { place in
            let directory = FileManager.default.temporaryDirectory.appending(path: "foreign-\(UUID().uuidString)").resolvingSymlinksInPath()
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            let (requests, noted) = AsyncStream.makeStream(of: Void.self)
            let writing = CoordinationClient(place: place, program: nil) { event, _ in if case .request? = event { noted.yield() } }
            let duo = Duo(presenting: CoordinationClient(place: place, program: nil), writing: writing, requests: requests, directory: directory)
            defer {
                duo.presenting.disconnect()
                duo.writing.disconnect()
                try? FileManager.default.removeItem(at: directory)
            }
            try await body(duo)
        }
    }

    /// Waits until a presenter was told something so many times, and returns everything.
    private func told(_ presenter: RecordingPresenter, _ message: String, times: Int) async throws -> [String] {
        try await within("\(times) times \(message)", seen: { "\(presenter.log.suffix(20))" }) {
            await presenter.told { log in log.count { $0 == message } >= times }
        }
    }

    /// Makes a file, or a package of that.
    private func make(_ url: URL, isPackage: Bool, _ text: String) throws {
        if isPackage { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false) }
        try Data(text.utf8).write(to: isPackage ? url.appending(path: "part") : url)
    }

    @Test(
        "C-39: an item that another process replaces in one coordinated write, by way of another name, neither moves nor disappears",
        arguments: [false, true], [false, true])
    func replaced(isPackage: Bool, isSlow: Bool) async throws {
        try await withDuo { duo in
            let url = duo.url(isPackage ? "doc.rtfd" : "doc.txt")
            try make(url, isPackage: isPackage, "0")
            let presenter = RecordingPresenter(url)
            try await duo.present(presenter)
            let rounds = isSlow ? 3 : 60
            for round in 1...rounds {
                try await duo.write(url) { url in
                    let (aside, new) = (duo.url("aside-\(round)"), duo.url("new-\(round)"))
                    try make(new, isPackage: isPackage, "\(round)")
                    guard rename(url.path, aside.path) == 0 else { throw Errno(rawValue: errno) }
                    // So that the watch looks when nothing is there.
                    if isSlow { try await duo.settle() }
                    guard rename(new.path, url.path) == 0 else { throw Errno(rawValue: errno) }
                    try FileManager.default.removeItem(at: aside)
                }
            }
            _ = try await told(presenter, "reacquire", times: rounds)
            try await duo.settle()
            // One more is told behind everything that has been sent.
            try await duo.write(url, options: .contentIndependentMetadataOnly) { _ in }
            let log = try await told(presenter, "reacquire", times: rounds + 1)
            #expect(!log.contains { $0.hasPrefix("didMove") || $0 == "didDisappear" }, "\(log)")
            #expect(log.count { $0 == "didChange" } >= rounds + 1)
            #expect(duo.presenting.watches.all.map(\.path) == [FilePath(url.path)])
            #expect(!duo.presenting.watches.all.contains { $0.missesItem })
        }
    }

    @Test("C-39: a move that another process does not report is told as a change of both places, and as no move")
    func unreportedMove() async throws {
        try await withDuo { duo in
            let (old, new) = (try duo.file("d/old.txt", "x"), duo.url("d/new.txt"))
            let (item, place, around) = (RecordingPresenter(old), RecordingPresenter(new), RecordingPresenter(duo.url("d")))
            try await duo.present(item, place, around)
            try await duo.coordinator.write(old, options: .forMoving, writing: new, writingOptions: .forReplacing) { old, new in
                try FileManager.default.moveItem(at: old, to: new)
                try await duo.settle()
            }
            #expect(try await told(item, "reacquire", times: 1) == ["relinquishToWriter", "didChange", "reacquire"])
            #expect(try await told(place, "reacquire", times: 1) == ["relinquishToWriter", "accommodateDeletion", "didChange", "reacquire"])
            try await duo.settle()
            // What is told behind it comes behind everything that was to be told of it.
            try await duo.coordinator.write(duo.url("d/last.txt")) { try Data().write(to: $0) }
            let log = try await told(around, "subitemDidAppear last.txt", times: 1)
            #expect(
                log == ["accommodateSubitemDeletion new.txt", "subitemDidChange old.txt", "subitemDidAppear new.txt", "subitemDidAppear last.txt"])
            #expect(item.log.count == 3 && place.log.count == 4, "\(item.log), \(place.log)")
            #expect(!duo.presenting.watches.all.contains { $0.missesItem })
        }
    }

    @Test("what a presenter gets back is a writer's doing until its watch has looked at it, though it is given away once more meanwhile")
    func returning() {
        var writes = ForeignWrites()
        let presenter = PresenterID(ClientID(1), 1)
        writes.note(.didChange, to: presenter)
        #expect(!writes.isReturning(presenter))
        #expect(writes.beginReturn(to: presenter).isTold && writes.isReturning(presenter))
        #expect(!writes.beginReturn(to: presenter).isTold)
        writes.endReturn(to: presenter)
        #expect(writes.isReturning(presenter))
        writes.endReturn(to: presenter)
        #expect(!writes.isReturning(presenter))
    }

    @Test("C-38: a move that another process reports is told once to the directory's presenter, and the item's hears of no change")
    func reportedMove() async throws {
        try await withDuo { duo in
            let (old, new) = (try duo.file("d/old.txt", "x"), duo.url("d/new.txt"))
            let (item, around) = (RecordingPresenter(old), RecordingPresenter(duo.url("d")))
            try await duo.present(item, around)
            let coordinator = duo.coordinator
            try await coordinator.write(old, options: .forMoving, writing: new, writingOptions: .forReplacing) { old, new in
                try FileManager.default.moveItem(at: old, to: new)
                coordinator.item(at: old, didMoveTo: new)
                try await duo.settle()
            }
            #expect(try await told(item, "reacquire", times: 1) == ["relinquishToWriter", "didMove new.txt", "reacquire"])
            try await duo.settle()
            try await duo.coordinator.write(duo.url("d/last.txt")) { try Data().write(to: $0) }
            let log = try await told(around, "subitemDidAppear last.txt", times: 1)
            #expect(log == ["accommodateSubitemDeletion new.txt", "subitemDidMove old.txt new.txt", "subitemDidAppear last.txt"])
            #expect(item.log.count == 3)
            #expect(item.presentedItemURL?.lastPathComponent == "new.txt")
            // It is watched at the new place.
            try await duo.settle()
            try FileManager.default.removeItem(at: new)
            #expect(await item.told(4).last == "didDisappear")
        }
    }

    @Test("C-63: an item that is deleted right after another process's coordinated write is told as gone", arguments: [false, true])
    func deletedAfterwards(isReplaced: Bool) async throws {
        try await withDuo { duo in
            let url = try duo.file("a.txt", "old")
            let presenter = RecordingPresenter(url)
            try await duo.present(presenter)
            try await duo.write(url) { try Data("new".utf8).write(to: $0, options: isReplaced ? .atomic : []) }
            unlink(url.path)
            let log = try await told(presenter, "didDisappear", times: 1)
            #expect(log.prefix(3) == ["relinquishToWriter", "didChange", "reacquire"] && log.last == "didDisappear", "\(log)")
        }
    }

    @Test("C-63: what happens while a presenter has given its item to a writer that is refused is told when it has it back")
    func refusedWriter() async throws {
        try await withDuo { duo in
            let url = try duo.file("a.txt", "old")
            let gate = Gate()
            let presenter = RecordingPresenter(url)
            let slow = RecordingPresenter(url) { if $0 == "relinquishToWriter" { await gate.wait() } }
            try await duo.present(presenter, slow)
            let coordinator = duo.coordinator
            let write = Task { try await coordinator.write(url) { _ in } }
            _ = await presenter.told(1)
            _ = await slow.told(1)
            try Data("new, and longer".utf8).write(to: url)
            try await duo.settle()
            coordinator.cancel()
            await #expect(throws: (any Error).self) { try await write.value }
            gate.open()
            let log = try await told(presenter, "didChange", times: 1)
            #expect(log == ["relinquishToWriter", "reacquire", "didChange"])
        }
    }

    @Test("C-63: what happens to an item while its watch looks at what a writer has left is told", arguments: [false, true])
    func duringReturn(isDeleted: Bool) async throws {
        try await withDuo { duo in
            let url = try duo.file("a.txt", "old")
            let presenter = RecordingPresenter(url)
            try await duo.present(presenter)
            // The steps of the return, with something between them.
            let (presenting, id) = (duo.presenting, duo.presenting.id(of: presenter))
            _ = presenting.state.withLock { $0.foreign.beginReturn(to: id) }
            try #require(presenting.watches.all.first).rebase(after: .foreign(isAnnounced: false))
            if isDeleted { unlink(url.path) } else { try Data("new, and longer".utf8).write(to: url) }
            try await duo.settle()
            #expect(presenter.log.isEmpty)
            presenting.watches.endReturn(of: id, client: presenting)
            let news = isDeleted ? "didDisappear" : "didChange"
            #expect(try await told(presenter, news, times: 1) == [news])
        }
    }

    @Test("C-63: a change of an item during another process's write to the directory around it is told when the write's events have passed")
    func insideWrittenDirectory() async throws {
        try await withDuo { duo in
            let url = try duo.file("d/a.txt", "old")
            let (item, around) = (RecordingPresenter(url), RecordingPresenter(duo.url("d")))
            try await duo.present(item, around)
            // The steps after a message to the directory's presenter, with a change between them.
            let (presenting, id) = (duo.presenting, duo.presenting.id(of: around))
            let cause = Cause(client: ClientID(9), process: 9, purpose: .named(""))
            let delivery = Delivery(id: MessageID(1 << 40), presenter: id, message: .didChange, cause: cause, awaitedBy: nil)
            let paths = [FilePath(duo.url("d").path)]
            presenting.state.withLock { $0.foreign.add(.init(presenter: id, paths: paths), toldBy: delivery.id) }
            try Data("new, and longer".utf8).write(to: url)
            try await duo.settle()
            #expect(item.log.isEmpty)
            presenting.watches.settleForeignAftermath(of: delivery, at: paths, client: presenting)
            #expect(try await told(item, "didChange", times: 1) == ["didChange"])
        }
    }

    @Test("C-35: a presenter that gets its URL in an access of its own is asked by another process's access that waits for that")
    func urlComes() async throws {
        try await withDuo { duo in
            var requests = duo.requests.makeAsyncIterator()
            for round in 1...20 {
                let url = try duo.file("\(round).txt")
                let presenter = RecordingPresenter(nil)
                try await duo.present(presenter)
                let (isHeld, isAwaited) = (Gate(), Gate())
                async let own: Void = FileCoordinator(filePresenter: presenter, client: duo.presenting).write(url) { url in
                    isHeld.open()
                    await isAwaited.wait()
                    presenter.presentedItemURL = url
                }
                await isHeld.wait()
                async let other: Void = duo.coordinator.write(url) { _ in presenter.note("accessor") }
                _ = await requests.next()
                isAwaited.open()
                _ = try await (own, other)
                #expect(presenter.log.first == "relinquishToWriter", "round \(round): \(presenter.log)")
                duo.presenting.remove(presenter)
            }
        }
    }

    @Test("what another process writes in a directory is told once, though the watch hears of it at the same moment")
    func heardTwice() async throws {
        try await withDuo { duo in
            try duo.file("d/first.txt")
            let around = RecordingPresenter(duo.url("d"))
            try await duo.present(around)
            let names = (1...100).map { "\($0).txt" }
            for name in names { try await duo.write(duo.url("d/\(name)")) { try Data().write(to: $0) } }
            try await duo.settle()
            // One more is told behind everything that has been sent.
            try await duo.coordinator.write(duo.url("d/last.txt")) { try Data().write(to: $0) }
            let log = try await told(around, "subitemDidAppear last.txt", times: 1)
            #expect(log == (names + ["last.txt"]).map { "subitemDidAppear \($0)" })
        }
    }

    @Test("A client that decides about one tree itself asks the broker about what its presenters see in another")
    func delegatedElsewhere() async throws {
        try await withDuo { duo in
            let url = try duo.file("there/a.txt", "old")
            try duo.file("here/b.txt")
            let first = try duo.file("there/first.txt")
            let around = RecordingPresenter(duo.url("there"))
            try await duo.present(around)
            try await duo.write(first) { _ in }
            for _ in 0..<500 where !duo.presenting.isDelegated {
                try await FileCoordinator(client: duo.presenting).write(duo.url("here/b.txt")) { _ in }
            }
            try #require(duo.presenting.isDelegated)
            let before = try await told(around, "subitemDidChange first.txt", times: 1).count
            try await duo.write(url) { url in
                try Data("new".utf8).write(to: url)
                try await duo.settle()
            }
            try await duo.coordinator.write(duo.url("there/last.txt")) { try Data().write(to: $0) }
            let log = try await told(around, "subitemDidAppear last.txt", times: 1)
            #expect(log.dropFirst(before) == ["subitemDidChange a.txt", "subitemDidAppear last.txt"])
        }
    }

    /// A presenter that counts how often it is asked what it observes.
    private final class Observer: FilePresenter {
        private let state = Mutex<(url: URL?, observed: Set<UbiquityAttribute>, asked: Int, log: [Set<UbiquityAttribute>])>((nil, [], 0, []))
        private let changes = AsyncStream.makeStream(of: Set<UbiquityAttribute>.self)

        init(_ url: URL?, observing observed: Set<UbiquityAttribute>) {
            state.withLock { ($0.url, $0.observed) = (url, observed) }
        }

        var presentedItemURL: URL? { state.withLock { $0.url } }
        var asked: Int { state.withLock { $0.asked } }
        var observedPresentedItemUbiquityAttributes: Set<UbiquityAttribute> {
            state.withLock { state in
                state.asked += 1
                return state.observed
            }
        }
        func observe(_ observed: Set<UbiquityAttribute>, of url: URL) { state.withLock { ($0.url, $0.observed) = (url, observed) } }
        func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<UbiquityAttribute>) async { changes.continuation.yield(attributes) }
        func presentedItemDidChange() async { changes.continuation.yield([]) }
        /// What it is told next.
        func next() async -> Set<UbiquityAttribute>? {
            var iterator = changes.stream.makeAsyncIterator()
            return await iterator.next()
        }
    }

    /// Does not say what it observes.
    private final class Indifferent: FilePresenter {
        let presentedItemURL: URL?
        let changes = AsyncStream.makeStream(of: Set<UbiquityAttribute>.self)
        init(_ url: URL) { presentedItemURL = url }
        func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<UbiquityAttribute>) async { changes.continuation.yield(attributes) }
    }

    @Test(
        "C-43: ubiquity attributes are told in other processes too, to each presenter those that it observed when it was added, and no change with them"
    )
    func attributesElsewhere() async throws {
        try await withDuo { duo in
            let url = try duo.file("a.txt")
            let (observer, all) = (Observer(url, observing: [.isUploaded]), Indifferent(url))
            duo.presenting.add(observer)
            duo.presenting.add(all)
            try await duo.knowsPresenters()
            // It is not asked again.
            observer.observe([.isUploaded, .isUploading], of: url)
            duo.coordinator.item(at: url, didChangeUbiquityAttributes: [.isUploading, .isDownloading])
            duo.coordinator.item(at: url, didChangeUbiquityAttributes: [.isUploaded, .isUploading])
            #expect(await observer.next() == [.isUploaded])
            #expect(observer.asked == 1)
            var iterator = all.changes.stream.makeAsyncIterator()
            #expect(await iterator.next() == [.isUploading, .isDownloading])
            #expect(await iterator.next() == [.isUploaded, .isUploading])
            // A change of the file is another message, behind these.
            try await duo.write(url) { try Data("new".utf8).write(to: $0) }
            #expect(await observer.next() == [])
        }
    }

    @Test("C-43: what a presenter observes is read once more when it comes to have a URL")
    func attributesOfLateURL() async throws {
        try await withDuo { duo in
            let url = try duo.file("a.txt")
            let observer = Observer(nil, observing: [])
            duo.presenting.add(observer)
            try await FileCoordinator(filePresenter: observer, client: duo.presenting).write(url) { observer.observe([.isUploading], of: $0) }
            #expect(observer.asked == 2)
            try await FileCoordinator(filePresenter: observer, client: duo.presenting).write(url) { _ in }
            #expect(observer.asked == 2)
            duo.coordinator.item(at: url, didChangeUbiquityAttributes: [.isUploaded, .isUploading])
            #expect(await observer.next() == [.isUploading])
        }
    }
}
