import Foundation
import Glibc
import SystemPackage
import Testing
import Waiting

@testable import TreeWatching

/// Watchers that watch a tree together.
@Suite("Shared trees")
struct SharedTreeTests {
    private func options(_ sharing: TreeWatcher.Options.Sharing, _ change: (inout TreeWatcher.Options) -> Void = { _ in }) -> TreeWatcher.Options {
        var options = TreeWatcher.Options()
        options.sharing = sharing
        change(&options)
        return options
    }

    private func recording(_ watcher: TreeWatcher) async throws -> ChangeRecorder {
        let recorder = ChangeRecorder()
        watcher.tap { recorder.take($0) }
        try await watcher.settled()
        return recorder
    }

    /// What a watcher's tree is, to compare it with another's.
    private func tree(of watcher: TreeWatcher) async -> ObjectIdentifier? {
        await withCheckedContinuation { continuation in
            watcher.hub.post { [identifier = watcher.identifier] loop in
                continuation.resume(returning: loop.runner(identifier).map { ObjectIdentifier($0) })
            }
        }
    }

    /// How often the process watches a directory, as the kernel has it: proc(5).
    static func watches(of directory: FilePath) throws -> Int {
        var status = stat()
        guard stat(directory.string, &status) == 0 else { throw ScriptError("\(directory) is not there") }
        let inode = "ino:" + String(status.st_ino, radix: 16)
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo").reduce(0) { count, descriptor in
            let facts = (try? String(contentsOfFile: "/proc/self/fdinfo/\(descriptor)", encoding: .utf8)) ?? ""
            return count + facts.split(separator: "\n").count { $0.hasPrefix("inotify wd:") && $0.split(separator: " ").contains(Substring(inode)) }
        }
    }

    @Test("W-17: watchers that share have one tree, with one watch a directory, each with its own options; one that does not has its own")
    func oneTree() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "d/e"])
        try stage.perform(["mkdir", "left out"])
        let query = try TreeWatcher(
            stage.root,
            options: options(.open) {
                $0.exclude = ["left out/", "never/"]
                $0.collapses = true
                $0.attributes = true
            })
        let queried = try await recording(query)
        #expect(try Self.watches(of: stage.root.appending("left out")) == 0)
        // What one left out is watched for the other.
        let store = try TreeWatcher(stage.root, options: options(.open) { $0.exclude = ["never/"] })
        let stored = try await recording(store)
        #expect(try Self.watches(of: stage.root.appending("left out")) == 1)
        let presenter = try TreeWatcher(stage.root.appending("d"), options: options(.join) { $0.exclude = ["*/"] })
        let presented = try await recording(presenter)
        let alone = try TreeWatcher(stage.root)
        defer { for watcher in [query, store, presenter, alone] { watcher.close() } }
        let trees = [await tree(of: query), await tree(of: store), await tree(of: presenter), await tree(of: alone)]
        #expect(trees[0] == trees[1] && trees[1] == trees[2] && trees[2] != trees[3])
        for path in ["d", "d/e", "left out"] { #expect(try Self.watches(of: stage.root.pushing(FilePath(path))) == 1) }
        // A writer that is held up for a second would be told of before it closes.
        try await query.inOne {
            try stage.perform(["write", "left out/f"])
            try stage.perform(["mkdir", "never"])
            try stage.perform(["write", "never/f"])
            try stage.perform(["write", "d/f"])
            try stage.perform(["write", "d/e/f"])
            try stage.perform(["chmod", "600", "d/f"])
        }
        for watcher in [query, store, presenter] { try await watcher.settled() }
        #expect(queried.lines(below: stage.root) == ["created d/f", "created d/e/f", "attributes d/f"])
        #expect(
            stored.lines(below: stage.root) == [
                "created left out/f", "modified left out/f", "created d/f", "modified d/f", "created d/e/f", "modified d/e/f",
            ])
        #expect(presented.lines(below: stage.root) == ["created d/f", "modified d/f"])
        #expect(try await presenter.entries().map(\.path) == [stage.root.appending("d").appending("f")])
        #expect(try await query.knownPaths() == ["d/", "d/e/", "d/f", "d/e/f"])
    }

    @Test("A watcher that comes late begins with where the tree stands, and misses nothing from then on; what was before is not for it")
    func late() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let first = try TreeWatcher(stage.root, options: options(.open))
        defer { first.close() }
        let recorder = try await recording(first)
        for round in 0..<50 {
            try stage.perform(["mkdir", "d\(round)"])
            try stage.perform(["write", "d\(round)/before"])
            let late = try TreeWatcher(
                round % 2 == 0 ? stage.root : stage.root.appending("d\(round)"), options: options(round % 2 == 0 ? .open : .join))
            let reader = late.changes.limited("changes").makeAsyncIterator()
            // While the subscription is on its way.
            try stage.perform(["write", "d\(round)/after"])
            var changes: [TreeChange] = []
            while !changes.contains(where: { $0.kind == .created && $0.path.lastComponent == "after" }), let batch = try await reader.next() {
                changes += batch
                if batch.contains(where: { $0.kind == .ready }), try await late.entries().contains(where: { $0.path.lastComponent == "after" }) {
                    break
                }
            }
            #expect(changes.first?.kind == .ready)
            #expect(!changes.contains { $0.path.lastComponent == "before" })
            late.close()
        }
        try await first.settled()
        #expect(recorder.all.filter { $0.kind == .created && $0.path.lastComponent == "after" }.count == 50)
    }

    @Test("What was raised before a watcher joins a tree is not for it, although nobody has read it yet", arguments: [true, false])
    func unread(joinsRoot: Bool) async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "d"])
        let first = try TreeWatcher(stage.root, options: options(.open))
        defer { first.close() }
        _ = try await recording(first)
        // Everything from here to the signal is one round of the hub's thread, which reads events after the last command.
        let gate = await first.hold()
        first.hub.post { _ in try? stage.perform(["write", "d/before"]) }
        let late = try TreeWatcher(joinsRoot ? stage.root : stage.root.appending("d"), options: options(joinsRoot ? .open : .join))
        defer { late.close() }
        let recorder = ChangeRecorder()
        late.tap { recorder.take($0) }
        late.hub.post { _ in try? stage.perform(["write", "d/after"]) }
        gate.signal()
        try await late.settled()
        #expect(await tree(of: late) == tree(of: first))
        #expect(recorder.lines(below: stage.root) == ["created d/after", "modified d/after"])
    }

    @Test("What is watched for a watcher that joins, and was left out before, is not told to it as news; nor to those that leave it out")
    func wider() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "left out"])
        try stage.perform(["write", "left out/f"])
        let first = try TreeWatcher(stage.root, options: options(.open) { $0.exclude = ["left out/"] })
        defer { first.close() }
        let recorder = try await recording(first)
        // It holds changes back, so that what it was given before its reader came is still told to the reader.
        let late = try TreeWatcher(
            stage.root,
            options: options(.open) {
                $0.collapses = true
                $0.settling = .init(quiet: .seconds(3600))
            })
        defer { late.close() }
        let second = try await recording(late)
        try stage.perform(["write", "g"])
        for watcher in [first, late] { try await watcher.settled() }
        #expect(try await late.knownPaths() == ["left out/", "left out/f", "g"])
        #expect(second.lines(below: stage.root) == ["created g"])
        #expect(recorder.lines(below: stage.root) == ["created g", "modified g"])
    }

    @Test("A reader that comes while changes wait to be handed over begins with the state after them")
    func readerAfterPending() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let watcher = try TreeWatcher(stage.root, options: options(.open))
        defer { watcher.close() }
        let early = try await recording(watcher)
        let late = ChangeRecorder()
        await withCheckedContinuation { continuation in
            watcher.hub.post { [identifier = watcher.identifier] loop in
                if let runner = loop.runner(identifier) {
                    // IN_CREATE of a file that the kernel has not raised: taken in, and not handed over.
                    let name = Array("pending".utf8) + Array(repeating: UInt8(0), count: 9)
                    var event = [UInt8](repeating: 0, count: RawEvent.headerSize) + name
                    event.withUnsafeMutableBytes {
                        $0.storeBytes(of: runner.machine.index.watch(of: .root) ?? 0, as: Int32.self)
                        $0.storeBytes(of: RawEvent.Mask.create.rawValue, toByteOffset: 4, as: UInt32.self)
                        $0.storeBytes(of: UInt32(name.count), toByteOffset: 12, as: UInt32.self)
                    }
                    event.withUnsafeBytes { runner.receive($0, at: 0) }
                }
                loop.view(identifier)?.add(TapReader { late.take($0) })
                continuation.resume()
            }
        }
        try stage.perform(["write", "last"])
        try await watcher.settled()
        #expect(early.lines(below: stage.root) == ["created pending", "created last", "modified last"])
        #expect(late.lines(below: stage.root) == ["created last", "modified last"])
        #expect(zip(late.all, late.all.dropFirst()).allSatisfy { $0.tick < $1.tick })
    }

    @Test("A watcher does not join a tree whose root is lost, of which it would never hear that it is back")
    func lostBeforeJoining() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "c/d"])
        let root = stage.root.appending("c"), directory = root.appending("d")
        let first = try TreeWatcher(root, options: options(.open))
        defer { first.close() }
        _ = try await recording(first)
        try stage.perform(["mv", "c", "aside"])
        #expect(try await first.rootLoss() == .moved)
        let part = try TreeWatcher(directory, options: options(.join) { $0.awaitsRoot = true })
        defer { part.close() }
        let recorder = try await recording(part)
        #expect(recorder.lines(below: directory).first == "rootLost absent")
        try stage.perform(["mv", "aside", "c"])
        try await until("the root is back") {
            try await part.settled()
            return recorder.all.contains { $0.kind == .rootBack }
        }
        try stage.perform(["write", "c/d/f"])
        try await part.settled()
        #expect(recorder.lines(below: directory).contains("created f"))
    }

    @Test("W-18: a watcher that is slow holds up none that shares its tree, and loses nothing; the order of a path is kept")
    func slow() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let slow = try TreeWatcher(stage.root, options: options(.open) { $0.readerLimit = 10 })
        let reader = slow.subscribe()
        #expect(await reader.next()?.first?.kind == .ready)
        let quick = try TreeWatcher(stage.root, options: options(.open))
        defer { for watcher in [slow, quick] { watcher.close() } }
        let recorder = try await recording(quick)
        for number in 0..<100 {
            try stage.perform(["write", "f\(number % 5)"])
            try await quick.settled()
            try stage.perform(["rm", "f\(number % 5)"])
            try await quick.settled()
        }
        try stage.perform(["write", "last"])
        try await quick.settled()
        let kinds = recorder.all.filter { $0.path.lastComponent == "f0" }.map(\.kind).filter { $0 != .modified }
        #expect(kinds == Array(repeating: [.created, .removed], count: 20).flatMap { $0 })
        #expect(reader.kept <= 10)
        let net = ChangeRecorder()
        net.take(try #require(await reader.next()))
        #expect(net.lines(below: stage.root) == ["overflow", "created last", "rescanned"])
    }

    @Test("A watcher that ends, or whose reader is cancelled, ends nothing for those that share its tree; the last one ends the watches")
    func ends() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "d"])
        var watchers: [TreeWatcher] = []
        for _ in 0..<3 { watchers.append(try TreeWatcher(stage.root, options: options(.open))) }
        let recorder = try await recording(watchers[2])
        let cancelled = Task { [watcher = watchers[1]] in for await _ in watcher.changes {} }
        try await watchers[1].settled()
        cancelled.cancel()
        await cancelled.value
        // The one that opened the tree.
        watchers[0].close()
        await #expect(throws: TreeWatchingError.self) { try await watchers[0].settled() }
        try stage.perform(["write", "d/f"])
        try await watchers[2].settled()
        #expect(recorder.all.last?.path.lastComponent == "f")
        #expect(try await watchers[1].knownPaths() == ["d/", "d/f"])
        watchers[1].close()
        #expect(try Self.watches(of: stage.root.appending("d")) == 1)
        watchers[2].close()
        // Behind the end.
        let other = try TreeWatcher(stage.outside)
        try await other.settled()
        other.close()
        #expect(try Self.watches(of: stage.root.appending("d")) == 0)
    }

    @Test("W-06: an overflow is told to every watcher that shares the tree, and its rescan")
    func overflow() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "d"])
        let whole = try TreeWatcher(stage.root, options: options(.open)), part = try TreeWatcher(stage.root.appending("d"), options: options(.join))
        defer { for watcher in [whole, part] { watcher.close() } }
        let (first, second) = (try await recording(whole), try await recording(part))
        await withCheckedContinuation { continuation in
            whole.hub.post { [identifier = whole.identifier] loop in
                // IN_Q_OVERFLOW for this tree only: wd -1, no name.
                var event = [UInt8](repeating: 0, count: RawEvent.headerSize)
                event.withUnsafeMutableBytes {
                    $0.storeBytes(of: Int32(-1), as: Int32.self)
                    $0.storeBytes(of: RawEvent.Mask.queueOverflow.rawValue, toByteOffset: 4, as: UInt32.self)
                }
                event.withUnsafeBytes { loop.runner(identifier)?.receive($0, at: 0) }
                continuation.resume()
            }
        }
        try await whole.settled()
        try await part.settled()
        for recorder in [first, second] { #expect(recorder.lines(below: stage.root).prefix(2) == ["overflow", "rescanned"]) }
    }

    @Test("W-07: the loss of a shared root, and its return, are told to every watcher; a directory in it that goes concerns only its own")
    func lost() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "c/d/e"])
        let root = stage.root.appending("c"), directory = root.appending("d")
        let shared = options(.open) {
            $0.awaitsRoot = true
            $0.followsRoot = false
        }
        let first = try TreeWatcher(root, options: shared), second = try TreeWatcher(root, options: shared)
        let part = try TreeWatcher(directory, options: options(.join))
        defer { for watcher in [first, second, part] { watcher.close() } }
        let recorders = [try await recording(first), try await recording(second), try await recording(part)]
        func settle() async throws { for watcher in [first, second, part] { try await watcher.settled() } }
        try stage.perform(["write", "c/d/f"])
        try await first.inOne { try stage.perform(["mv", "c/d", "c/aside"]) }
        try await settle()
        #expect(try await part.rootLoss() == .moved)
        #expect(try await first.rootLoss() == nil)
        try stage.perform(["mv", "c/aside", "c/d"])
        try await settle()
        #expect(try await part.rootLoss() == nil)
        #expect(try await Set(part.entries().compactMap(\.path.lastComponent?.string)) == ["e", "f"])
        try stage.perform(["rmtree", "c"])
        try await settle()
        for watcher in [first, second, part] { #expect(try await watcher.rootLoss() == .deleted) }
        try stage.perform(["mkdir", "c/d/g"])
        try await until("all are back") {
            try await settle()
            let loss = try await part.rootLoss()
            return try await part.entries().count == 1 && loss == nil
        }
        for recorder in recorders { #expect(recorder.all.contains { $0.kind == .rootBack }) }
        let lines = recorders[2].lines(below: directory)
        #expect(lines.contains("removed e/") && lines.contains("created e/") && lines.contains("created g/"), "\(lines)")
    }

    @Test("What moves into the directory of one watcher, or out of it, is told to it whole, and to the others as a move")
    func crossing() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "d"])
        try stage.perform(["mkdir", "x/y"])
        try stage.perform(["write", "x/y/f"])
        let whole = try TreeWatcher(stage.root, options: options(.open)), part = try TreeWatcher(stage.root.appending("d"), options: options(.join))
        defer { for watcher in [whole, part] { watcher.close() } }
        let (all, some) = (try await recording(whole), try await recording(part))
        try await whole.inOne { try stage.perform(["mv", "x", "d/x"]) }
        try await whole.inOne { try stage.perform(["mv", "d/x", "z"]) }
        for watcher in [whole, part] { try await watcher.settled() }
        #expect(all.lines(below: stage.root) == ["moved x -> d/x/", "moved d/x -> z/"])
        #expect(
            some.lines(below: stage.root) == [
                "created d/x/", "created d/x/y/", "created d/x/y/f", "removed d/x/y/f", "removed d/x/y/", "removed d/x/",
            ])
        #expect(zip(some.all, some.all.dropFirst()).allSatisfy { $0.tick < $1.tick })
    }
}
