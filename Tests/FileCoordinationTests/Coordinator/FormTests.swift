import Foundation
import Synchronization
import SystemPackage
import Testing
import Waiting

@testable import FileCoordination

/// The forms of an access, and what holds in each.
@Suite struct FormTests {
    /// Runs blocking code on a thread of its own.
    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await within("a thread") {
            try await withCheckedThrowingContinuation { continuation in
                Thread { continuation.resume(with: Result { try body() }) }.start()
            }
        }
    }

    @Test("C-47: a blocking form runs its accessor once, on the calling thread, and returns its value; or not at all, and throws")
    func blocking() async throws {
        struct Refusal: Error {}
        try await withWorld { world in
            let url = try world.file("a.txt", "text")
            let (isSame, text, thrown) = try await onThread {
                let thread = Thread.current
                var runs = 0
                let (isSame, text) = try world.coordinator().coordinate(readingItemAt: url) { url in
                    runs += 1
                    return (Thread.current === thread, try String(contentsOf: url, encoding: .utf8))
                }
                #expect(runs == 1)
                let presenter = RecordingPresenter(url) { _ in throw Refusal() }
                world.client.add(presenter)
                let thrown = #expect(throws: Refusal.self) {
                    try world.coordinator().coordinate(writingItemAt: url, options: .forMerging) { _ in runs += 1 }
                }
                #expect(runs == 1)
                return (isSame, text, thrown)
            }
            #expect(isSame && text == "text" && thrown != nil)
        }
    }

    @Test("C-47: a blocking form waits for a writer in its thread")
    func blockingWaits() async throws {
        try await withWorld { world in
            let (first, second) = (try world.file("a.txt", "old"), try world.file("b.txt"))
            let gate = Gate()
            async let write: Void = world.coordinator().write(first) { url in
                await gate.wait()
                try Data("new".utf8).write(to: url)
            }
            await world.until { $0.claims.contains { $0.state == .held } }
            async let text = onThread {
                try world.coordinator().coordinate(readingItemAt: first, writingItemAt: second) { first, second in
                    try FileManager.default.removeItem(at: second)
                    return try String(contentsOf: first, encoding: .utf8)
                }
            }
            await world.waiting(1)
            gate.open()
            try await write
            #expect(try await text == "new")
        }
    }

    @Test("C-49: the queue form returns at once, runs its accessor once on the queue, and the claim ends with it")
    func queue() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let gate = Gate()
            async let write: Void = world.coordinator().write(url) { _ in await gate.wait() }
            await world.until { $0.claims.contains { $0.state == .held } }
            let queue = OperationQueue()
            let runs = Mutex(0)
            let intent = FileAccessIntent.writingIntent(with: url)
            await withCheckedContinuation { continuation in
                world.coordinator().coordinate(with: [intent], queue: queue) { error in
                    #expect(error == nil)
                    #expect(OperationQueue.current === queue)
                    #expect(world.client.snapshot().claims.map(\.state) == [.held])
                    runs.withLock { $0 += 1 }
                    continuation.resume()
                }
                gate.open()
            }
            try await write
            await world.until { $0.claims.isEmpty }
            #expect(runs.withLock { $0 } == 1)
        }
    }

    @Test("C-49, C-55: the accessor of the queue form runs with the error when the access is not granted")
    func queueFailure() async throws {
        try await withWorld { world in
            let coordinator = world.coordinator()
            let url = try world.file("a.txt")
            coordinator.cancel()
            let error = await withCheckedContinuation { continuation in
                coordinator.coordinate(with: [.readingIntent(with: url)], queue: OperationQueue()) { continuation.resume(returning: $0) }
            }
            #expect((error as? CocoaError)?.code == .userCancelled)
        }
    }

    @Test("C-48: two tasks that claim two files in opposite order through intents both get through")
    func crossingIntents() async throws {
        try await withWorld { world in
            let (x, y) = (try world.file("x"), try world.file("y"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for turn in 0..<200 {
                    group.addTask {
                        let intents: [FileAccessIntent] = [.writingIntent(with: turn % 2 == 0 ? x : y), .writingIntent(with: turn % 2 == 0 ? y : x)]
                        try await world.coordinator().coordinate(with: intents) { await Task.yield() }
                    }
                }
                try await group.waitForAll()
            }
            #expect(world.client.snapshot().claims.isEmpty)
        }
    }

    @Test("C-41, C-45: a waiting access gets the URL to which the item was moved, even when only the case of its name changed")
    func movedURL() async throws {
        try await withWorld { world in
            let (old, new) = (try world.file("a.txt", "text"), world.url("A.txt"))
            let presenter = RecordingPresenter(old)
            world.client.add(presenter)
            let gate = Gate()
            let mover = world.coordinator()
            async let move: Void = mover.write(old, options: .forMoving, writing: new, writingOptions: .forReplacing) { old, new in
                await gate.wait()
                try FileManager.default.moveItem(at: old, to: new)
                mover.item(at: old, willMoveTo: new)
                mover.item(at: old, didMoveTo: new)
                mover.item(at: new, didMoveTo: new)
            }
            await world.until { $0.claims.contains { $0.state == .held } }
            let intent = FileAccessIntent.readingIntent(with: old, options: .withoutChanges)
            async let text = world.coordinator().coordinate(with: [intent]) { try String(contentsOf: intent.url, encoding: .utf8) }
            await world.waiting(1)
            gate.open()
            try await move
            #expect(try await text == "text")
            #expect(intent.url.lastPathComponent == "A.txt")
            #expect(await presenter.told(4).filter { $0.hasPrefix("didMove") } == ["didMove A.txt"])
            #expect(presenter.presentedItemURL?.lastPathComponent == "A.txt")
        }
    }

    @Test("C-42: announcing a move is accepted anywhere and does nothing")
    func willMove() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let presenter = RecordingPresenter(url)
            world.client.add(presenter)
            world.coordinator().item(at: url, willMoveTo: world.url("b.txt"))
            #expect(world.client.snapshot().presenters.map { $0.path?.lastComponent?.string } == ["a.txt"])
            #expect(presenter.log.isEmpty)
        }
    }

    @Test("C-46: items are found through symbolic links above them, and URLs come in the spelling of whoever gets them")
    func spellings() async throws {
        try await withWorld { world in
            try world.file("real/d/a.txt")
            try FileManager.default.createSymbolicLink(at: world.url("link"), withDestinationURL: world.url("real"))
            let presenter = RecordingPresenter(world.url("link/d"))
            world.client.add(presenter)
            let gate = Gate()
            let (old, new) = (world.url("real/d/a.txt"), world.url("real/d/b.txt"))
            let mover = world.coordinator()
            async let move: Void = mover.write(old, options: .forMoving) { url in
                #expect(url == old)
                await gate.wait()
                try FileManager.default.moveItem(at: old, to: new)
                mover.item(at: old, didMoveTo: new)
            }
            await world.until { $0.claims.contains { $0.state == .held } }
            async let read = world.coordinator().read(world.url("link/d/a.txt")) { $0 }
            await world.waiting(1)
            gate.open()
            try await move
            #expect(try await read == world.url("link/d/b.txt"))
            let spelled = SpellingPresenter(world.url("link/d"))
            world.client.add(spelled)
            try await world.coordinator().write(new) { _ in }
            #expect(try await spelled.changes.next() == world.url("link/d/b.txt"))
        }
    }

    @Test("C-17: a read that resolves links gets what the link leads to and claims both; one that does not gets the link")
    func symbolicLinks() async throws {
        try await withWorld { world in
            let target = try world.file("d/target.txt")
            let link = world.url("link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
            #expect(try await world.coordinator().read(link) { $0 } == link)
            let gate = Gate()
            async let read = world.coordinator().read(link, options: .resolvesSymbolicLink) { url in
                await gate.wait()
                return url
            }
            await world.until { $0.claims.contains { $0.state == .held } }
            async let first: Void = world.coordinator().write(target) { _ in }
            async let second: Void = world.coordinator().write(link) { _ in }
            await world.waiting(2)
            gate.open()
            #expect(try await read == target)
            _ = try await (first, second)
        }
    }

    @Test("C-17: a link that came to lead elsewhere while its reader waited is resolved again")
    func changedLink() async throws {
        try await withWorld { world in
            let (old, new, link) = (try world.file("old"), try world.file("new"), world.url("link"))
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: old)
            let gate = Gate()
            async let write: Void = world.coordinator().write(link, options: .forReplacing) { link in
                await gate.wait()
                try FileManager.default.removeItem(at: link)
                try FileManager.default.createSymbolicLink(at: link, withDestinationURL: new)
            }
            await world.until { $0.claims.contains { $0.state == .held } }
            async let read = world.coordinator().read(link, options: .resolvesSymbolicLink, accessor: { $0 })
            await world.waiting(1)
            gate.open()
            try await write
            #expect(try await read == new)
            #expect(world.client.snapshot().claims.isEmpty)
        }
    }

    @Test("C-10: a purpose is unique by default, and can be set once")
    func purposes() async throws {
        try await withWorld { world in
            let (one, two) = (world.coordinator(), world.coordinator())
            #expect(one.purposeIdentifier != two.purposeIdentifier && !one.purposeIdentifier.isEmpty)
            one.purposeIdentifier = "org.example.sync"
            #expect(one.purposeIdentifier == "org.example.sync")
        }
    }

    @Test("C-10: an empty purpose is a programmer's error")
    func emptyPurpose() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { FileCoordinator().purposeIdentifier = "" }
        #expect(result.said("must not be empty"))
    }

    @Test("C-10: setting a purpose twice, or on a presenter's coordinator, is a programmer's error")
    func purposeTwice() async {
        let twice = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let coordinator = FileCoordinator()
            coordinator.purposeIdentifier = "a"
            coordinator.purposeIdentifier = "b"
        }
        let presenters = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let presenter = RecordingPresenter(nil)
            FileCoordinator(filePresenter: presenter).purposeIdentifier = "a"
        }
        for result in [twice, presenters] {
            #expect(result.said("cannot be set: the coordinator has"))
        }
    }

    @Test("C-26: two writing options are a programmer's error")
    func twoWritingOptions() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await FileCoordinator().write(URL(fileURLWithPath: "/tmp/x"), options: [.forDeleting, .forMoving]) { _ in }
        }
        #expect(result.said("At most one writing option may be given, not forDeleting and forMoving"))
    }

    @Test("C-17: resolving links is a programmer's error in a preparation")
    func preparationResolving() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await FileCoordinator().prepare(reading: [URL(fileURLWithPath: "/tmp/x")], options: .resolvesSymbolicLink) {}
        }
        #expect(result.said("Preparing with resolvesSymbolicLink is not possible"))
    }

    @Test("C-24: replacing is a programmer's error in a preparation")
    func preparationReplacing() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await FileCoordinator().prepare(reading: [], writing: [URL(fileURLWithPath: "/tmp/x")], writingOptions: .forReplacing) {}
        }
        #expect(result.said("Preparing with forReplacing is not possible"))
    }

    @Test("C-38: reporting a move outside the accessor of a write is a programmer's error")
    func moveOutside() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            FileCoordinator().item(at: URL(fileURLWithPath: "/tmp/x"), didMoveTo: URL(fileURLWithPath: "/tmp/y"))
        }
        #expect(result.said("A move from /tmp/x to /tmp/y was reported outside the accessor"))
    }

    @Test("C-54: a preparation asks once, its accesses claim for themselves, and its completion may come later from any thread")
    func preparation() async throws {
        try await withWorld { world in
            let (first, second) = (try world.file("d/a.txt"), try world.file("d/b.txt"))
            let (one, two) = (RecordingPresenter(first), RecordingPresenter(second))
            world.client.add(one)
            world.client.add(two)
            let coordinator = world.coordinator()
            try await coordinator.prepare(reading: [world.url("d")]) {
                #expect(one.log == ["save"] && two.log == ["save"])
                for url in [first, second] { try await coordinator.read(url, options: .withoutChanges) { _ in } }
            }
            #expect(await one.told(3) == ["save", "relinquishToReader", "reacquire"])

            let kept = Mutex<(@Sendable () -> Void)?>(nil)
            try await onThread {
                try world.coordinator().prepare(forReadingItemsAt: [first], options: .withoutChanges) { done in kept.withLock { $0 = done } }
            }
            #expect(world.client.snapshot().claims.map(\.isPreparation) == [true])
            try await onThread { kept.withLock { $0 }?() }
            #expect(world.client.snapshot().claims.isEmpty)
        }
    }

    @Test("C-55: cancelling a coordinator fails what waits, lets a running accessor finish, and refuses later calls")
    func cancelling() async throws {
        try await withWorld { world in
            let (mine, other) = (try world.file("mine"), try world.file("other"))
            let (gate, otherGate) = (Gate(), Gate())
            async let holder: Void = world.coordinator().write(other) { _ in await otherGate.wait() }
            await world.until { $0.claims.count { $0.state == .held } == 1 }
            let coordinator = world.coordinator()
            async let running = coordinator.write(mine) { _ in
                await gate.wait()
                return "done"
            }
            await world.until { $0.claims.count { $0.state == .held } == 2 }
            let waiting = Task { try await coordinator.read(other) { _ in } }
            await world.waiting(1)
            coordinator.cancel()
            // As ported code catches it.
            do {
                try await waiting.value
                Issue.record("it was granted")
            } catch CocoaError.userCancelled {
            } catch {
                Issue.record("it failed with \(error)")
            }
            gate.open()
            #expect(try await running == "done")
            let error = await #expect(throws: CocoaError.self) { try await coordinator.read(mine) { _ in } }
            #expect(error?.code == .userCancelled && error?.errorCode == 3072)
            #expect((error as? any LocalizedError)?.errorDescription != nil || error?.localizedDescription.contains("cancelled") == true)
            otherGate.open()
            try await holder
        }
    }

    @Test("C-55: a presenter that was asked for a cancelled access answers in vain, and reacquires")
    func cancelledWhileAsking() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let gate = Gate()
            let presenter = RecordingPresenter(url) { if $0 == "relinquishToReader" { await gate.wait() } }
            world.client.add(presenter)
            let coordinator = world.coordinator()
            let read = Task { try await coordinator.read(url, options: .withoutChanges) { _ in } }
            _ = await presenter.told(1)
            coordinator.cancel()
            await #expect(throws: CocoaError.self) { try await read.value }
            gate.open()
            #expect(await presenter.told(2) == ["relinquishToReader", "reacquire"])
        }
    }

    @Test("A URL that is not a file URL is refused, with the URL in the message")
    func foreignURL() async throws {
        let error = await #expect(throws: FileCoordinationError.self) {
            _ = try await FileCoordinator().read(URL(string: "https://example.org/a")!) { _ in }
        }
        #expect(error?.code == .unusableURL && error?.message.contains("https://example.org/a") == true)
    }

    @Test("A task that is cancelled already does not get in")
    func cancelledBefore() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let gate = Gate()
            let task = Task {
                await gate.wait()
                _ = try await world.coordinator().read(url) { _ in Issue.record("the accessor was run") }
            }
            task.cancel()
            gate.open()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}

extension ExitTest.Result? {
    /// Whether the process wrote this to its standard error before it ended.
    fileprivate func said(_ words: String) -> Bool {
        String(decoding: self?.standardErrorContent ?? [], as: UTF8.self).contains(words)
    }
}

/// Hands on the URLs of subitems that changed.
private final class SpellingPresenter: FilePresenter {
    let presentedItemURL: URL?
    let changes = Changes()

    actor Changes {
        private var urls: [URL] = []
        private var waiter: CheckedContinuation<URL, Never>?

        func add(_ url: URL) {
            if let waiter { waiter.resume(returning: url) } else { urls.append(url) }
            waiter = nil
        }

        func next() async throws -> URL {
            try await within("a change of a subitem") { await self.url() }
        }

        private func url() async -> URL {
            if !urls.isEmpty { return urls.removeFirst() }
            return await withCheckedContinuation { waiter = $0 }
        }
    }

    init(_ url: URL) {
        presentedItemURL = url
    }

    func presentedSubitemDidChange(at url: URL) async { await changes.add(url) }
}
