import SystemPackage
import Testing

@testable import FileCoordination

/// How claims and presenters follow a move, as the arbiter decides it.
@Suite struct MoveTests {
    @Test("C-38: after a reported move presenters at and below the item hear where it is, those around it that a subitem moved")
    func told() {
        var script = ArbiterScript()
        let item = script.present("/o/d")
        let below = script.present("/o/d/e/f")
        let around = script.present("/o")
        let own = script.present("/o/d")
        let claim = script.write("/o/d", .forMoving, for: own)
        for presenter in [item, below, around] { script.handleAll(presenter) }
        script.send(.moved(claim, Move(from: "/o/d", to: "/o/n")))
        script.end(claim, existsAfter: false)
        #expect(script.messages(to: item).filter { !$0.isReacquire } == [.relinquishToWriter, .didMove("/o/n")])
        #expect(script.messages(to: below).filter { !$0.isReacquire } == [.relinquishToWriter, .didMove("/o/n/e/f")])
        #expect(script.messages(to: around) == [.subitemDidMove(from: "/o/d", to: "/o/n")])
        #expect(script.messages(to: own).isEmpty)
        #expect(script.arbiter.presenters[own]?.path == "/o/n")
    }

    @Test("C-37, C-38: an item that moves into another directory moves for the one and appears to the other")
    func movesIn() {
        var script = ArbiterScript()
        let old = script.present("/a")
        let new = script.present("/b")
        let claim = script.claim([ClaimItem("/a/f", .write(.forMoving)), ClaimItem("/b/f", .write(.forReplacing))])
        script.handleAll(new)
        script.send(.moved(claim, Move(from: "/a/f", to: "/b/f")))
        script.send(
            .end(claim, [Observation(existedBefore: true, existsAfter: false), Observation(existedBefore: false, existsAfter: true)]))
        #expect(script.messages(to: old) == [.subitemDidMove(from: "/a/f", to: "/b/f")])
        #expect(script.messages(to: new) == [.accommodateSubitemDeletion("/b/f"), .subitemDidAppear("/b/f")])
    }

    @Test("C-39: without a report the others hear of changes at the old and the new place, and of no move")
    func unreported() {
        var script = ArbiterScript()
        let old = script.present("/a/f")
        let new = script.present("/b/f")
        let claim = script.claim([ClaimItem("/a/f", .write(.forMoving)), ClaimItem("/b/f", .write(.forReplacing))])
        script.handleAll(old)
        script.handleAll(new)
        script.send(
            .end(claim, [Observation(existedBefore: true, existsAfter: false), Observation(existedBefore: true, existsAfter: true)]))
        #expect(script.messages(to: old).filter { !$0.isReacquire } == [.relinquishToWriter, .didChange])
        #expect(script.messages(to: new).filter { !$0.isReacquire } == [.relinquishToWriter, .accommodateDeletion, .didChange])
    }

    @Test("C-40: a directory's presenter hears of its subitems at the new place after the directory has moved")
    func directoryFollows() {
        var script = ArbiterScript()
        let presenter = script.present("/o/d")
        let move = script.write("/o/d", .forMoving)
        script.handleAll(presenter)
        script.send(.moved(move, Move(from: "/o/d", to: "/n")))
        script.end(move, existsAfter: false)
        script.handleAll(presenter)
        script.end(script.write("/n/sub/f"))
        #expect(script.messages(to: presenter).last == .subitemDidChange("/n/sub/f"))
        let count = script.messages(to: presenter).count
        script.end(script.write("/o/d/f"))
        #expect(script.messages(to: presenter).count == count, "nothing comes from the old place")
    }

    @Test("C-41: waiting claims follow a reported move, of the item or of a directory above it")
    func retargets() {
        var script = ArbiterScript()
        let move = script.write("/o/d", .forMoving)
        let read = script.read("/o/d/e/f")
        let write = script.write("/o/d")
        script.send(.moved(move, Move(from: "/o/d", to: "/n")))
        script.end(move, existsAfter: false)
        #expect(script.grants[read]?.paths == ["/n/e/f"])
        #expect(script.grants[write]?.paths == ["/n"])
        let rival = script.write("/n/e/f")
        #expect(script.isWaiting(rival), "the claim is on the new place")
        let atOld = script.write("/o/d/e/f")
        #expect(script.isGranted(atOld), "and no longer on the old one")
    }

    @Test("C-41: a claim that follows a move waits for those who are at the new place already")
    func retargetedBehindHolder() {
        var script = ArbiterScript()
        let holder = script.read("/n/f")
        let move = script.write("/o/f", .forMoving)
        let write = script.write("/o/f")
        script.send(.moved(move, Move(from: "/o/f", to: "/n/f")))
        script.end(move, existsAfter: false)
        #expect(script.isWaiting(write))
        script.end(holder)
        #expect(script.grants[write]?.paths == ["/n/f"])
    }

