import Dispatch
import Foundation
import Glibc
import Synchronization
import SystemPackage
import Testing
import ToolProcesses
import UbiquityTesting
import Waiting

@testable import TreeWatching

/// Watchers of the kernel's events, and what only the whole of them shows.
@Suite("Tree watchers")
struct TreeWatcherTests {
    /// Both sources of real events.
    static let sources: [TreeWatcher.Options.Source] = [.kernel, .inotifytools(helper: Tool.path("inotifytools-source"))]

    @Test("W-04: renaming a directory is one change, and asks as much of the kernel whatever hangs below it")
    func renameOfLargeTree() async throws {
        /// What is asked while a directory with so many below it is renamed, and a file far below it is written.
        func calls(_ directories: Int) async throws -> Int {
            let tree = ScriptedTreeSource(root: "/t")
            for number in 0..<directories { tree.createDirectory(FilePath("a/d\(number / 100)/e\(number)")) }
            let source = CountingSource(tree)
            var options = TreeWatcher.Options()
            options.source = .custom(source)
            let watcher = try TreeWatcher("/t", options: options)
            defer { watcher.close() }
            let recorder = ChangeRecorder()
            watcher.tap { recorder.take($0) }
            try await watcher.settled()
            #expect(try await watcher.knownPaths().count == 1 + (directories + 99) / 100 + directories)
            let watches = tree.watchCount
            source.reset()
            tree.move("a", to: "b")
            try await watcher.settled()
            let count = source.calls
            #expect(tree.watchCount == watches)
            tree.write(FilePath("b/d0/e\(min(99, directories - 1))/f"))
            try await watcher.settled()
            #expect(recorder.lines(below: "/t").prefix(2) == ["moved a -> b/", "created b/d0/e\(min(99, directories - 1))/f"])
            return count
        }
        let small = try await calls(10), large = try await calls(10_000)
        #expect(small == large)
    }

