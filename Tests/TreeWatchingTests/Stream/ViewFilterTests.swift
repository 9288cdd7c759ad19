import SystemPackage
import Testing

@testable import TreeWatching

/// What one of several watchers gets of a tree that they share, by table.
@Suite("Views of a shared tree")
struct ViewFilterTests {
    /// A change in short: a code, `>` before the new path of what moved, a slash behind a directory.
    private typealias Line = (code: TreeChangeRecord.Code, path: String, source: String?)

    private func batch(_ lines: [Line]) -> TreeChangeBatch {
        var buffer = TreeChangeBuffer(root: Array("/t".utf8))
        for (number, line) in lines.enumerated() {
            var record = TreeChangeRecord(tick: UInt64(number + 1), time: 0, code: line.code)
            let isDirectory = line.path.hasSuffix("/") || line.path.isEmpty
            record.isDirectory = isDirectory
            buffer.append(
                record, path: Array((isDirectory ? String(line.path.dropLast()) : line.path).utf8), source: line.source.map { Array($0.utf8) })
        }
        return buffer.take()
    }

    private func filter(_ top: String, _ exclude: [String] = [], attributes: Bool = false, closes: Bool = false) -> ViewFilter {
        ViewFilter(
            scope: ViewScope(top: Array(top.utf8), exclude: exclude), root: Array(("/t" + (top.isEmpty ? "" : "/" + top)).utf8),
            attributes: attributes,
            closes: closes)
    }

    private func shown(_ filter: inout ViewFilter, _ lines: Line...) -> [String] {
        (filter.take(batch(lines)) ?? batch([])).map { change in
            let path = change.path.string + (change.isDirectory ? "/" : "")
            return "\(change.kind) " + (change.from.map { "\($0) -> " } ?? "") + path
        }
    }

