import SystemPackage
import Testing

@testable import FileCoordination

/// Who waits for whom, as the arbiter decides it.
@Suite struct ExclusionTests {
    /// What one claim does with an item: `r` reads, `w` writes, `d` deletes, `m` moves, `=` replaces.
    struct Deed: Sendable, CustomTestStringConvertible {
        let item: ClaimItem
        let testDescription: String

        init(_ text: String) {
            testDescription = text
            let parts = text.split(separator: " ")
            let path = FilePath(String(parts[1]))
            let access: Access =
                switch parts[0] {
                case "r": .read([])
                case "w": .write([])
                case "d": .write(.forDeleting)
                case "m": .write(.forMoving)
                default: .write(.forReplacing)
                }
            item = ClaimItem(path, access, packageDepths: FilePackages(extensions: ["pkg"]).depths(above: path))
        }
    }

    /// The second claim against the first that is held.
    private func secondWaits(_ first: String, _ second: String) -> Bool {
        var script = ArbiterScript()
        let held = script.claim([Deed(first).item])
        #expect(script.isGranted(held))
        let other = script.claim([Deed(second).item])
        let waits = script.isWaiting(other)
        script.end(held)
        #expect(script.isGranted(other), "nobody waits for a claim that has ended")
        return waits
    }

    @Test("C-01: readers of one item do not wait for each other")
    func readersTogether() {
        #expect(!secondWaits("r /a/f", "r /a/f"))
    }

    @Test("C-02: readers and writers of one item wait for a writer, a writer waits for readers", arguments: [("w", "r"), ("w", "w"), ("r", "w")])
    func writersAlone(first: String, second: String) {
        #expect(secondWaits("\(first) /a/f", "\(second) /a/f"))
        #expect(!secondWaits("\(first) /a/f", "\(second) /a/g"))
    }

    @Test(
        "C-03: an item inside a file package is locked with the outermost package around it",
        arguments: [
            ("w /d.pkg/a", "r /d.pkg/b", true), ("w /d.pkg/a", "r /d.pkg", true), ("r /d.pkg/a", "w /d.pkg", true),
            ("w /o.pkg/i.pkg/a", "r /o.pkg/b", true), ("w /o.pkg/x/i.pkg/a", "r /o.pkg", true), ("r /d.pkg/a", "r /d.pkg/b", false),
            ("w /d.pkg/a", "w /e.pkg/a", false), ("w /d/a", "r /d/b", false),
        ])
    func packages(first: String, second: String, waits: Bool) {
        #expect(secondWaits(first, second) == waits)
    }

    @Test("C-04: a reader of a plain directory and writers of its contents do not wait for each other")
    func readerOfDirectory() {
        #expect(!secondWaits("r /d", "w /d/f"))
        #expect(!secondWaits("w /d/f", "r /d"))
        #expect(!secondWaits("r /d", "d /d/f"))
    }

    @Test("C-05: a writer of a plain directory and those who use its contents do not wait for each other")
    func writerOfDirectory() {
        #expect(!secondWaits("w /d", "w /d/f"))
        #expect(!secondWaits("w /d/f", "w /d"))
        #expect(!secondWaits("w /d", "r /d/e/f"))
    }

    @Test(
        "C-06: who deletes, moves or replaces a directory waits for those who use its contents, and later ones wait for it",
        arguments: ["d", "m", "="])
    func structuralWriter(deed: String) {
        #expect(secondWaits("r /d/e/f", "\(deed) /d"))
        #expect(secondWaits("w /d/f", "\(deed) /d"))
        #expect(secondWaits("\(deed) /d", "r /d/e/f"))
        #expect(secondWaits("\(deed) /d", "w /d/f"))
        #expect(!secondWaits("\(deed) /d", "w /e/f"))
        #expect(!secondWaits("\(deed) /d/e", "r /d/f"))
    }

