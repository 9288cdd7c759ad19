import SystemPackage
import Testing
import TreeWatching

@testable import UbiquityContainers

@Suite("Wipes, told apart")
struct WipeDetectorTests {
    private let root: FilePath = "/c"
    private let whole = ContainerSighting(items: 200, epochs: ["Notes": 1])

    private func settled(
        _ now: ContainerSighting, from before: ContainerSighting? = nil, limit: MassDeletionLimit? = MassDeletionLimit(),
        after events: (inout WipeDetector) -> Void = { _ in }
    ) -> WipeDetector.Verdict {
        var detector = WipeDetector(before ?? whole, limit: limit)
        events(&detector)
        return detector.settle(now)
    }

    private func vanish(_ count: Int, _ detector: inout WipeDetector) -> [Bool] {
        (0..<count).map { detector.vanished(root.appending("Documents").appending("\($0)")) }
    }

    @Test("What is as it was is not told")
    func nothing() {
        #expect(settled(whole) == .init())
        var more = whole
        more.items += 5
        #expect(settled(more) == .init())
    }

    @Test(
        "A container that is gone is told by how it went",
        arguments: [
            (TreeChange.RootLoss.deleted, ContainerEvent.Kind.containerRemoved), (.moved, .containerMoved), (.unmounted, .unmounted),
        ])
    func gone(_ loss: TreeChange.RootLoss, _ kind: ContainerEvent.Kind) {
        for reason in [ContainerAttachment.Reason.containerGone, .rootGone] {
            let now = ContainerSighting(attachment: .detached(reason))
            #expect(settled(now) { $0.lost(loss) } == .init(kind: kind))
        }
    }

    @Test("The watcher is asked about what a look misses, and about each loss, though an earlier one is noted")
    func asks() {
        var detector = WipeDetector(whole, limit: nil)
        #expect(!detector.misses(whole))
        #expect(detector.misses(ContainerSighting(items: 199, epochs: ["Notes": 1])))
        // A container that goes during a look seems to have lost its mark only.
        let unmarked = ContainerSighting(attachment: .detached(.markGone), items: 200, epochs: ["Notes": 1])
        #expect(detector.misses(unmarked))
        detector.lost(.moved)
        #expect(detector.wasThere)
        detector.lost(.deleted)
        let gone = ContainerSighting(attachment: .detached(.containerGone))
        #expect(!detector.misses(gone))
        #expect(detector.settle(gone).kind == .containerRemoved)
        #expect(!detector.wasThere)
        // What is settled is not missed again.
        #expect(!WipeDetector(unmarked, limit: nil).misses(unmarked))
    }

    @Test("A wipe on its way trips the guard at once, and is one event of what it was in the end")
    func wipe() {
        let verdict = settled(ContainerSighting(attachment: .detached(.containerGone))) { detector in
            let trips = vanish(200, &detector)
            #expect(trips.firstIndex(of: true) == 99)
            detector.lost(.deleted)
        }
        #expect(verdict == .init(kind: .containerRemoved, isGuarded: false, isLifted: true))
        // What the guard said before of something else stands.
        #expect(settled(ContainerSighting(attachment: .detached(.containerGone))) { $0.lost(.deleted) }.isLifted == false)
    }

    @Test("The guard acts where many items and a great part went, and not below that")
    func limits() {
        var now = whole
        now.items = 100
        #expect(settled(now) { _ = vanish(100, &$0) } == .init(kind: .massDeletion(removed: 100, of: 200), isGuarded: true))
        now.items = 101
        #expect(settled(now) { _ = vanish(99, &$0) } == .init())
        let many = ContainerSighting(items: 1000)
        #expect(settled(ContainerSighting(items: 600), from: many) { _ = vanish(400, &$0) } == .init())
        #expect(settled(ContainerSighting(items: 100), limit: nil) { _ = vanish(100, &$0) }.isGuarded == false)
    }

    @Test("What was not seen to go, for events were lost or a directory was moved away, counts by the difference")
    func unseen() {
        #expect(settled(ContainerSighting(items: 50, epochs: ["Notes": 1])) == .init(kind: .massDeletion(removed: 150, of: 200), isGuarded: true))
    }

    @Test("Deletions under coordination are meant: the guard lets them pass")
    func announced() {
        var now = whole
        now.items = 50
        let verdict = settled(now) { detector in
            detector.announce(root.appending("Documents"))
            let trips = vanish(150, &detector)
            #expect(!trips.contains(true))
        }
        #expect(verdict == .init())
    }

    @Test("What is deleted and there again, as by a program that saves by replacing, is not deleted")
    func replaced() {
        let verdict = settled(whole) { detector in
            for index in 0..<150 {
                let path = root.appending("Documents").appending("\(index)")
                let isTripped = detector.vanished(path)
                #expect(!isTripped)
                detector.appeared(path)
            }
        }
        #expect(verdict == .init())
    }

