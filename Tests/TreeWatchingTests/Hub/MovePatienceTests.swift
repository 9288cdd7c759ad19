import Testing

@testable import TreeWatching

/// How long half a move waits, by a clock of the test's.
struct MovePatienceTests {
    private let millisecond: Int64 = 1_000_000

    @Test("W-03: half a move is settled once nothing has come for three milliseconds, and after a hundred however much comes")
    func limits() {
        var patience = MovePatience()
        #expect(patience.until == nil)
        patience.wait(isSame: false, at: 0)
        #expect(patience.until == 3 * millisecond)
        // Something is read every two milliseconds.
        for now in stride(from: 2, through: 98, by: 2).map({ Int64($0) * millisecond }) {
            patience.wait(isSame: true, at: now)
            #expect(patience.until == min(now + 3 * millisecond, 100 * millisecond))
        }
        // The next half has its own time.
        patience.wait(isSame: false, at: 99 * millisecond)
        #expect(patience.until == 102 * millisecond)
        patience.wait(isSame: true, at: 198 * millisecond)
        #expect(patience.until == 199 * millisecond)
        patience.end()
        #expect(patience.until == nil)
        patience.wait(isSame: true, at: 300 * millisecond)
        #expect(patience.until == 303 * millisecond)
    }
}
