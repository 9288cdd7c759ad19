import Foundation
import Glibc
import SystemPackage
import Testing
import UbiquityTesting
import Waiting

@testable import TreeWatching

/// Watchers of roots that are not there yet.
@Suite("Awaited roots")
struct AwaitedRootTests {
    private var options: TreeWatcher.Options {
        var options = TreeWatcher.Options()
        options.awaitsRoot = true
        return options
    }

    /// A watcher of a root that is awaited, which has told that it is not there.
    private func awaiting(_ root: FilePath, _ options: TreeWatcher.Options? = nil) async throws -> (TreeWatcher, AwaitedReader) {
        let watcher = try TreeWatcher(root, options: options ?? self.options)
        let reader = AwaitedReader(watcher)
        #expect(try await reader.kinds(through: .rootLost(.absent)) == [.rootLost(.absent)])
        // There is nothing to wait for.
        try await within("a barrier of a missing root") { try await watcher.settled() }
        #expect(try await watcher.rootLoss() == .absent)
        return (watcher, reader)
    }

    @Test(
        "W-07: a root that is not there yet is refused unless it is awaited; then it is picked up as it comes, with what is in it",
        arguments: Stage.places)
    func appears(place: FilePath) async throws {
        let stage = try Stage(in: place)
        defer { stage.remove() }
        let root = stage.root.appending("a").appending("b").appending("root")
        #expect(throws: TreeWatchingError.self) { try TreeWatcher(root) }
        let (watcher, reader) = try await awaiting(root)
        defer { watcher.close() }
        // In one go, as mkdir -p does.
        try stage.perform(["mkdir", "a/b/root/d"])
        #expect(try await reader.kinds(through: .ready).prefix(1) == [.rootBack])
        try await watcher.settled()
        #expect(try await watcher.knownPaths() == ["d/"])
        try stage.perform(["write", "a/b/root/d/f"])
        #expect(try await reader.path(of: .created, "f") == root.appending("d").appending("f"))
        // It is waited for again.
        try stage.perform(["rmtree", "a"])
        #expect(try await reader.kinds(through: .rootLost(.deleted)).last == .rootLost(.deleted))
        try stage.perform(["mkdir", "a/b/root/e"])
        #expect(try await reader.kinds(through: .rescanned).contains(.rootBack))
        try await watcher.settled()
        #expect(try await watcher.knownPaths() == ["e/"])
    }

    @Test(
        "W-07: a root that is made and removed again and again is there in the end, however many directories above it come and go",
        arguments: Stage.places)
    func madeAndRemoved(place: FilePath) async throws {
        let stage = try Stage(in: place)
        defer { stage.remove() }
        let root = stage.root.appending("a").appending("b").appending("c").appending("root")
        let (watcher, reader) = try await awaiting(root)
        defer { watcher.close() }
        for round in 0..<500 {
            try stage.perform(["mkdir", "a/b/c/root"])
            try stage.perform(["rmtree", ["a", "a/b", "a/b/c", "a/b/c/root"][round % 4]])
        }
        try stage.perform(["mkdir", "a/b/c/root/last"])
        // Nothing more happens: what the watcher knows now it knows by itself.
        try await within("the last directory", seen: { "\(watcher.root)" }) {
            while true {
                let loss = try await watcher.rootLoss()
                if loss == nil, try await watcher.knownPaths() == ["last/"] { break }
                _ = try await reader.next()
            }
        }
        try stage.perform(["write", "a/b/c/root/last/f"])
        #expect(try await reader.path(of: .created, "f") == root.appending("last").appending("f"))
    }

    @Test("W-07: a root that went before it could be watched, and is there again with the inode number it had, is watched after all")
    func unwatchedRoot() {
        var machine = TreeStateMachine(root: Array("/t".utf8), awaitsRoot: true, seed: 1)
        let status = EntryStatus(isDirectory: true, stamp: .unknown, identity: 7)
        #expect(machine.nextWork() == .checkRoot)
        machine.rootChecked(status, isSame: false, isAlive: false)
        #expect(machine.nextWork() == .refresh(.root, [.recursive]))
        #expect(machine.watched(.root, .success(1), mode: [.recursive]) == .list([.recursive]))
        #expect(machine.nextWork() == nil && machine.phase == .watching)
        machine.loseRoot(.deleted)
        #expect(machine.nextWork() == .checkRoot)
        machine.rootChecked(status, isSame: true, isAlive: false)
        #expect(machine.nextWork() == .refresh(.root, [.recursive, .lossy]))
        // It has gone between the look and the watch.
        #expect(machine.watched(.root, .failure(.noSuchFileOrDirectory), mode: [.recursive, .lossy]) == .skip)
        #expect(machine.nextWork() == .checkRoot)
        machine.rootChecked(status, isSame: true, isAlive: false)
        #expect(machine.nextWork() == .refresh(.root, [.recursive, .lossy]))
    }