    @Test("C-24: a writer for replacing owns the name and does not follow the move, every other does")
    func replacingStays() {
        var script = ArbiterScript()
        let move = script.write("/o/f", .forMoving)
        let replace = script.write("/o/f", .forReplacing)
        let others: [FileCoordinator.WritingOptions] = [[], .forDeleting, .forMoving, .forMerging, .contentIndependentMetadataOnly]
        let writers = others.map { script.write("/o/f", $0) }
        script.send(.moved(move, Move(from: "/o/f", to: "/o/g")))
        script.end(move, existsAfter: false)
        #expect(script.grants[replace]?.paths == ["/o/f"])
        script.end(replace)
        for writer in writers {
            #expect(script.grants[writer]?.paths == ["/o/g"])
            script.end(writer)
        }
    }

    @Test("C-03, C-41: a claim that follows an item into a package is locked with the package")
    func intoPackage() {
        var script = ArbiterScript()
        let move = script.write("/o/d", .forMoving)
        let read = script.read("/o/d/f")
        script.send(.moved(move, Move(from: "/o/d", to: "/p.pkg/d", packageDepths: [1])))
        script.end(move, existsAfter: false)
        #expect(script.isGranted(read))
        let other = script.write("/p.pkg/other", packages: [1])
        #expect(script.isWaiting(other))
    }

    @Test("A mover keeps the old name and has the new one until its accessor is done")
    func moverKeepsBoth() {
        var script = ArbiterScript()
        let move = script.write("/o/f", .forMoving)
        script.send(.moved(move, Move(from: "/o/f", to: "/o/g")))
        let atOld = script.write("/o/f")
        let atNew = script.write("/o/g")
        #expect(script.isWaiting(atOld) && script.isWaiting(atNew))
        script.end(move, existsAfter: false)
        #expect(script.isGranted(atOld) && script.isGranted(atNew))
    }

    @Test("C-53: an access of a presenter that has not processed a move yet is mapped to the new place")
    func moveRace() {
        var script = ArbiterScript()
        let presenter = script.present("/o/d/f")
        let move = script.write("/o/d", .forMoving)
        script.handleAll(presenter)
        script.send(.moved(move, Move(from: "/o/d", to: "/n")))
        let early = script.write("/o/d/f", for: presenter)
        script.end(move, existsAfter: false)
        #expect(script.grants[early]?.paths == ["/n/f"])
        script.end(early)

        let late = script.write("/o/d/f", for: presenter)
        #expect(script.grants[late]?.paths == ["/n/f"], "the message is not handled yet")
        script.end(late)

        let message = script.pending(of: presenter)[0]
        let inTurn = script.write("/o/d/g", within: [.message(message.id)])
        #expect(script.grants[inTurn]?.paths == ["/n/g"], "a coordinator made in the presenter's turn is mapped too")
        script.end(inTurn)
        script.handleAll(presenter)

        let after = script.write("/o/d/f", for: presenter)
        #expect(script.grants[after]?.paths == ["/o/d/f"], "by now the presenter knows")
        script.end(after)
        let stranger = script.write("/o/d/g")
        #expect(script.grants[stranger]?.paths == ["/o/d/g"], "nobody else is mapped")
    }

    @Test("C-53: a presenter that says where its item went, and has not heard of the next move, is taken to be where the item is")
    func lateRelocation() {
        var script = ArbiterScript()
        let presenter = script.present("/a")
        for move in [Move(from: "/a", to: "/b"), Move(from: "/b", to: "/c")] {
            let mover = script.claim([ClaimItem(move.from, .write(.forMoving)), ClaimItem(move.to, .write(.forReplacing))])
            while script.isWaiting(mover) { script.send(.handled(script.pending(of: presenter)[0].id, .done)) }
            script.send(.moved(mover, move))
            script.end(mover, existsAfter: false)
        }
        let told = script.pending(of: presenter).filter { if case .didMove = $0.message { true } else { false } }
        guard told.last?.message == .didMove("/c") else {
            Issue.record("the presenter has heard of everything: \(told)")
            return
        }
        script.send(.relocatePresenter(presenter, "/b"))
        #expect(script.arbiter.presenters[presenter]?.path == "/c")
        script.handleAll(presenter)
        script.send(.relocatePresenter(presenter, "/b"))
        #expect(script.arbiter.presenters[presenter]?.path == "/b")
    }
}
