import Glibc
import SystemPackage
import Testing
import UbiquityTesting

@testable import TreeWatching

@Suite("The state machine")
struct TreeStateMachineTests {
    @Test("W-07: a root that is gone was moved if that was told, and else deleted, though somebody has it open", arguments: [true, false])
    func rootLoss(isTold: Bool) {
        let fixture = MachineFixture()
        if isTold { fixture.machine.rootHasMoved = true }
        fixture.machine.rootChecked(nil, isSame: false, isAlive: true)
        #expect(fixture.machine.phase == .lost(isTold ? .moved : .deleted))
        // A later loss is judged by what is told then.
        #expect(!fixture.machine.rootHasMoved)
    }

    @Test("W-01: a file written in directories created a moment before is reported, however deep")
    func deepCreation() {
        let fixture = MachineFixture()
        fixture.tree.write("a/b/c/d/f")
        #expect(fixture.take() == ["created a/", "created a/b/", "created a/b/c/", "created a/b/c/d/", "created a/b/c/d/f"])
        fixture.tree.write("a/b/c/d/f")
        #expect(fixture.take() == ["modified a/b/c/d/f"])
    }

    @Test("W-02: a populated tree moved in is reported whole; after it is moved out nothing below it is reported")
    func moveInAndOut() {
        let fixture = MachineFixture()
        fixture.tree.write("/out/d/e/f")
        fixture.tree.move("/out/d", to: "d")
        #expect(fixture.take() == ["created d/", "created d/e/", "created d/e/f"])
        fixture.tree.move("d", to: "/out/d")
        #expect(fixture.take() == [])
        #expect(fixture.take(givingUp: true) == ["removed d/e/f", "removed d/e/", "removed d/"])
        fixture.tree.write("/out/d/e/g")
        #expect(fixture.take() == [])
    }

    @Test("W-03: two moves that cross never pair with each other")
    func crossedMoves() {
        let fixture = MachineFixture()
        fixture.tree.write("inside/secret")
        fixture.tree.write("/out/visitor/gift")
        fixture.take()
        fixture.tree.move("inside", to: "/out/inside")
        fixture.tree.move("/out/visitor", to: "visitor")
        #expect(fixture.take() == ["removed inside/secret", "removed inside/", "created visitor/", "created visitor/gift"])
    }

    @Test("W-03: events behind half a move wait until it is settled, and the pair that comes late is a move")
    func lateHalf() {
        let fixture = MachineFixture()
        fixture.tree.write("d/f")
        fixture.take()
        fixture.tree.move("d", to: "e")
        fixture.tree.write("e/f")
        // One event with a short name is 32 bytes: the first half only.
        #expect(fixture.take(bytes: 32) == [])
        #expect(fixture.take() == ["moved d -> e/", "modified e/f"])
    }

    @Test("W-03: events below half a move that stays alone wait until it is settled, and tell nothing of what is outside then")
    func loneHalf() {
        let fixture = MachineFixture()
        fixture.tree.write("d/f")
        fixture.tree.write("e/f")
        fixture.take()
        fixture.tree.move("d", to: "/out/d")
        fixture.tree.write("/out/d/f")
        fixture.tree.write("/out/d/g")
        // What happens elsewhere is behind it, too: the order is the kernel's.
        fixture.tree.write("e/f")
        #expect(fixture.take() == [])
        #expect(fixture.take() == [])
        #expect(fixture.take(givingUp: true) == ["removed d/f", "removed d/", "modified e/f"])
    }

    @Test("W-04: after a directory is renamed, events at every depth carry the new path")
    func renamedDirectory() {
        let fixture = MachineFixture()
        fixture.tree.write("a/b/c/f")
        fixture.take()
        fixture.tree.move("a", to: "z")
        fixture.tree.write("z/b/c/f")
        #expect(fixture.take() == ["moved a -> z/", "modified z/b/c/f"])
    }

