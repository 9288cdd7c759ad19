import Foundation
import SystemPackage
import Testing
import UbiquityTesting

@testable import UbiquityContainers

/// What a query tells, given what it finds.
struct MetadataQueryStateTests {
    private typealias State = MetadataQueryState

    /// A query for everything but names with an x, gathered.
    private func live(_ items: [MetadataItem] = []) -> State {
        var state = State(predicate: { _ in true }, order: { _, _ in false })
        _ = state.start(predicate: { !$0.name.contains("x") }, order: { $0.path.string < $1.path.string })
        _ = state.gathered(items.map { .item($0) })
        _ = state.finish()
        return state
    }

    private func item(_ path: String, size: Int64 = 0, isDirectory: Bool = false) -> MetadataItem {
        MetadataItem(path: FilePath(path), size: size, isDirectory: isDirectory)
    }

    /// Kind, and names with `+`, `*` or `-`, then the results.
    private func brief(_ actions: [State.Action]) -> [String] {
        actions.map { action in
            guard case .tell(let update) = action else { return "wait" }
            let parts =
                update.added.map { "+\($0.name)" } + update.changed.map { "*\($0.name)" } + update.removed.map { "-\($0.name)" }
                + ["=" + update.results.map(\.name).joined(separator: ",")]
            return "\(update.kind) " + parts.joined(separator: " ")
        }
    }

    @Test("U-77: a query begins, progresses and finishes in this order, and tells only what matches")
    func gathering() {
        var state = State(predicate: { _ in false }, order: { _, _ in false })
        #expect(state.present == nil)
        #expect(brief(state.start(predicate: { !$0.name.contains("x") }, order: { $0.size > $1.size })) == ["gatheringBegan ="])
        #expect(brief(state.gathered([.item(item("/c/a", size: 1)), .item(item("/c/x"))])) == ["gatheringProgressed +a =a"])
        #expect(brief(state.gathered([.item(item("/c/x2"))])) == [])
        #expect(brief(state.gathered([.item(item("/c/b", size: 2)), .item(item("/c/c", size: 1))])) == ["gatheringProgressed +b +c =b,a,c"])
        #expect(state.phase == .gathering)
        #expect(brief(state.finish()) == ["gatheringFinished =b,a,c"])
        #expect(state.phase == .live)
        #expect(brief(state.finish()) == [])
    }

    @Test("U-77: what changes within the batching interval is one update, and what is in the end as before is none")
    func batching() {
        var state = live([item("/c/a"), item("/c/b")])
        #expect(brief(state.found([.item(item("/c/d"))])) == ["wait"])
        #expect(brief(state.found([.item(item("/c/a", size: 5)), .absent("/c/b")])) == [])
        #expect(brief(state.intervalPassed()) == ["updated +d *a -b =a,d"])
        #expect(brief(state.intervalPassed()) == [])
        #expect(brief(state.found([.item(item("/c/e"))])) == ["wait"])
        #expect(brief(state.found([.absent("/c/e")])) == [])
        #expect(brief(state.intervalPassed()) == [])
        // One that does not match is of no interest, until it does.
        #expect(brief(state.found([.item(item("/c/x"))])) == ["wait"])
        #expect(brief(state.intervalPassed()) == [])
    }

    @Test("U-78: what is urgent is told at once, with all that waits")
    func urgent() {
        var state = live([item("/c/a")])
        #expect(brief(state.found([.item(item("/c/b"))])) == ["wait"])
        #expect(brief(state.found([.absent("/c/a")], isUrgent: true)) == ["updated +b -a =b"])
        #expect(brief(state.intervalPassed()) == [])
    }

    @Test("U-77: results are frozen while updates are disabled, and told when they are enabled as often")
    func frozen() {
        var state = live([item("/c/a")])
        state.disableUpdates()
        state.disableUpdates()
        #expect(brief(state.found([.item(item("/c/b"))])) == [])
        #expect(brief(state.found([.item(item("/c/c"))], isUrgent: true)) == [])
        #expect(brief(state.enableUpdates()) == [])
        #expect(state.results.map(\.name) == ["a"])
        #expect(brief(state.enableUpdates()) == ["updated +b +c =a,b,c"])
    }

    @Test("U-77: a gathering that finishes while updates are disabled is told when they are enabled")
    func frozenGathering() {
        var state = State(predicate: { _ in true }, order: { _, _ in false })
        _ = state.start(predicate: { _ in true }, order: { $0.path.string < $1.path.string })
        state.disableUpdates()
        #expect(brief(state.gathered([.item(item("/c/a"))])) == [])
        #expect(brief(state.finish()) == [])
        #expect(brief(state.enableUpdates()) == ["gatheringFinished +a =a"])
    }