    @Test("C-06: a queued descendant waits until the move ends, and those before the move go first")
    func queueAroundMove() {
        var script = ArbiterScript()
        let early = script.read("/d/f")
        let move = script.write("/d", .forMoving)
        let late = script.read("/d/f")
        #expect(script.isGranted(early) && script.isWaiting(move) && script.isWaiting(late))
        script.end(early)
        #expect(script.isGranted(move) && script.isWaiting(late))
        script.end(move)
        #expect(script.isGranted(late))
    }

    @Test("C-07: forMoving on a plain file is the same as no option")
    func movingFile() {
        for deed in ["m", "w"] {
            #expect(secondWaits("\(deed) /a/f", "r /a/f"))
            #expect(!secondWaits("\(deed) /a/f", "r /a/g"))
            #expect(!secondWaits("\(deed) /a/f", "r /a"))
        }
        var script = ArbiterScript()
        let presenter = script.present("/a/f")
        _ = script.write("/a/f", .forMoving)
        #expect(script.messages(to: presenter) == [.relinquishToWriter])
    }

    @Test("C-08: a reader that arrives behind a waiting writer waits for it, so writers do not starve")
    func arrivalOrder() {
        var script = ArbiterScript()
        let first = script.read("/a/f")
        let writer = script.write("/a/f")
        let second = script.read("/a/f")
        #expect(script.isWaiting(second))
        script.end(first)
        #expect(script.isGranted(writer) && script.isWaiting(second))
        script.end(writer)
        #expect(script.isGranted(second))
    }

    @Test("C-09: claims of one coordinator, presenter or purpose never block each other, whatever the process")
    func onePurpose() {
        var script = ArbiterScript()
        let other = ClientID(2)
        script.send(.clientJoined(other, process: 12, name: "two"))
        let first = script.write("/a/f", as: "sync")
        let second = script.write("/a/f", as: "sync", by: other)
        #expect(script.isGranted(first) && script.isGranted(second))
        let presenter = script.present("/b/f")
        let third = script.write("/b/f", for: presenter)
        let fourth = script.write("/b/f", for: presenter)
        #expect(script.isGranted(third) && script.isGranted(fourth))
        let stranger = script.read("/a/f")
        #expect(script.isWaiting(stranger))
        script.end(first)
        #expect(script.isWaiting(stranger), "both have to end")
        script.end(second)
        #expect(script.isGranted(stranger))
    }

    @Test("C-48: items are claimed all at once, so crossing pairs never deadlock")
    func crossingPairs() {
        var script = ArbiterScript()
        let x = ClaimItem("/x", .write([]))
        let y = ClaimItem("/y", .write([]))
        let first = script.claim([x, y])
        let second = script.claim([y, x])
        let third = script.claim([y])
        #expect(script.isGranted(first) && script.isWaiting(second) && script.isWaiting(third))
        script.end(first)
        #expect(script.isGranted(second) && script.isWaiting(third))
        script.end(second)
        #expect(script.isGranted(third))
    }

    @Test("C-12, C-60: what a process holds ends with it, what it awaits is forgotten, what it has not answered counts as given")
    func deadClient() {
        var script = ArbiterScript()
        let other = ClientID(2)
        script.send(.clientJoined(other, process: 12, name: "two"))
        let watcher = script.present("/a/f")
        let held = script.write("/a/f", by: other)
        script.handleAll(watcher)
        _ = script.write("/a/f", by: other)
        let presenter = script.present("/b/f", by: other)
        let asking = script.read("/b/f")
        let waiting = script.read("/a/f")
        #expect(script.isGranted(held) && script.isWaiting(waiting) && script.isWaiting(asking))
        #expect(script.messages(to: presenter) == [.relinquishToReader, .saveChanges])
        script.send(.clientGone(other))
        #expect(script.isGranted(asking))
        script.handleAll(watcher)
        #expect(script.isGranted(waiting))
        #expect(script.messages(to: watcher).contains(.didChange))
    }
}