    @Test("Deletions that were announced count as meant though they begin late, or were heard of too late")
    func late() {
        var detector = WipeDetector(whole, limit: MassDeletionLimit())
        detector.announce(root.appending("Documents"))
        #expect(detector.settle(whole) == .init())
        var trips = vanish(150, &detector)
        #expect(!trips.contains(true))
        var now = whole
        now.items = 50
        #expect(detector.settle(now) == .init())

        detector = WipeDetector(whole, limit: MassDeletionLimit())
        trips = vanish(150, &detector)
        #expect(trips.contains(true))
        detector.announce(root.appending("Documents"))
        #expect(detector.settle(now) == .init(kind: nil, isGuarded: false, isLifted: true))
        // Not for ever.
        detector = WipeDetector(whole, limit: MassDeletionLimit())
        detector.announce(root.appending("Documents"), at: .now)
        #expect(detector.settle(whole, at: .now + .seconds(601)) == .init())
        trips = vanish(150, &detector)
        #expect(trips.contains(true))
    }

    @Test("What is renamed inside is not gone, and what is back when it is looked at trips no guard")
    func renamed() {
        let renames = settled(whole) { detector in
            for index in 0..<150 {
                detector.moved(root.appending("Documents").appending("\(index)"), to: root.appending("New").appending("\(index)"))
            }
        }
        #expect(renames == .init())
        let back = settled(whole) { detector in
            let trips = vanish(150, &detector)
            #expect(trips.contains(true))
            for index in 0..<150 { detector.appeared(root.appending("Documents").appending("\(index)")) }
        }
        #expect(back == .init(kind: nil, isGuarded: false, isLifted: true))
    }

    @Test("A container that comes back with little of what it held is not simply back; one that went while its account was away is told of")
    func returns() {
        var detector = WipeDetector(whole, limit: MassDeletionLimit())
        detector.lost(.unmounted)
        #expect(detector.settle(ContainerSighting(attachment: .detached(.containerGone))).kind == .unmounted)
        #expect(
            detector.settle(ContainerSighting(items: 10, epochs: ["Notes": 1])) == .init(kind: .massDeletion(removed: 190, of: 200), isGuarded: true))
        var out = whole
        out.isSignedIn = false
        detector = WipeDetector(whole, limit: MassDeletionLimit())
        #expect(detector.settle(out).kind == .signedOut)
        #expect(detector.settle(ContainerSighting(attachment: .detached(.markGone))).kind == .contentsRemoved)
    }

    @Test("What comes and goes again, such as drafts, is nobody's loss")
    func drafts() {
        let verdict = settled(whole) { detector in
            for index in 0..<1000 {
                let path = root.appending("Documents").appending("draft\(index)")
                detector.appeared(path)
                let isTripped = detector.vanished(path)
                #expect(!isTripped)
            }
        }
        #expect(verdict == .init())
    }

    @Test("Contents that went one by one, a mark, a store's content and a removal are told apart")
    func parts() {
        let empty = ContainerSighting(items: 0, epochs: ["Notes": 1])
        #expect(settled(empty, from: ContainerSighting(items: 3, epochs: ["Notes": 1])).kind == .contentsRemoved)
        let bare = ContainerSighting(attachment: .detached(.markGone))
        #expect(settled(bare).kind == .contentsRemoved)
        var unmarked = whole
        unmarked.attachment = .detached(.markGone)
        #expect(settled(unmarked).kind == .markGone)
        var without = whole
        without.epochs = [:]
        #expect(settled(without).kind == .storeContentGone(["Notes"]))
        var begun = whole
        begun.epochs = ["Notes": 2]
        #expect(settled(begun).kind == .storeContentRemoved(store: "Notes", epoch: 2))
        var unreadable = whole
        unreadable.attachment = .detached(.unreadable(.permissionDenied))
        #expect(settled(unreadable).kind == .unreadable(.permissionDenied))
    }

    @Test("A store that is new is nothing that befell the container")
    func newStore() {
        var now = whole
        now.epochs["Letters"] = 3
        #expect(settled(now) == .init())
    }

    @Test("What is gone is told once, and so is that it is back, and what it lost meanwhile counts")
    func back() {
        var detector = WipeDetector(whole, limit: MassDeletionLimit())
        detector.lost(.moved)
        let gone = ContainerSighting(attachment: .detached(.containerGone))
        #expect(detector.settle(gone).kind == .containerMoved)
        #expect(detector.settle(gone).kind == nil)
        #expect(detector.settle(whole).kind == .restored)
        #expect(detector.settle(whole).kind == nil)
    }

    @Test("U-79: a sign-out is one event; while signed out nothing else is told, and the account's return is")
    func signOut() {
        var out = ContainerSighting(items: 0)
        out.isSignedIn = false
        var detector = WipeDetector(whole, limit: MassDeletionLimit())
        let trips = vanish(200, &detector)
        #expect(trips.contains(true))
        #expect(detector.settle(out) == .init(kind: .signedOut))
        #expect(detector.settle(out).kind == nil)
        #expect(detector.settle(whole).kind == .restored)
    }
}