    @Test("A watcher of the whole tree gets all of it, but what it did not ask for")
    func whole() {
        var plain = filter(""), full = filter("", attributes: true, closes: true)
        let lines: [Line] = [
            (.created, "d/", nil), (.attributes, "d/", nil), (.closed, "d/f", nil), (.leaves, "d/f", "e/f"), (.moved, "e/", "d"),
            (.enters, "e/f", "d/f"),
            (.overflow, "", nil), (.rescanned, "", nil), (.rootLost, "", nil), (.rootBack, "", nil),
        ]
        #expect(
            plain.take(batch(lines))?.map(\.description) == [
                "1 created /t/d/", "5 moved /t/e/ from /t/d", "7 overflow /t/", "8 rescanned /t/",
                "9 rootLost(TreeWatching.TreeChange.RootLoss.deleted) /t/",
                "10 rootBack /t/",
            ])
        #expect(full.take(batch(lines))?.map(\.tick) == [1, 2, 3, 5, 7, 8, 9, 10])
    }

    @Test("A watcher that leaves something out sees what moves across that line come and go, with what lies below it")
    func exclusion() {
        var filter = filter("", ["*.tmp", "out/"])
        #expect(shown(&filter, (.created, "a.tmp", nil), (.modified, "out/f", nil), (.created, "out", nil)) == ["created /t/out"])
        #expect(
            shown(&filter, (.moved, "f", "a.tmp"), (.modified, "g", "b.tmp"), (.moved, "c.tmp", "f")) == [
                "created /t/f", "modified /t/g", "removed /t/f",
            ])
        #expect(
            shown(&filter, (.leaves, "d/f", "out/f"), (.leaves, "d/x.tmp", "out/x.tmp"), (.moved, "out/", "d"), (.enters, "out/f", "d/f"))
                == ["removed /t/d/f", "removed /t/d/"])
        #expect(
            shown(&filter, (.moved, "e/", "out"), (.enters, "e/f", "out/f"), (.enters, "e/x.tmp", "out/x.tmp")) == [
                "created /t/e/", "created /t/e/f",
            ])
        // What stays in sight is one move.
        #expect(shown(&filter, (.leaves, "e/f", "g/f"), (.moved, "g/", "e"), (.enters, "g/f", "e/f")) == ["moved /t/e -> /t/g/"])
    }

    @Test("A watcher of a directory in the tree gets what lies in it, with paths from there")
    func subtree() {
        var filter = filter("a/b")
        #expect(
            shown(&filter, (.created, "a/b/f", nil), (.created, "a/bc/f", nil), (.modified, "a/f", nil), (.moved, "a/b/d/g", "a/b/f"))
                == ["created /t/a/b/f", "moved /t/a/b/f -> /t/a/b/d/g"])
        #expect(shown(&filter, (.moved, "a/b/h", "a/h"), (.moved, "x", "a/b/h")) == ["created /t/a/b/h", "removed /t/a/b/h"])
        #expect(shown(&filter, (.overflow, "", nil), (.rescanned, "", nil)) == ["overflow /t/a/b/", "rescanned /t/a/b/"])
    }

    @Test("W-07: the end and the return of the directory are those of the watcher's root, however they come about")
    func subtreeRoot() {
        var filter = filter("a/b", attributes: true)
        #expect(shown(&filter, (.attributes, "a/b/", nil)) == ["attributes /t/a/b/"])
        #expect(
            shown(&filter, (.removed, "a/b/f", nil), (.removed, "a/b/", nil), (.created, "a/b", nil), (.overflow, "", nil))
                == ["removed /t/a/b/f", "rootLost(TreeWatching.TreeChange.RootLoss.deleted) /t/a/b/"])
        #expect(shown(&filter, (.created, "a/b/", nil), (.created, "a/b/f", nil)) == ["rootBack /t/a/b/", "created /t/a/b/f"])
        // A directory above it goes, and comes back.
        #expect(
            shown(
                &filter, (.leaves, "a/b/f", "z/b/f"), (.leaves, "a/b/", "z/b"), (.moved, "z/", "a"), (.enters, "z/b/", "a/b"),
                (.enters, "z/b/f", "a/b/f"))
                == ["removed /t/a/b/f", "rootLost(TreeWatching.TreeChange.RootLoss.moved) /t/a/b/"])
        #expect(
            shown(
                &filter, (.leaves, "z/b/f", "a/b/f"), (.leaves, "z/b/", "a/b"), (.moved, "a/", "z"), (.enters, "a/b/", "z/b"),
                (.enters, "a/b/f", "z/b/f"))
                == ["rootBack /t/a/b/", "created /t/a/b/f"])
        // The tree itself.
        #expect(shown(&filter, (.rootLost, "", nil)) == ["rootLost(TreeWatching.TreeChange.RootLoss.deleted) /t/a/b/"])
        #expect(shown(&filter, (.rootBack, "", nil), (.removed, "a/b/", nil)).count == 2)
        #expect(filter.loss == .deleted)
        // While the directory is missing the tree's own end and return mean nothing.
        #expect(shown(&filter, (.rootLost, "", nil), (.rootBack, "", nil)) == [])
    }

    @Test("W-04: a move is told entry by entry only where it crosses a line, or patterns with slashes may mean something else below it")
    func crossings() {
        func isCrossed(_ top: String, _ exclude: [String], _ source: String, _ target: String) -> Bool {
            ViewScope(top: Array(top.utf8), exclude: exclude).isCrossed(from: Array(source.utf8), to: Array(target.utf8))
        }
        #expect(!isCrossed("", [], "a", "b"))
        #expect(!isCrossed("", ["*.nosync/", "/CoreData/"], "a", "b/c"))
        #expect(isCrossed("", ["*.nosync/"], "a.nosync", "a"))
        #expect(isCrossed("", ["/CoreData/"], "a", "CoreData"))
        #expect(isCrossed("", ["a/tmp"], "b", "a"))
        #expect(!isCrossed("", ["a/tmp"], "b/c", "d/e"))
        #expect(isCrossed("p/q", [], "p", "r") && isCrossed("p/q", [], "r", "p/q") && isCrossed("p/q", [], "r", "p/q/s"))
        #expect(!isCrossed("p/q", [], "p/q/r", "p/q/s") && !isCrossed("p/q", [], "r", "s"))
    }
}