    @Test("W-04: a directory created before its parent's rename was read is watched under its new path")
    func creationBehindRename() {
        let fixture = MachineFixture()
        fixture.tree.createDirectory("a")
        fixture.take()
        fixture.tree.write("a/new/f")
        fixture.tree.move("a", to: "z")
        // Another directory at the old path must not be taken for the one that was moved away.
        fixture.tree.write("a/new/impostor")
        fixture.take()
        fixture.tree.write("z/new/f")
        fixture.tree.write("a/new/impostor")
        #expect(fixture.take() == ["modified z/new/f", "modified a/new/impostor"])
    }

    @Test("W-04: where another directory takes a new one's place before it is listed, nothing of the other stays known below it")
    func listingOfAnother() {
        let fixture = MachineFixture()
        fixture.tree.write("old/f")
        fixture.take()
        fixture.tree.createDirectory("new")
        fixture.beforeListing = ("new", { fixture.tree.exchange("new", "old") })
        while !fixture.take().isEmpty {}
        #expect(fixture.known == ["new/", "new/f", "old/"])
        fixture.tree.write("old/g")
        fixture.tree.remove("new/f")
        while !fixture.take().isEmpty {}
        #expect(fixture.known == ["new/", "old/", "old/g"])
    }

    @Test("W-05: an exchange of two entries is two moves, of a file and a directory too")
    func exchange() {
        let fixture = MachineFixture()
        fixture.tree.write("file")
        fixture.tree.write("d/f")
        fixture.take()
        fixture.tree.exchange("file", "d")
        #expect(fixture.take() == ["moved file -> d", "moved d -> file/"])
        fixture.tree.write("file/f")
        #expect(fixture.take() == ["modified file/f"])
    }

    @Test("W-06: an overflow reports only differences, between markers, and keeps the watches")
    func overflow() {
        let fixture = MachineFixture()
        for path: FilePath in ["same/f", "changed/f", "gone/f", "moving/deep/f"] { fixture.tree.write(path) }
        fixture.take()
        settleStamps(fixture)
        let watches = fixture.tree.watchCount
        fixture.tree.loseEvents {
            fixture.tree.write("changed/f")
            fixture.tree.remove("gone")
            fixture.tree.write("new/f")
            fixture.tree.move("moving", to: "moved")
        }
        let reported = fixture.take()
        #expect(reported.first == "overflow /")
        #expect(reported.last == "rescanned /")
        #expect(
            Set(reported.dropFirst().dropLast()) == [
                "modified changed/f", "removed gone/f", "removed gone/", "created new/", "created new/f", "moved moving -> moved/",
            ])
        #expect(fixture.tree.watchCount == watches)
    }

    @Test("W-08: a directory removed and created again under its name is never deaf")
    func recreation() {
        let fixture = MachineFixture()
        for round in 0..<50 {
            fixture.tree.createDirectory("d")
            if round % 3 == 0 { fixture.take() }
            fixture.tree.remove("d")
        }
        fixture.tree.createDirectory("d")
        fixture.take()
        fixture.tree.write("d/f")
        #expect(fixture.take() == ["created d/f", "modified d/f"])
    }

    @Test("W-12: a rename over an existing file is a modification of the target that names the old path")
    func renameOver() {
        let fixture = MachineFixture()
        fixture.tree.write("f")
        fixture.tree.write("f.tmp")
        fixture.take()
        fixture.tree.move("f.tmp", to: "f")
        #expect(fixture.take() == ["modified f.tmp -> f"])
    }

    @Test("What is excluded is neither reported nor watched, and arrives when it is renamed to another name")
    func exclusion() {
        let fixture = MachineFixture(exclude: [".tmp.*", "build/"])
        fixture.tree.write(".tmp.f")
        fixture.tree.write("build/o")
        #expect(fixture.take() == [])
        #expect(fixture.tree.watchCount == 1)
        fixture.tree.move(".tmp.f", to: "f")
        #expect(fixture.take() == ["created f"])
        fixture.tree.move("f", to: ".tmp.f")
        #expect(fixture.take() == ["removed f"])
    }

    private func settleStamps(_ fixture: MachineFixture) {
        while let node = fixture.machine.dirtyFiles.popLast() {
            let path = "/t/" + String(decoding: fixture.machine.path(of: node), as: UTF8.self)
            if let status = try? fixture.tree.status(of: path, followingLinks: false) { fixture.machine.index.setStamp(status.stamp, of: node) }
        }
    }
}
