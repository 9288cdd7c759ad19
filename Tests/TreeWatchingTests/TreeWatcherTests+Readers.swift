import Dispatch
import Foundation
import Glibc
import SystemPackage
import Testing
import Waiting

@testable import TreeWatching

/// What readers are promised: order, barriers, one hub, and that a slow one loses nothing.
extension TreeWatcherTests {
    @Test("W-13: changes since a tick are given while they are remembered, and refused by name when they are not")
    func changesSince() async throws {
        var options = TreeWatcher.Options()
        options.historyLimit = 4_000
        try await withWatcher(options: options) { stage, watcher, recorder in
            try stage.perform(["write", "a"])
            try await watcher.settled()
            let tick = try #require(recorder.all.last?.tick)
            try stage.perform(["write", "b"])
            try await watcher.settled()
            let since = try await watcher.changes(since: tick).flatMap { $0 }
            #expect(since.map(\.path.lastComponent?.string) == ["b", "b"])
            #expect(since == recorder.all.filter { $0.tick > tick })
            for number in 0..<100 {
                try stage.perform(["write", "c\(number)"])
                try await watcher.settled()
            }
            await #expect(throws: TreeWatchingError.self) { try await watcher.changes(since: tick) }
        }
    }

    @Test("W-13: ticks grow over all watchers, and an entry found by a scan follows its directory")
    func order() async throws {
        try await withWatcher { stage, watcher, recorder in
            let gate = await watcher.hold()
            for number in 0..<20 { try stage.perform(["mkdir", "d\(number)/e/f"]) }
            gate.signal()
            try await watcher.settled()
            let all = recorder.all
            #expect(zip(all, all.dropFirst()).allSatisfy { $0.tick < $1.tick })
            let paths = all.map(\.path)
            for path in paths.dropFirst() where path != stage.root {
                let parent = path.removingLastComponent()
                #expect(parent == stage.root || paths.firstIndex(of: parent)! < paths.firstIndex(of: path)!)
            }
        }
    }

    @Test("W-14: a barrier returns when everything before it is delivered, half moves included")
    func barrier() async throws {
        try await withWatcher { stage, watcher, recorder in
            for round in 0..<50 {
                try stage.perform(["mkdir", "d\(round)"])
                try stage.perform(["write", "d\(round)/f"])
                if round % 2 == 0 { try stage.perform(["mv", "d\(round)", "/out\(round)"]) }
                try await watcher.settled()
                let last = recorder.all.last
                #expect(last?.kind == (round % 2 == 0 ? .removed : .modified) || last?.path.lastComponent?.string == "f", "\(round)")
                #expect(try await watcher.knownPaths() == stage.paths())
            }
        }
    }

    @Test("W-14: a barrier ends with an error when it is cancelled or the watcher closed")
    func barrierEnds() async throws {
        try await withWatcher { stage, watcher, _ in
            let gate = await watcher.hold()
            let waiting = Task { try await watcher.settled() }
            waiting.cancel()
            await #expect(throws: TreeWatchingError.self) { try await waiting.value }
            gate.signal()
            watcher.close()
            await #expect(throws: TreeWatchingError.self) { try await watcher.settled() }
        }
    }

