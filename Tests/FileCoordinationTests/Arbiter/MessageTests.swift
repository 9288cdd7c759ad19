import SystemPackage
import Testing

@testable import FileCoordination

/// Which presenters are asked and told, and in which order, as the arbiter decides it.
@Suite struct MessageTests {
    /// What each presenter is asked on account of one claim, its item `/o/d.pkg/in/f` in a package in a plain directory.
    private struct Cast {
        var script = ArbiterScript()
        let plain: PresenterID
        let package: PresenterID
        let inside: PresenterID
        let item: PresenterID
        let sibling: PresenterID

        init() {
            plain = script.present("/o")
            package = script.present("/o/d.pkg")
            inside = script.present("/o/d.pkg/in")
            item = script.present("/o/d.pkg/in/f")
            sibling = script.present("/o/d.pkg/in/g")
        }

        mutating func access(_ access: Access) {
            _ = script.claim([ClaimItem("/o/d.pkg/in/f", access, packageDepths: [2])])
        }

        func asked(_ presenter: PresenterID) -> [PresenterMessage] { script.messages(to: presenter) }
    }

    @Test("C-14, C-16: before a read the presenters of the item and of enclosing packages relinquish and save, those of plain directories nothing")
    func read() {
        var cast = Cast()
        cast.access(.read([]))
        for presenter in [cast.item, cast.package] { #expect(cast.asked(presenter) == [.relinquishToReader, .saveChanges]) }
        for presenter in [cast.plain, cast.inside, cast.sibling] { #expect(cast.asked(presenter).isEmpty) }
    }

    @Test("C-15: a read without changes asks to relinquish, and not to save")
    func readWithoutChanges() {
        var cast = Cast()
        cast.access(.read(.withoutChanges))
        for presenter in [cast.item, cast.package] { #expect(cast.asked(presenter) == [.relinquishToReader]) }
    }

    @Test("C-16, C-20: before a write the presenters of the item and of enclosing packages relinquish to a writer")
    func write() {
        var cast = Cast()
        cast.access(.write([]))
        for presenter in [cast.item, cast.package] { #expect(cast.asked(presenter) == [.relinquishToWriter]) }
        for presenter in [cast.plain, cast.inside, cast.sibling] { #expect(cast.asked(presenter).isEmpty) }
    }

    @Test("C-21: before a merge those presenters also save")
    func merge() {
        var cast = Cast()
        cast.access(.write(.forMerging))
        for presenter in [cast.item, cast.package] { #expect(cast.asked(presenter) == [.relinquishToWriter, .saveChanges]) }
    }

    @Test(
        "C-22, C-23: before a deletion or replacement presenters at and below the item accommodate it, those around it a subitem's",
        arguments: [FileCoordinator.WritingOptions.forDeleting, .forReplacing])
    func deletion(options: FileCoordinator.WritingOptions) {
        var script = ArbiterScript()
        let plain = script.present("/o")
        let directory = script.present("/o/d")
        let below = script.present("/o/d/e/f")
        let beside = script.present("/o/x")
        let claim = script.write("/o/d", options)
        #expect(script.messages(to: directory) == [.relinquishToWriter, .accommodateDeletion])
        #expect(script.messages(to: below) == [.relinquishToWriter, .accommodateDeletion])
        #expect(script.messages(to: plain) == [.accommodateSubitemDeletion("/o/d")])
        #expect(script.messages(to: beside).isEmpty)
        for presenter in [plain, directory, below] {
            #expect(script.isWaiting(claim))
            script.handleAll(presenter)
        }
        #expect(script.isGranted(claim))
    }

    @Test("C-23: before a directory moves the presenters of all that it holds relinquish it")
    func moving() {
        var script = ArbiterScript()
        let directory = script.present("/o/d")
        let below = script.present("/o/d/e/f")
        _ = script.write("/o/d", .forMoving)
        for presenter in [directory, below] { #expect(script.messages(to: presenter) == [.relinquishToWriter]) }
    }

    @Test("C-23: a plain write of a directory asks nothing of the presenters of what it holds")
    func plainWriteOfDirectory() {
        var script = ArbiterScript()
        let below = script.present("/o/d/e/f")
        let claim = script.write("/o/d")
        #expect(script.isGranted(claim))
        #expect(script.messages(to: below).isEmpty)
    }

    @Test("C-28: relinquish, then save, then the accessor, then moves, then changes, then reacquire")
    func order() {
        var script = ArbiterScript()
        let presenter = script.present("/a/f")
        let claim = script.write("/a/f", .forMerging)
        #expect(script.messages(to: presenter) == [.relinquishToWriter, .saveChanges])
        #expect(script.isWaiting(claim))
        script.handleAll(presenter)
        #expect(script.isGranted(claim))
        script.send(.moved(claim, Move(from: "/a/f", to: "/a/g")))
        #expect(script.messages(to: presenter).count == 2, "presenters hear nothing while the accessor runs")
        script.end(claim)
        let after = script.messages(to: presenter).dropFirst(2)
        #expect(Array(after.prefix(2)) == [.didMove("/a/g"), .didChange])
        #expect(after.count == 3 && after.last?.isReacquire == true)
    }

    @Test("C-28: a presenter that was asked in vain reacquires all the same", arguments: ["cancel", "deadline", "refusal"])
    func reacquiresAfterFailure(how: String) {
        var script = ArbiterScript()
        let presenter = script.present("/a/f")
        let claim = script.read("/a/f")
        let asked = script.pending(of: presenter)
        switch how {
        case "cancel": script.send(.cancel(claim))
        case "deadline": script.send(.deadline(claim))
        default:
            script.send(.handled(asked[0].id, .done))
            script.send(.handled(asked[1].id, .refused("no")))
        }
        #expect(script.failures[claim] != nil)
        #expect(script.messages(to: presenter).last == .reacquire(asked[0].id))
        script.handleAll(presenter)
        #expect(!script.isGranted(claim), "late answers are ignored")
    }

    @Test("C-22, C-27: a claim that a presenter refuses fails once the others have answered too, or are late", arguments: [false, true])
    func refusalAmongOthers(isLate: Bool) {
        var script = ArbiterScript()
        let (own, below) = (script.present("/d"), script.present("/d/f"))
        let claim = script.write("/d", .forDeleting)
        let asked = script.pending(of: own)
        script.send(.handled(asked[0].id, .done))
        script.send(.handled(asked[1].id, .refused("no")))
        #expect(script.isWaiting(claim))
        #expect(script.messages(to: below) == [.relinquishToWriter, .accommodateDeletion])
        if isLate { script.send(.deadline(claim)) } else { script.handleAll(below) }
        #expect(script.failures[claim] == .refused(asked[1].id, own, "no"))
        for presenter in [own, below] { #expect(script.messages(to: presenter).last?.isReacquire == true) }
    }

    @Test("C-30, C-54: a preparation asks the presenters of the items and of all inside them to save, without relinquish, and excludes nobody")
    func preparation() {
        var script = ArbiterScript()
        let directory = script.present("/d")
        let below = script.present("/d/e/f")
        let writer = script.write("/d/w")
        let preparation = script.claim([ClaimItem("/d", .read([]))], isPreparation: true)
        for presenter in [directory, below] {
            #expect(script.messages(to: presenter) == [.saveChanges])
            #expect(script.isWaiting(preparation))
            script.handleAll(presenter)
        }
        #expect(script.isGranted(preparation))
        script.end(writer)
        let other = script.write("/d", .forMoving)
        script.handleAll(directory)
        script.handleAll(below)
        #expect(script.isGranted(other), "a preparation is in nobody's way")
        let nested = script.read("/d/e/f", .withoutChanges, within: [.claim(preparation)])
        #expect(script.isWaiting(nested), "accesses inside a preparation claim for themselves")
    }

    @Test("C-54: a preparation for deleting asks presenters to accommodate it")
    func preparationForDeleting() {
        var script = ArbiterScript()
        let below = script.present("/d/e/f")
        _ = script.claim([ClaimItem("/d", .write(.forDeleting))], isPreparation: true)
        #expect(script.messages(to: below) == [.accommodateDeletion])
    }

    @Test("C-33, C-44: versions are told to everybody, their author included; those of a subitem to the directories around it")
    func versions() {
        var script = ArbiterScript()
        let directory = script.present("/d")
        let author = script.present("/d/f")
        let cause = Cause(client: script.client, process: 11, purpose: .presenter(author))
        for event in [PresenterMessage.VersionEvent.gained, .lost, .resolved] {
            script.send(.versionChanged("/d/f", event, version: "v1", cause))
        }
        #expect(script.messages(to: author) == [.version(.gained, "v1"), .version(.lost, "v1"), .version(.resolved, "v1")])
        #expect(
            script.messages(to: directory) == [
                .subitemVersion(.gained, "v1", "/d/f"), .subitemVersion(.lost, "v1", "/d/f"), .subitemVersion(.resolved, "v1", "/d/f"),
            ])
    }

    @Test("C-43: changed ubiquity attributes are told to those who observe them, and only those")
    func attributes() {
        var script = ArbiterScript()
        let some = script.present("/d/f", observing: ["a", "b"])
        let none = script.present("/d/f", observing: ["z"])
        script.send(.attributesChanged("/d/f", ["a", "c"], Cause(client: script.client, process: 11, purpose: .named("p"))))
        #expect(script.messages(to: some) == [.didChangeUbiquityAttributes(["a"])])
        #expect(script.messages(to: none).isEmpty)
    }

    // MARK: After the fact

    @Test("C-34: after a write the item's presenters hear that it changed, those of directories around it that a subitem did, at any depth")
    func changes() {
        var script = ArbiterScript()
        let item = script.present("/o/d/e/f")
        let far = script.present("/o")
        let near = script.present("/o/d/e")
        let beside = script.present("/o/d/e/g")
        let claim = script.write("/o/d/e/f")
        script.handleAll(item)
        script.end(claim)
        #expect(script.messages(to: item).contains(.didChange))
        for presenter in [far, near] { #expect(script.messages(to: presenter) == [.subitemDidChange("/o/d/e/f")]) }
        #expect(script.messages(to: beside).isEmpty)
    }

    @Test("C-34: a read changes nothing")
    func readsAreNoChanges() {
        var script = ArbiterScript()
        let directory = script.present("/o")
        let claim = script.read("/o/f")
        script.end(claim)
        #expect(script.messages(to: directory).isEmpty)
    }

    @Test("C-37: an item that a write created appears to the presenters of the directories around it")
    func appearance() {
        var script = ArbiterScript()
        let directory = script.present("/o")
        let claim = script.write("/o/d/f")
        #expect(script.grants[claim]?.isObserved == true)
        script.end(claim, existedBefore: false, existsAfter: true)
        #expect(script.messages(to: directory) == [.subitemDidAppear("/o/d/f")])
    }

    @Test("C-65: a presenter that saved or accommodated hears of the change all the same")
    func changeAfterAccommodation() {
        var script = ArbiterScript()
        let presenter = script.present("/o/f")
        for options in [FileCoordinator.WritingOptions.forMerging, .forDeleting, .forReplacing] {
            let before = script.messages(to: presenter).count
            let claim = script.write("/o/f", options)
            script.handleAll(presenter)
            script.end(claim)
            #expect(script.messages(to: presenter).dropFirst(before).contains(.didChange))
        }
    }

    @Test("C-60, C-59: what a presenter has not answered counts as given when it goes")
    func presenterGoes() {
        var script = ArbiterScript()
        let presenter = script.present("/a/f")
        let claim = script.read("/a/f")
        #expect(script.isWaiting(claim))
        script.send(.removePresenter(presenter))
        #expect(script.isGranted(claim))
    }

    @Test("C-61: a claim waits for a presenter without limit, and a deadline names presenter, process and message")
    func deadline() throws {
        var script = ArbiterScript()
        _ = script.present("/a/f")
        let claim = script.read("/a/f", .withoutChanges)
        script.send(.deadline(claim))
        guard case .deadline(let steps) = try #require(script.failures[claim]) else {
            Issue.record("not a deadline")
            return
        }
        #expect(steps.map(\.kind) == [.presenter] && steps.map(\.process) == [11] && steps.map(\.paths) == [["/a/f"]])
        #expect(steps.map(\.activity) == ["relinquishPresentedItemToReader"])
    }

    @Test("The listing shows holders, waiters with what they wait for, presenters and unanswered messages with their age")
    func listing() {
        var script = ArbiterScript()
        let presenter = script.present("/a/f")
        let held = script.write("/b/f", as: "sync")
        let waiting = script.read("/b/f")
        let asking = script.read("/a/f", .withoutChanges)
        var arbiter = script.arbiter
        arbiter.time = 3_000_000_000
        let snapshot = arbiter.snapshot()
        #expect(snapshot.claims.map(\.id) == [held, waiting, asking])
        #expect(snapshot.claims.map(\.state) == [.held, .queued, .asking])
        #expect(snapshot.claims[0].purpose == "sync" && snapshot.claims[0].processName == "one")
        #expect(snapshot.claims[1].waitsFor.map(\.kind) == [.heldClaim])
        #expect(snapshot.claims[2].age == .seconds(3))
        #expect(snapshot.presenters.map(\.id) == [presenter])
        #expect(snapshot.presenters[0].unanswered.map(\.name) == ["relinquishPresentedItemToReader"])
        #expect(snapshot.presenters[0].unanswered.map(\.age) == [.seconds(3)])
    }
}
