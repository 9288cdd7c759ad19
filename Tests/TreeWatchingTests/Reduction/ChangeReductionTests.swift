import SystemPackage
import Testing

@testable import TreeWatching

/// Changes combined and held back; instants are milliseconds here.
@Suite("Combining changes")
struct ChangeReductionTests {
    private final class Fixture {
        private var reduction: ChangeReduction
        private var tick: UInt64 = 0

        init(collapses: Bool = false, quiet: Int? = nil, maximum: Int? = nil) {
            var options = TreeWatcher.Options()
            options.collapses = collapses
            if let quiet { options.settling = .init(quiet: .milliseconds(quiet), maximum: maximum.map { .milliseconds($0) }) }
            reduction = ChangeReduction(root: Array("/t".utf8), options: options)!
        }

        func take(_ code: TreeChangeRecord.Code, _ path: String, from source: String? = nil, isDirectory: Bool = false, at instant: Int) {
            var buffer = TreeChangeBuffer(root: Array("/t".utf8))
            tick += 1
            var record = TreeChangeRecord(tick: tick, time: 0, code: code)
            record.isDirectory = isDirectory
            buffer.append(record, path: Array(path.utf8), source: source.map { Array($0.utf8) })
            reduction.take(buffer.take(), at: Int64(instant) * 1_000_000, lookAt: { _ in true })
        }

        /// What is reported by an instant.
        func reported(at instant: Int) -> [String] {
            reduction.expire(at: Int64(instant) * 1_000_000)
            return reduction.taken()?.map { "\($0.kind) \($0.path.string.dropFirst(3))\($0.isDirectory ? "/" : "")" } ?? []
        }

        var deadline: Int? { reduction.deadline.map { Int($0 / 1_000_000) } }
        var lastTick: UInt64 { reduction.lastTick }
    }

    @Test("W-15: a busy neighbour never delays a quiet file, and is reported itself after the maximum")
    func busyNeighbour() {
        let fixture = Fixture(quiet: 100, maximum: 1_000)
        fixture.take(.modified, "quiet", at: 0)
        var reports: [Int: [String]] = [:]
        for instant in stride(from: 0, through: 1_000, by: 50) {
            if instant < 1_000 { fixture.take(.modified, "busy", at: instant) }
            let lines = fixture.reported(at: instant)
            if !lines.isEmpty { reports[instant] = lines }
        }
        #expect(reports == [100: ["modified quiet"], 1_000: ["modified busy"]])
        #expect(fixture.deadline == nil)
    }

    @Test("W-15: a deadline is told for what is held back, and moves with each change of its path")
    func deadlines() {
        let fixture = Fixture(quiet: 100)
        #expect(fixture.deadline == nil)
        fixture.take(.created, "f", at: 10)
        #expect(fixture.deadline == 110)
        fixture.take(.modified, "f", at: 60)
        #expect(fixture.reported(at: 110) == [])
        #expect(fixture.deadline == 160)
        #expect(fixture.reported(at: 160) == ["created f"])
    }

    @Test("W-12: create, write and close are one creation, reported at the close, or after a second at most")
    func creation() {
        let fixture = Fixture(collapses: true)
        fixture.take(.created, "f", at: 0)
        fixture.take(.created, "open", at: 0)
        fixture.take(.modified, "f", at: 1)
        #expect(fixture.reported(at: 2) == [])
        fixture.take(.closed, "f", at: 3)
        #expect(fixture.reported(at: 3) == ["created f"])
        #expect(fixture.reported(at: 999) == [])
        #expect(fixture.reported(at: 1_000) == ["created open"])
    }

    @Test("W-12: what never was at rest under its first name is created under its last")
    func renamedBeforeClose() {
        let fixture = Fixture(collapses: true)
        fixture.take(.created, "f.tmp", at: 0)
        fixture.take(.moved, "f", from: "f.tmp", at: 1)
        fixture.take(.closed, "f", at: 2)
        #expect(fixture.reported(at: 2) == ["created f"])
    }

    @Test("W-16: a directory's removal stands for those below it, and is not reported before the last of them is quiet")
    func removal() {
        let fixture = Fixture(collapses: true)
        for number in 0..<10 { fixture.take(.removed, "d/e/f\(number)", at: number * 40) }
        #expect(fixture.reported(at: 400) == [])
        fixture.take(.removed, "d/e", isDirectory: true, at: 400)
        fixture.take(.removed, "d", isDirectory: true, at: 401)
        #expect(fixture.reported(at: 430) == [])
        #expect(fixture.reported(at: 460) == ["removed d/"])
    }

    @Test("Ticks grow in the order in which changes are handed over, not in which they came")
    func ticks() {
        let fixture = Fixture(quiet: 100)
        fixture.take(.modified, "late", at: 0)
        fixture.take(.created, "d", isDirectory: true, at: 1)
        #expect(fixture.reported(at: 1) == ["created d/"])
        #expect(fixture.lastTick == 2)
        #expect(fixture.reported(at: 100) == ["modified late"])
        #expect(fixture.lastTick == 3)
    }
}