    @Test("W-17: all watchers of a process share one inotify instance, and overlapping ones do not disturb each other")
    func oneInstance() async throws {
        try await withWatcher { stage, watcher, recorder in
            try stage.perform(["mkdir", "a/b"])
            let inner = ChangeRecorder()
            let other = try TreeWatcher(stage.root.appending("a"))
            other.tap { inner.take($0) }
            try await other.settled()
            #expect(watcher.hub === other.hub)
            // Other instances of the process, such as a broker's, watch other directories.
            var status = stat()
            try #require(stat(stage.root.appending("a").string, &status) == 0)
            let inode = "ino:" + String(status.st_ino, radix: 16)
            let instances = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo").filter { descriptor in
                guard let facts = try? String(contentsOfFile: "/proc/self/fdinfo/\(descriptor)", encoding: .utf8) else { return false }
                return facts.split(separator: "\n").contains { $0.hasPrefix("inotify ") && $0.split(separator: " ").contains(Substring(inode)) }
            }
            #expect(instances.count == 1)
            // Each watch of it as the kernel has it: proc(5).
            let facts = try String(contentsOfFile: "/proc/self/fdinfo/\(try #require(instances.first))", encoding: .utf8)
            let masks = facts.split(separator: "\n").filter { $0.hasPrefix("inotify ") }.compactMap { line in
                line.split(separator: " ").first { $0.hasPrefix("mask:") }.flatMap { UInt32($0.dropFirst(5), radix: 16) }
            }
            // The tree, a and b, with what lies above, at least.
            #expect(masks.count >= 4)
            // IN_ACCESS, IN_CLOSE_NOWRITE and IN_OPEN of inotify(7).
            #expect(masks.allSatisfy { $0 & 0x31 == 0 })
            try stage.perform(["write", "a/b/f"])
            try await other.settled()
            try await watcher.settled()
            #expect(inner.all.last?.path == recorder.all.last?.path)
            other.close()
            try await watcher.settled()
            try stage.perform(["write", "a/b/g"])
            try await watcher.settled()
            #expect(recorder.all.last?.path.lastComponent?.string == "g")
            #expect(inner.all.last?.path.lastComponent?.string == "f")
        }
    }

    @Test("W-17: the CoreDataUbiquitySupport trees of a store's directory are watched beside a container, in one order")
    func supportTrees() async throws {
        try await withWatcher { stage, container, recorder in
            let store = stage.outside.appending("CoreDataUbiquitySupport")
            try stage.perform(["mkdir", "/CoreDataUbiquitySupport/alice~1/Notes/store"])
            let inner = ChangeRecorder()
            let support = try TreeWatcher(store)
            defer { support.close() }
            support.tap { inner.take($0) }
            try await support.settled()
            #expect(support.hub === container.hub)
            try stage.perform(["write", "/CoreDataUbiquitySupport/alice~1/Notes/store/Notes.sqlite"])
            try await support.settled()
            try stage.perform(["mkdir", "CoreData/Notes/alice~1/1"])
            try await container.settled()
            try stage.perform(["mkdir", "/CoreDataUbiquitySupport/alice~1/Notes/fallback"])
            try await support.settled()
            try await container.settled()
            let ticks = (recorder.all + inner.all).filter { $0.kind != .ready }.map(\.tick)
            #expect(Set(ticks).count == ticks.count)
            let order = (recorder.all + inner.all).filter { $0.kind == .created }.sorted { $0.tick < $1.tick }
            #expect(order.compactMap(\.path.lastComponent?.string) == ["Notes.sqlite", "CoreData", "Notes", "alice~1", "1", "fallback"])
            #expect(inner.all.allSatisfy { $0.path.starts(with: store) } && recorder.all.allSatisfy { $0.path.starts(with: stage.root) })
        }
    }

    @Test("W-13: what was held back has a later tick when it is told, from which changes can be asked for")
    func ticksOfWhatWasHeldBack() async throws {
        var options = TreeWatcher.Options()
        options.settling = .init(quiet: .seconds(3600))
        try await withWatcher(options: options) { stage, watcher, recorder in
            try stage.perform(["write", "late"])
            try stage.perform(["mkdir", "d"])
            try await watcher.settled()
            #expect(recorder.all.compactMap(\.path.lastComponent?.string).suffix(2) == ["d", "late"])
            let tick = try #require(recorder.all.last?.tick)
            #expect(try await watcher.changes(since: tick).isEmpty)
            try stage.perform(["mkdir", "e"])
            try await watcher.settled()
            #expect(try await watcher.changes(since: tick).flatMap { $0 }.map(\.path.lastComponent?.string) == ["e"])
        }
    }

    @Test("Durations that fit no clock are cut short, not refused")
    func longDurations() async throws {
        var options = TreeWatcher.Options()
        options.settling = .init(quiet: .seconds(Int64.max), maximum: .seconds(Int64.max))
        options.sweepInterval = .seconds(Int64.max)
        try await withWatcher(options: options) { stage, watcher, recorder in
            try stage.perform(["write", "f"])
            try await watcher.settled()
            #expect(recorder.all.last?.path.lastComponent?.string == "f")
        }
    }

    @Test(
        "W-18: a reader that falls behind costs bounded memory and holds up nobody, gets a marker, the net differences and a marker, and then goes on"
    )
    func slowReader() async throws {
        var options = TreeWatcher.Options()
        options.readerLimit = 10
        try await withWatcher(options: options) { stage, watcher, others in
            try stage.perform(["write", "kept"])
            try stage.perform(["write", "gone"])
            try await watcher.settled()
            let reader = watcher.subscribe()
            #expect(await reader.next()?.first?.kind == .ready)
            let before = others.all.count
            for number in 0..<100 {
                try stage.perform(["write", "new\(number % 5)"])
                try await watcher.settled()
                try stage.perform(["rm", "new\(number % 5)"])
                try await watcher.settled()
                // The changes up to the limit, or the entries that changed.
                #expect(reader.kept <= 10)
            }
            #expect(others.all.count - before >= 200)
            try stage.perform(["mkdir", "d"])
            try await watcher.settled()
            try await watcher.inOne { try stage.perform(["mv", "kept", "d/kept"]) }
            try stage.perform(["rm", "gone"])
            try await watcher.settled()
            let recorder = ChangeRecorder()
            recorder.take(try #require(await reader.next()))
            #expect(recorder.lines(below: stage.root) == ["overflow", "created d/", "moved kept -> d/kept", "removed gone", "rescanned"])
            try stage.perform(["write", "after"])
            #expect(await reader.next()?.first?.path.lastComponent?.string == "after")
        }
    }

    @Test("A subscription that begins late is told at once that everything is watched, and ends with the watcher")
    func lateSubscription() async throws {
        try await withWatcher { stage, watcher, _ in
            let reader = watcher.changes.limited().makeAsyncIterator()
            let first = try await reader.next()
            #expect(first?.map(\.kind) == [.ready])
            watcher.close()
            let last = try await reader.next()
            #expect(last == nil)
        }
    }
}
