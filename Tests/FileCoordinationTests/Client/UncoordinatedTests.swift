import Dispatch
import Foundation
import Synchronization
import SystemPackage
import Testing
import Waiting

@testable import FileCoordination
@testable import TreeWatching

/// Changes by programs that do not coordinate, as presenters hear of them.
@Suite struct UncoordinatedTests {
    /// Adds presenters and returns once everything is watched.
    private func watch(_ presenters: [RecordingPresenter], in world: World) async {
        for presenter in presenters { world.client.add(presenter) }
        for watch in world.client.watches.all { await watch.settle() }
    }

    @Test("C-63: a plain write of a file reaches its presenter and those of directories around it, as messages that ask nothing")
    func write() async throws {
        try await withWorld(watchesFiles: true) { world in
            let url = try world.file("d/e/a.txt", "old")
            let (item, directory) = (RecordingPresenter(url), RecordingPresenter(world.url("d")))
            await watch([item, directory], in: world)
            try Data("new".utf8).write(to: url)
            // A writer that is held up half way is told of twice; C-64 allows that.
            #expect(await item.told(1).allSatisfy { $0 == "didChange" })
            #expect(await directory.told(1).allSatisfy { $0 == "subitemDidChange a.txt" })
        }
    }

    /// Notes deletions, and whatever else it should not hear of.
    private final class Witness: CoordinationWitness {
        let presentedItemURL: URL?
        let log = Mutex<[String]>([])

        init(_ url: URL) { presentedItemURL = url }

        func accommodatePresentedSubitemDeletion(at url: URL) async throws { log.withLock { $0.append("deletion of \(url.lastPathComponent)") } }
        func presentedSubitemDidChange(at url: URL) async { log.withLock { $0.append("change of \(url.lastPathComponent)") } }
        func presentedSubitemDidAppear(at url: URL) async { log.withLock { $0.append("appearance of \(url.lastPathComponent)") } }
    }

    @Test("a witness hears of deletions under coordination in its whole tree, and of no change that is not coordinated; no app sees it")
    func witness() async throws {
        try await withWorld(watchesFiles: true) { world in
            let url = try world.file("d/e/a.txt", "old")
            let (witness, presenter) = (Witness(world.url("d")), RecordingPresenter(world.url("d")))
            world.client.add(witness)
            await watch([presenter], in: world)
            #expect(world.client.watches.all.count == 1)
            #expect(world.client.presenters.count == 1)
            try Data("new".utf8).write(to: url)
            try world.file("d/e/b.txt")
            _ = await presenter.told(2)
            try await world.coordinator().write(url, options: .forDeleting) { url in try FileManager.default.removeItem(at: url) }
            // The claim that deletes tells of the change too, once it has ended.
            try await until("the witness hears of the claim's end") { witness.log.withLock { $0.count } >= 2 }
            #expect(witness.log.withLock { $0 } == ["deletion of a.txt", "change of a.txt"])
        }
    }

    @Test("a container is no package, though its name ends like one's; packages in it are")
    func containerNamedLikePackage() {
        let container = FilePath("/c/alice/org.example.\(UUID().uuidString).app")
        let packages = FilePackages()
        let item = container.appending("Documents/Plan.pages/index.xml")
        #expect(packages.depths(above: item) == [3, 5])
        FilePackages.addContainers([container])
        #expect(packages.depths(above: item) == [5])
        #expect(!packages.contains(container))
    }

    @Test("C-63: many writes within a moment are told as one")
    func coalesced() async throws {
        try await withWorld(watchesFiles: true) { world in
            let url = try world.file("d/a.txt")
            let item = RecordingPresenter(url)
            await watch([item], in: world)
            // The watching thread is held up, so that all are within one moment, however busy the machine is.
            let (isHeldUp, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let elsewhere = try TreeWatcher(FilePath(try world.file("elsewhere/b.txt").deletingLastPathComponent().path))
            try await elsewhere.settled()
            let isFirst = Atomic(true)
            elsewhere.tap { batch in
                guard batch.contains(where: { $0.kind != .ready }), isFirst.exchange(false, ordering: .relaxed) else { return }
                isHeldUp.signal()
                goesOn.wait()
            }
            defer { goesOn.signal() }
            // Behind the tap's beginning.
            try await elsewhere.settled()
            try world.file("elsewhere/c.txt")
            try await within("the watching thread to be held up") { await self.offThread { isHeldUp.wait() } }
            for index in 0..<50 { try Data("\(index)".utf8).write(to: url) }
            goesOn.signal()
            #expect(await item.told(1) == ["didChange"])
            await watch([], in: world)
            #expect(item.log == ["didChange"])
        }
    }

    /// Waits on a thread of its own.
    private func offThread(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            Thread {
                body()
                continuation.resume()
            }.start()
        }
    }