    @Test("W-05: an entry exchanged with one outside is told without further events", arguments: sources)
    func exchangeWithOutside(_ source: TreeWatcher.Options.Source) async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["write", "x", "in"])
        try stage.perform(["write", "/y", "out"])
        var options = TreeWatcher.Options()
        options.source = source
        let watcher = try TreeWatcher(stage.root, options: options)
        defer { watcher.close() }
        let reader = watcher.changes.limited().makeAsyncIterator()
        #expect(try await reader.next()?.map(\.kind) == [.ready])
        // The arrival comes first, then a departure without a second half: that something stands there is seen by looking.
        try stage.perform(["exchange", "/y", "x"])
        var kinds: [TreeChange.Kind] = []
        while kinds.last != .created, let batch = try await reader.next() { kinds += batch.map(\.kind) }
        #expect(kinds.suffix(2) == [.removed, .created])
    }

    @Test("W-06: a queue that overflows, with the root directory itself busy, loses nothing and reports no difference that is none")
    func overflow() async throws {
        let tree = ScriptedTreeSource(root: "/t")
        for number in 0..<50 { tree.write(FilePath("old/f\(number)")) }
        var options = TreeWatcher.Options()
        options.source = .custom(tree)
        let watcher = try TreeWatcher("/t", options: options)
        let recorder = ChangeRecorder()
        watcher.tap { recorder.take($0) }
        try await watcher.settled()
        tree.limitQueue(to: 20)
        let gate = await watcher.hold()
        for number in 0..<100 { tree.write(FilePath("new\(number)")) }
        tree.remove("old/f7")
        tree.write("old/f8")
        gate.signal()
        try await watcher.settled()
        let lines = recorder.lines(below: "/t")
        let start = try #require(lines.firstIndex(of: "overflow"))
        let end = try #require(lines.lastIndex(of: "rescanned"))
        let created = Set(lines.filter { $0.hasPrefix("created new") })
        #expect(created.count == 100)
        #expect(Set(lines[start..<end].filter { $0.contains("old/") }) == ["removed old/f7", "modified old/f8"])
        watcher.close()
    }

    @Test("W-06: the kernel's own queue overflows while the watcher is stopped, and nothing is lost")
    func kernelOverflow() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        // A process of its own, since an overflow concerns every watcher of a process.
        let tool = try await RunningTool(Tool.path("ubwatch").string, ["events", stage.root.string])
        var created: Set<Substring> = []
        var markers: [String] = []
        for await line in tool.lines {
            if line.contains(" ready ") {
                tool.signal(SIGSTOP)
                for number in 0..<9_000 { try stage.perform(["write", "f\(number)"]) }
                tool.signal(SIGCONT)
            }
            if line.contains(" created ") { created.insert(line.split(separator: "/").last!) }
            if line.contains(" overflow ") { markers.append("overflow") }
            if line.contains(" rescanned ") { markers.append("rescanned") }
            if created.count == 9_000, markers.last == "rescanned" { break }
        }
        #expect(created.count == 9_000)
        #expect(markers == ["overflow", "rescanned"])
        #expect(try await tool.stop().status == 0)
    }

    @Test("W-07: a root whose ancestor is moved away is lost, and found again when it comes back")
    func movedAncestor() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "x/y/root"])
        let recorder = ChangeRecorder()
        let watcher = try TreeWatcher(stage.root.appending("x/y/root"))
        watcher.tap { recorder.take($0) }
        try await watcher.settled()
        try stage.perform(["mv", "x", "z"])
        try await watcher.settled()
        try stage.perform(["write", "z/y/root/f"])
        try stage.perform(["mkdir", "x/y"])
        try stage.perform(["mv", "z/y/root", "x/y/root"])
        try await watcher.settled()
        #expect(recorder.all.map(\.kind) == [.ready, .rootLost(.moved), .rootBack, .created, .rescanned])
        watcher.close()
    }

    @Test(
        "W-07, W-08: a root, and a directory, that is deleted and made again in one breath is watched again, and what stays in it is told",
        arguments: Stage.places, ["", "wiped/sub"])
    func recreated(place: FilePath, below: String) async throws {
        let stage = try Stage(in: place)
        defer { stage.remove() }
        let root = stage.root.appending("root"), directory = root.pushing(FilePath(below))
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let watcher = try TreeWatcher(root)
        defer { watcher.close() }
        let reader = watcher.changes.limited("a file that stays").makeAsyncIterator()
        // It has subscribed.
        let first = try await reader.next()
        #expect(first?.map(\.kind) == [.ready])
        for round in 0..<60 {
            for time in 0...(round % 3) {
                try FileManager.default.removeItem(atPath: below.isEmpty ? root.string : root.appending("wiped").string)
                try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
                try Data().write(to: URL(filePath: directory.appending("\(round)-\(time)").string))
            }
            // It stays until it is told: one that goes before its directory could be watched nobody can tell.
            let name = "\(round)-\(round % 3)"
            while let batch = try await reader.next(), !batch.contains(where: { $0.kind == .created && $0.path.lastComponent?.string == name }) {}
        }
        try await watcher.settled()
        #expect(try await watcher.knownPaths().contains(below.isEmpty ? "59-2" : "\(below)/59-2"))
    }

    /// Whether a watcher would look at something if nothing happened.
    private func looksByItself(_ watcher: TreeWatcher) async -> Bool {
        await withCheckedContinuation { continuation in
            watcher.hub.post { [identifier = watcher.identifier] loop in continuation.resume(returning: loop.runner(identifier)?.deadline != nil) }
        }
    }

    @Test(
        "W-07: a root that is lost is not looked for while its parent, or what is left above it, can be watched, and is found when it comes",
        arguments: [false, true])
    func lostWithoutPolling(isParentLost: Bool) async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "x/y/root/d"])
        let watcher = try TreeWatcher(stage.root.appending("x/y/root"))
        defer { watcher.close() }
        let reader = watcher.changes.limited("changes").makeAsyncIterator()
        #expect(try await reader.next()?.map(\.kind) == [.ready])
        #expect(await !looksByItself(watcher))
        try stage.perform(["rmtree", isParentLost ? "x" : "x/y/root"])
        var kinds: [TreeChange.Kind] = []
        while kinds.last != .rootLost(.deleted), let batch = try await reader.next() { kinds += batch.map(\.kind) }
        try await watcher.settled()
        #expect(await !looksByItself(watcher))
        try stage.perform(["mkdir", "x/y/root/new"])
        while kinds.last != .rescanned, let batch = try await reader.next() { kinds += batch.map(\.kind) }
        #expect(kinds.contains(.rootBack))
        // The root and what is in it are made in two steps: the scan may have come between them.
        try await watcher.settled()
        #expect(try await watcher.knownPaths() == ["new/"])
    }

    @Test("W-07: a lost root is looked for by and by where the directory above it cannot be watched, or is a link")
    func lostWithPolling() async throws {
        let tree = ScriptedTreeSource(root: "/t")
        tree.createDirectory("d")
        var options = TreeWatcher.Options()
        options.source = .custom(tree)
        options.sweepInterval = .milliseconds(20)
        let unwatched = try TreeWatcher("/t", options: options)
        defer { unwatched.close() }
        let reader = unwatched.changes.limited("changes").makeAsyncIterator()
        #expect(try await reader.next()?.map(\.kind) == [.ready])
        tree.limitWatches(to: 0)
        tree.remove("/t")
        var kinds: [TreeChange.Kind] = []
        while kinds.last != .rootLost(.deleted), let batch = try await reader.next() { kinds += batch.map(\.kind) }
        #expect(await looksByItself(unwatched))
        tree.createDirectory("")
        while !kinds.contains(.rootBack), let batch = try await reader.next() { kinds += batch.map(\.kind) }

        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "one/root"])
        try stage.perform(["mkdir", "two/root"])
        try stage.perform(["symlink", "one", "link"])
        let linked = try TreeWatcher(stage.root.appending("link/root"))
        defer { linked.close() }
        let second = linked.changes.limited("changes").makeAsyncIterator()
        #expect(try await second.next()?.map(\.kind) == [.ready])
        try stage.perform(["rmtree", "one/root"])
        #expect(try await second.next()?.map(\.kind) == [.rootLost(.deleted)])
        try await linked.settled()
        #expect(await looksByItself(linked))
        // No directory that is watched tells that the link leads elsewhere.
        try stage.perform(["rm", "link"])
        try stage.perform(["symlink", "two", "link"])
        #expect(try await second.next()?.first?.kind == .rootBack)
    }

    @Test("W-07: the return of a root is found though its event was lost when the queue overflowed")
    func returnInOverflow() async throws {
        let tree = ScriptedTreeSource(root: "/t")
        tree.createDirectory("d")
        var options = TreeWatcher.Options()
        options.source = .custom(tree)
        let watcher = try TreeWatcher("/t", options: options)
        defer { watcher.close() }
        let reader = watcher.changes.limited("changes").makeAsyncIterator()
        #expect(try await reader.next()?.map(\.kind) == [.ready])
        tree.remove("/t")
        var kinds: [TreeChange.Kind] = []
        while kinds.last != .rootLost(.deleted), let batch = try await reader.next() { kinds += batch.map(\.kind) }
        try await watcher.settled()
        #expect(await !looksByItself(watcher))
        tree.loseEvents { tree.write("f") }
        while kinds.last != .rescanned, let batch = try await reader.next() { kinds += batch.map(\.kind) }
        try await watcher.settled()
        #expect(try await watcher.knownPaths() == ["f"])
    }

    @Test("W-07: where the root is not to be followed, a link in its place counts as its loss, and is refused at first")
    func linkInPlaceOfRoot() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "root"])
        try stage.perform(["write", "root/x", "in"])
        let root = stage.root.appending("root"), aside = stage.root.appending("aside")
        var options = TreeWatcher.Options()
        options.followsRoot = false
        let watcher = try TreeWatcher(root, options: options)
        defer { watcher.close() }
        let reader = watcher.changes.limited().makeAsyncIterator()
        #expect(try await reader.next()?.map(\.kind) == [.ready])
        try FileManager.default.moveItem(atPath: root.string, toPath: aside.string)
        try FileManager.default.createSymbolicLink(atPath: root.string, withDestinationPath: aside.string)
        #expect(throws: TreeWatchingError.self) { try TreeWatcher(root, options: options) }
        #expect(try await reader.next()?.map(\.kind) == [.rootLost(.moved)])
        try stage.perform(["write", "aside/y", "behind the link"])
        try FileManager.default.removeItem(atPath: root.string)
        try FileManager.default.moveItem(atPath: aside.string, toPath: root.string)
        // What came behind the link is told as part of what is there now.
        var changes: [TreeChange] = []
        while !changes.contains(where: { $0.kind == .rootBack }), let batch = try await reader.next() { changes += batch }
        #expect(!changes.prefix { $0.kind != .rootBack }.contains { $0.path.lastComponent == "y" })
    }

    @Test("W-07: bad roots are refused with one clear error each")
    func badRoots() throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["write", "file"])
        func code(_ path: FilePath) -> TreeWatchingError.Code? {
            do throws(TreeWatchingError) {
                _ = try TreeWatcher(path)
                return nil
            } catch {
                #expect(error.message.contains(path.string) && error.path == path)
                return error.code
            }
        }
        #expect(code(stage.root.appending("missing")) == .notFound)
        #expect(code(stage.root.appending("file")) == .notADirectory)
    }

    @Test("W-07: a root that vanishes between check and watch is lost, and found when it comes")
    func vanishingRoot() async throws {
        let tree = ScriptedTreeSource(root: "/t")
        tree.remove("/t")
        var options = TreeWatcher.Options()
        options.source = .custom(tree)
        let watcher = try TreeWatcher("/t", options: options)
        let recorder = ChangeRecorder()
        watcher.tap { recorder.take($0) }
        let reader = watcher.changes.limited().makeAsyncIterator()
        #expect(try await reader.next()?.map(\.kind) == [.rootLost(.deleted)])
        tree.write("f")
        #expect(try await reader.next()?.map(\.kind) == [.rootBack, .ready])
        try await watcher.settled()
        #expect(try await watcher.knownPaths() == ["f"])
        watcher.close()
    }

    @Test("W-09: directories past the watch limit are told once, swept, and watched when there is room")
    func watchLimit() async throws {
        let tree = ScriptedTreeSource(root: "/t")
        for number in 0..<10 { tree.write(FilePath("d\(number)/f")) }
        tree.limitWatches(to: 5)
        let told = ErrorList()
        var options = TreeWatcher.Options()
        options.source = .custom(tree)
        options.sweepInterval = .milliseconds(20)
        options.diagnostics = { told.append($0) }
        let watcher = try TreeWatcher("/t", options: options)
        try await watcher.settled()
        #expect(told.all.map(\.code) == [.watchLimit])
        #expect(told.all.first?.message.contains("fs.inotify.max_user_watches") == true)
        // Found by a sweep where no watch is.
        for number in 0..<10 { tree.write(FilePath("d\(number)/swept")) }
        var found: Set<String> = []
        for try await batch in watcher.changes.limited("what a sweep finds") {
            for change in batch where change.path.lastComponent?.string == "swept" { found.insert(change.path.string) }
            if try await watcher.knownPaths().count == 30 { break }
        }
        tree.limitWatches(to: 1000)
        try await until("all is watched", seen: { "\(tree.watchCount) watches" }) {
            try await watcher.settled()
            return tree.watchCount >= 11
        }
        tree.write("d9/late")
        try await watcher.settled()
        #expect(try await watcher.knownPaths().contains("d9/late"))
        watcher.close()
    }

    @Test("W-09: an unreadable directory is told once, and watched when it can be read")
    func unreadableDirectory() async throws {
        let tree = ScriptedTreeSource(root: "/t")
        tree.write("closed/f")
        tree.write("open/f")
        tree.setReadable("closed", false)
        let told = ErrorList()
        var options = TreeWatcher.Options()
        options.source = .custom(tree)
        options.sweepInterval = .milliseconds(20)
        options.diagnostics = { told.append($0) }
        let watcher = try TreeWatcher("/t", options: options)
        try await watcher.settled()
        #expect(told.all.map(\.code) == [.permissionDenied])
        #expect(told.all.first?.path == "/t/closed")
        #expect(try await watcher.knownPaths() == ["closed/", "open/", "open/f"])
        tree.setReadable("closed", true)
        try await until("what is in it is known") {
            try await watcher.settled()
            return try await watcher.knownPaths().count >= 4
        }
        watcher.close()
    }

    @Test("W-09: with a limit of 100 watches in a user namespace, ubwatch warns once and goes on, sweeping the rest")
    func namespaceLimit() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        for number in 0..<150 { try stage.perform(["mkdir", "d\(number)"]) }
        let script = "echo 100 > /proc/sys/user/max_inotify_watches && exec \(Tool.path("ubwatch")) events \(stage.root)"
        let tool = try await RunningTool("/usr/bin/unshare", ["-Ur", "/bin/sh", "-c", script])
        var reported: Set<Substring> = []
        for await line in tool.lines {
            if line.contains(" ready ") { for number in 0..<150 { try stage.perform(["write", "d\(number)/f"]) } }
            if line.contains(" created "), line.hasSuffix("/f") { reported.insert(line.split(separator: " ").last!) }
            if reported.count == 150 { break }
        }
        let end = try await tool.stop()
        #expect(end.status == 0)
        #expect(reported.count == 150)
        #expect(end.errors.split(separator: "\n").count == 1 && end.errors.contains("fs.inotify.max_user_watches"))
    }

    @Test(
        "W-10: paths past PATH_MAX are watched and reported whole",
        arguments: sources)
    func longPaths(_ source: TreeWatcher.Options.Source) async throws {
        try await withWatcher(source: source) { stage, watcher, recorder in
            let name = String(repeating: "n", count: 255)
            // Too long for one call: each level is made from the one above it.
            var fd = open(stage.root.string, O_RDONLY | O_DIRECTORY)
            for _ in 0..<20 {
                mkdirat(fd, name, 0o755)
                let next = openat(fd, name, O_RDONLY | O_DIRECTORY)
                close(fd)
                fd = next
            }
            try await watcher.settled()
            close(openat(fd, "f", O_WRONLY | O_CREAT, 0o644))
            try await watcher.settled()
            close(fd)
            let last = try #require(recorder.all.last)
            #expect(last.kind == .created)
            #expect(last.withPathBytes { $0.count } == stage.root.string.utf8.count + 20 * 256 + 2)
        }
    }

    // MARK: Inside

    func withWatcher(
        source: TreeWatcher.Options.Source = .kernel, options: TreeWatcher.Options = .init(),
        _ body: (Stage, TreeWatcher, ChangeRecorder) async throws -> Void
    ) async throws {
        let stage = try Stage()
        defer { stage.remove() }
        var options = options
        options.source = source
        let watcher = try TreeWatcher(stage.root, options: options)
        defer { watcher.close() }
        let recorder = ChangeRecorder()
        watcher.tap { recorder.take($0) }
        try await watcher.settled()
        try await body(stage, watcher, recorder)
    }
}