    @Test("W-07: a directory that comes in pieces is found whichever piece comes between two looks")
    func pieces() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        for round in 0..<200 {
            let root = stage.root.appending("r\(round)").appending("b").appending("c").appending("root")
            let watcher = try TreeWatcher(root, options: options)
            let reader = AwaitedReader(watcher)
            // At the same time as the first climb.
            try stage.perform(["mkdir", "r\(round)/b/c/root"])
            _ = try await reader.kinds(through: .ready)
            watcher.close()
        }
    }

    @Test("W-07: a parent that is renamed away and back takes an awaited root with it, and brings it back")
    func parentRenamed() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "a/b"])
        let (watcher, reader) = try await awaiting(stage.root.appending("a").appending("b").appending("root"))
        defer { watcher.close() }
        try stage.perform(["mv", "a", "z"])
        // The root comes where nobody looks for it.
        try stage.perform(["mkdir", "z/b/root/d"])
        try await watcher.settled()
        #expect(try await watcher.rootLoss() == .absent)
        try stage.perform(["mv", "z", "a"])
        _ = try await reader.kinds(through: .ready)
        try await watcher.settled()
        #expect(try await watcher.knownPaths() == ["d/"])
        try stage.perform(["mv", "a", "z"])
        #expect(try await reader.kinds(through: .rootLost(.moved)).last == .rootLost(.moved))
        try stage.perform(["mv", "z", "a"])
        _ = try await reader.kinds(through: .rescanned)
        #expect(try await watcher.rootLoss() == nil)
    }

    @Test("W-07: an awaited root below a symbolic link is found where the link leads, also when that leads elsewhere later")
    func linkedParent() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "one"])
        try stage.perform(["mkdir", "two/root/d"])
        try stage.perform(["symlink", "one", "link"])
        var options = options
        options.sweepInterval = .milliseconds(20)
        let (watcher, reader) = try await awaiting(stage.root.appending("link").appending("root"), options)
        defer { watcher.close() }
        try stage.perform(["rm", "link"])
        try stage.perform(["symlink", "two", "link"])
        _ = try await reader.kinds(through: .ready)
        try await watcher.settled()
        #expect(try await watcher.knownPaths() == ["d/"])
        // A link that leads nowhere yet: its target comes where no directory that is watched lies.
        try stage.perform(["symlink", "/nowhere-\(getpid())", "dangling"])
        try stage.perform(["rm", "dangling"])
        try stage.perform(["symlink", "three/deep", "dangling"])
        let (second, other) = try await awaiting(stage.root.appending("dangling").appending("root"), options)
        defer { second.close() }
        try stage.perform(["mkdir", "three/deep/root"])
        _ = try await other.kinds(through: .ready)
    }

    @Test("W-07: a file in the place of an awaited root, or of a directory above it, is waited to go, without polling")
    func fileInPlace() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["write", "root"])
        try stage.perform(["write", "above"])
        var options = options
        // Nobody would see a sweep.
        options.sweepInterval = .seconds(3600)
        for path in ["root", "above/root"] {
            let (watcher, reader) = try await awaiting(stage.root.pushing(FilePath(path)), options)
            defer { watcher.close() }
            try stage.perform(["rm", path == "root" ? "root" : "above"])
            try await watcher.settled()
            #expect(try await watcher.rootLoss() == .absent)
            try stage.perform(["mkdir", path])
            _ = try await reader.kinds(through: .ready)
        }
    }

    @Test("W-07: an awaited root below a directory that nobody may read is looked for by and by")
    func unreadableParent() async throws {
        let tree = ScriptedTreeSource(root: "/t")
        tree.createDirectory("/u/closed")
        tree.setReadable("/u/closed", false)
        var options = options
        options.source = .custom(tree)
        options.sweepInterval = .milliseconds(20)
        let (watcher, reader) = try await awaiting("/u/closed/root", options)
        defer { watcher.close() }
        tree.createDirectory("/u/closed/root/d")
        _ = try await reader.kinds(through: .ready)
        try await watcher.settled()
        #expect(try await watcher.knownPaths() == ["d/"])
    }

    @Test("W-07: an awaited root that may not be read is told once, and watched when it can be")
    func unreadableRoot() async throws {
        let tree = ScriptedTreeSource(root: "/t")
        tree.write("f")
        tree.setReadable("", false)
        let told = ErrorList()
        var options = options
        options.source = .custom(tree)
        options.sweepInterval = .milliseconds(20)
        options.diagnostics = { told.append($0) }
        let watcher = try TreeWatcher("/t", options: options)
        defer { watcher.close() }
        let reader = AwaitedReader(watcher)
        _ = try await reader.kinds(through: .ready)
        #expect(told.all.map(\.code) == [.permissionDenied])
        tree.setReadable("", true)
        #expect(try await reader.path(of: .created, "f") == "/t/f")
    }
}

/// Reads a watcher's changes one by one.
private actor AwaitedReader {
    private let reader: LimitedSequence<TreeChanges>.AsyncIterator
    private var pending: ArraySlice<TreeChange> = []

    init(_ watcher: TreeWatcher) { reader = watcher.changes.limited("changes of an awaited root").makeAsyncIterator() }

    func next() async throws -> TreeChange? {
        while pending.isEmpty {
            guard let batch = try await reader.next() else { return nil }
            pending = ArraySlice(batch)
        }
        return pending.removeFirst()
    }

    /// The kinds of changes up to the first of a kind.
    func kinds(through last: TreeChange.Kind) async throws -> [TreeChange.Kind] {
        var kinds: [TreeChange.Kind] = []
        while kinds.last != last, let change = try await next() { kinds.append(change.kind) }
        return kinds
    }

    /// The path of the next change of a kind with a name.
    func path(of kind: TreeChange.Kind, _ name: String) async throws -> FilePath? {
        while let change = try await next() {
            if change.kind == kind, change.path.lastComponent?.string == name { return change.path }
        }
        return nil
    }
}