    @Test("U-79: what is emptied is gone at once, though updates are disabled, and nothing else shows by that")
    func emptied() {
        var state = live([item("/c/a"), item("/d/b")])
        state.disableUpdates()
        _ = state.found([.item(item("/d/e")), .item(item("/c/f"))])
        #expect(brief(state.empty("/c")) == ["updated -a =b"])
        #expect(brief(state.enableUpdates()) == ["updated +e =b,e"])
        #expect(brief(state.empty("/c")) == [])
    }

    @Test("U-77: another predicate or order begins anew, and what comes of the old is not told")
    func restart() {
        var state = live([item("/c/a")])
        #expect(brief(state.found([.item(item("/c/b"))])) == ["wait"])
        #expect(brief(state.start(predicate: { _ in true }, order: { $0.name > $1.name })) == ["gatheringBegan -a ="])
        #expect(brief(state.intervalPassed()) == [])
        #expect(brief(state.gathered([.item(item("/c/x")), .item(item("/c/a"))])) == ["gatheringProgressed +x +a =x,a"])
    }

    @Test("what lies below a directory goes with it, also when something else takes its place")
    func directories() {
        var state = live([item("/c/d", isDirectory: true), item("/c/d/a"), item("/c/d/e/b"), item("/c/de")])
        _ = state.found([.item(item("/c/d"))])
        #expect(brief(state.intervalPassed()) == ["updated *d -a -b =d,de"])
        _ = state.found([.item(item("/c/d", isDirectory: true)), .item(item("/c/d/a"))])
        _ = state.intervalPassed()
        _ = state.found([.absent("/c/d")])
        #expect(brief(state.intervalPassed()) == ["updated -d -a =de"])
        _ = state.found([.nothingBelow("/c")])
        #expect(brief(state.intervalPassed()) == ["updated -de ="])
    }

    @Test("a status comes later than its item, stays when the file is looked at again, and is a change")
    func statuses() {
        var state = live([item("/c/a")])
        #expect(brief(state.stand(["/c/a": ItemState(.current), "/c/none": ItemState(.current)])) == ["wait"])
        #expect(brief(state.intervalPassed()) == ["updated *a =a"])
        #expect(brief(state.stand(["/c/a": ItemState(.current)])) == [])
        #expect(brief(state.found([.item(item("/c/a"))])) == [])
        #expect(state.results.map(\.status) == [.current])
    }

    @Test("U-77: a reader that comes late gets where things stand, and a slow one the net of several updates")
    func late() async throws {
        var state = live([item("/c/a"), item("/c/b")])
        let present = try #require(state.present)
        #expect(present.kind == .gatheringFinished && present.added.map(\.name) == ["a", "b"] && present.results.map(\.name) == ["a", "b"])
        let reader = QueryReader()
        for findings in [[.item(item("/c/c"))], [.absent("/c/c"), .item(item("/c/a", size: 1))], [.absent("/c/b"), .item(item("/c/d"))]]
            as [[State.Finding]]
        {
            for case .tell(let update) in state.found(findings, isUrgent: true) { reader.take(update) }
        }
        let update = try #require(await reader.next())
        #expect(brief([.tell(update)]) == ["updated +d *a -b =a,d"])
        // What came before a new beginning is of no interest.
        for case .tell(let update) in state.found([.item(item("/c/e"))], isUrgent: true) { reader.take(update) }
        for case .tell(let update) in state.start(predicate: { _ in true }, order: { _, _ in false }) { reader.take(update) }
        #expect(await reader.next()?.kind == .gatheringBegan)
    }

    @Test("the known items below a directory are found whatever has come and gone", arguments: 1...5)
    func knownBelow(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var state = live()
        // Each with whether it is a directory.
        var expected: [FilePath: Bool] = [:]
        let places = ["/c", "/c/a", "/c/a/b", "/c/a/b/c", "/c/d", "/c/ab"].map { FilePath($0) }
        let paths = places.dropFirst() + places.flatMap { place in ["1", "2"].map { place.appending($0) } }
        for _ in 0..<200 {
            let path = paths.randomElement(using: &random)!
            let isDirectory = Bool.random(using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                _ = state.found([.nothingBelow(path)])
                expected = expected.filter { !$0.key.starts(with: path) }
            case 1:
                _ = state.found([.absent(path)])
                if expected[path] == true { expected = expected.filter { !$0.key.starts(with: path) } }
                expected[path] = nil
            default:
                _ = state.found([.item(item(path.string, isDirectory: isDirectory))])
                if expected[path] == true, !isDirectory { expected = expected.filter { !$0.key.starts(with: path) } }
                expected[path] = isDirectory
            }
            let wrong = (places + paths).filter { place in
                Set(state.known(below: place)) != Set(expected.keys.filter { $0.starts(with: place) })
            }
            #expect(wrong.isEmpty, "seed \(seed)")
        }
    }
}