    /// Makes the watching thread wait until the semaphore is signalled.
    private func hold(_ watcher: TreeWatcher) async -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        await withCheckedContinuation { continuation in
            watcher.hub.post { _ in
                continuation.resume()
                // A test that fails before it lets go holds up nothing for ever.
                _ = gate.wait(timeout: .now() + 600)
            }
        }
        return gate
    }

    @Test("C-63: what another program does in a presented directory is told by messages that need no reply, of whatever kind it is")
    func otherProgram() async throws {
        try await withWorld(watchesFiles: true) { world in
            let url = try world.file("d/e/a.txt", "old")
            try world.file("d/b.txt")
            let (item, directory) = (RecordingPresenter(url), RecordingPresenter(world.url("d")))
            await watch([item, directory], in: world)
            // The watchers of all local disks share one thread.
            let watcher = try TreeWatcher(FilePath(world.directory.path))
            defer { watcher.close() }
            func shell(_ command: String) throws {
                let process = Process()
                process.executableURL = URL(filePath: "/bin/sh")
                process.arguments = ["-c", command]
                process.currentDirectoryURL = world.directory
                try process.run()
                process.waitUntilExit()
                #expect(process.terminationStatus == 0)
            }
            for (command, message) in [
                ("echo new > d/e/a.txt", "subitemDidChange a.txt"), ("echo new > d/new.txt", "subitemDidAppear new.txt"),
                ("mv d/b.txt d/c.txt", "subitemDidMove b.txt c.txt"), ("rm d/c.txt", "subitemDidChange c.txt"),
                ("mv d/e/a.txt d/e/z.txt", "subitemDidMove a.txt z.txt"), ("rm d/e/z.txt", "subitemDidChange z.txt"),
            ] {
                do {
                    // Both halves of a move are read together, however long the program stands between them.
                    let gate = await hold(watcher)
                    defer { gate.signal() }
                    try shell(command)
                }
                await directory.told(message)
                if command.hasPrefix("mv d/e/a.txt") { await item.told("didMove z.txt") }
            }
            await item.told("didDisappear")
            #expect(Set(item.log) == ["didChange", "didMove z.txt", "didDisappear"])
            #expect(directory.log.allSatisfy { $0.hasPrefix("subitemDid") }, "\(directory.log)")
        }
    }

    @Test("C-44, U-76: a synchroniser's conflict copy is a version that presenters of the item gain, and lose; each hears it once, whoever tells too")
    func versions() async throws {
        try await withWorld(watchesFiles: true) { world in
            let url = try world.file("d/a.txt")
            let (first, second) = ("sync-conflict-20260102-030405-ABCDEFG", "sync-conflict-20260102-030405-HIJKLMN")
            let early = try world.file("d/a.\(first).txt")
            let (item, directory) = (RecordingPresenter(url), RecordingPresenter(world.url("d")))
            await watch([item, directory], in: world)
            #expect(await item.told(1) == ["gained \(first)"])
            let late = try world.file("d/a.\(second).txt")
            try world.file("d/b.\(first).txt")
            #expect(await item.told(2).last == "gained \(second)")
            // The directory's watch is another one: what it has yet to tell must not come after what its author tells below.
            for watch in world.client.watches.all { await watch.settle() }
            // Its author tells of it, in a write that the watch knows of.
            try await world.coordinator().write(late, options: .forDeleting) { url in
                try FileManager.default.removeItem(at: url)
                world.coordinator().item(at: world.url("d/a.txt"), didLose: FileVersionIdentifier(rawValue: second))
            }
            #expect(await item.told(3).last == "lost \(second)")
            for watch in world.client.watches.all { await watch.settle() }
            try ConflictCopy.markResolved(FilePath(early.path))
            #expect(await item.told(4).last == "resolved \(first)")
            for watch in world.client.watches.all { await watch.settle() }
            try FileManager.default.removeItem(at: early)
            #expect(await item.told(5).last == "lost \(first)")
            await directory.told("subitem a.txt lost \(first)")
            #expect(
                directory.log.filter { $0.hasPrefix("subitem ") } == [
                    "subitem a.txt gained \(second)", "subitem b.txt gained \(first)", "subitem a.txt lost \(second)",
                    "subitem a.txt resolved \(first)", "subitem a.txt lost \(first)",
                ])
        }
    }

    @Test("C-63: a plain deletion is told as a disappearance")
    func deletion() async throws {
        try await withWorld(watchesFiles: true) { world in
            let url = try world.file("d/a.txt")
            let (item, directory) = (RecordingPresenter(url), RecordingPresenter(world.url("d")))
            await watch([item, directory], in: world)
            try FileManager.default.removeItem(at: url)
            #expect(await item.told(1) == ["didDisappear"])
            #expect(await directory.told(1) == ["subitemDidChange a.txt"])
        }
    }

    @Test("C-63: a plain move is followed, within a directory and out of it, and the presenter hears of changes at the new place")
    func move() async throws {
        try await withWorld(watchesFiles: true) { world in
            let url = try world.file("d/a.txt")
            try world.file("e/other.txt")
            let item = RecordingPresenter(url)
            await watch([item], in: world)
            try FileManager.default.moveItem(at: url, to: world.url("d/b.txt"))
            #expect(await item.told(1) == ["didMove b.txt"])
            await watch([], in: world)
            try FileManager.default.moveItem(at: world.url("d/b.txt"), to: world.url("e/c.txt"))
            #expect(await item.told(2).last == "didMove c.txt")
            await watch([], in: world)
            try Data("x".utf8).write(to: world.url("e/c.txt"))
            #expect(await item.told(3).last == "didChange")
            #expect(item.presentedItemURL == world.url("e/c.txt"))
        }
    }

    @Test("C-63, C-40: a presented directory that is moved away is followed with what is in it")
    func directoryMove() async throws {
        try await withWorld(watchesFiles: true) { world in
            try world.file("d/a.txt")
            let directory = RecordingPresenter(world.url("d"))
            await watch([directory], in: world)
            try FileManager.default.moveItem(at: world.url("d"), to: world.url("n"))
            #expect(await directory.told(1) == ["didMove n"])
            // Before it is watched there that is a change of the directory, and afterwards a file that appears.
            try world.file("n/b.txt")
            let news = await directory.told(2)[1]
            #expect(news == "didChange" || news == "subitemDidAppear b.txt")
            await watch([], in: world)
            try world.file("n/c.txt")
            await directory.told("subitemDidAppear c.txt")
        }
    }

    /// Holds up the work that waits for the watching thread.
    private func holdAside(of client: CoordinationClient) -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        // A test that fails before it lets go holds up nothing for ever.
        func hold() { _ = gate.wait(timeout: .now() + 600) }
        Task.detached(executorPreference: client.watches.aside) { hold() }
        return gate
    }

    // the turn                      the task that hears of the move
    // didMove n                     (held up)
    //   a file of n changes
    // ends, watches n
    // didChange                     finds n watched
    @Test(
        "C-63: a file that changes in a moved directory before the presenter's turn ends is told as a change, whoever watches the new place first",
        arguments: ["n/b.txt", "n/sub/b.txt", "n/a.txt", "n/sub/a.txt"])
    func fileBeforeWatch(_ changed: String) async throws {
        try await withWorld(watchesFiles: true) { world in
            try world.file("d/a.txt")
            try world.file("d/sub/a.txt")
            let directory = RecordingPresenter(world.url("d")) { message in
                if message == "didMove n" { try world.file(changed) }
            }
            await watch([directory], in: world)
            let gate = holdAside(of: world.client)
            defer { gate.signal() }
            try FileManager.default.moveItem(at: world.url("d"), to: world.url("n"))
            try await until("the new place is watched") { world.client.watches.all.map(\.path) == [FilePath(world.url("n").path)] }
            gate.signal()
            #expect(await directory.told(2) == ["didMove n", "didChange"])
            try world.file("n/last.txt")
            #expect(await directory.told(3) == ["didMove n", "didChange", "subitemDidAppear last.txt"])
        }
    }

    @Test("C-63: a presenter that takes another item, which need not be there yet, is not told what becomes of its former one")
    func anotherItem() async throws {
        try await withWorld(watchesFiles: true) { world in
            let (first, second) = (try world.file("d/a.txt"), world.url("e/b.txt"))
            try world.file("e/other.txt")
            let item = RecordingPresenter(first)
            await watch([item], in: world)
            item.presentedItemURL = second
            try await world.coordinator(for: item).read(first) { _ in }
            await watch([], in: world)
            #expect(world.client.watches.all.map(\.path) == [FilePath(second.path)])
            #expect(!world.client.watches.all.contains { $0.missesItem }, "the former item is not what is missed")
            try FileManager.default.removeItem(at: first)
            // An empty file is one event, however slow its writer is.
            try Data().write(to: second)
            #expect(await item.told(1) == ["didChange"])
            try FileManager.default.removeItem(at: second)
            #expect(await item.told(2) == ["didChange", "didDisappear"])
        }
    }

    @Test("C-33, C-63: a coordinated write is not told a second time, and to its own presenter not at all")
    func noEcho() async throws {
        try await withWorld(watchesFiles: true) { world in
            let (url, last) = (try world.file("d/a.txt"), world.url("d/last.txt"))
            let (own, other) = (RecordingPresenter(url), RecordingPresenter(world.url("d")))
            await watch([own, other], in: world)
            for index in 0..<5 {
                try await world.coordinator(for: own).write(url) { try Data("\(index)".utf8).write(to: $0) }
            }
            try Data().write(to: last)
            await other.told("subitemDidAppear last.txt")
            #expect(own.log.isEmpty)
            #expect(other.log == Array(repeating: "subitemDidChange a.txt", count: 5) + ["subitemDidAppear last.txt"])
        }
    }

    @Test("C-63: a plain write right after a coordinated one is not mistaken for it")
    func rightAfter() async throws {
        try await withWorld(watchesFiles: true) { world in
            let url = try world.file("d/a.txt")
            let own = RecordingPresenter(url)
            await watch([own], in: world)
            try await world.coordinator(for: own).write(url) { try Data("mine".utf8).write(to: $0) }
            try Data("theirs, and longer".utf8).write(to: url)
            #expect(await own.told(1).allSatisfy { $0 == "didChange" })
        }
    }

    @Test("C-63: an item that is deleted right after a coordinated write of this process is told as gone, and a subitem as changed once more")
    func deletedRightAfter() async throws {
        try await withWorld(watchesFiles: true) { world in
            let url = try world.file("d/a.txt")
            let (own, directory) = (RecordingPresenter(url), RecordingPresenter(world.url("d")))
            await watch([own, directory], in: world)
            try await world.coordinator(for: own).write(url) { try Data("mine".utf8).write(to: $0) }
            try FileManager.default.removeItem(at: url)
            #expect(await own.told(1) == ["didDisappear"])
            // The events of the write and of the deletion may come in several batches; C-64 allows one message for each.
            #expect(await directory.told(2).allSatisfy { $0 == "subitemDidChange a.txt" })
        }
    }

    @Test("C-63: where a directory cannot be watched coordination goes on, with one warning")
    func unwatchable() async throws {
        try await withWorld(watchesFiles: true) { world in
            let url = world.url("missing/a.txt")
            let presenter = RecordingPresenter(url)
            world.client.add(presenter)
            try await world.coordinator().write(url) { _ in }
            #expect(await presenter.told(3) == ["relinquishToWriter", "didChange", "reacquire"])
        }
    }
}
