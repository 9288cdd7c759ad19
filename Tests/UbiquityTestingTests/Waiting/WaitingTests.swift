import Testing
import Waiting

@Suite("Waits have limits")
struct WaitingTests {
    @Test("While four threads want each core, a second counts for a quarter of one")
    func load() {
        var time = QuietTime()
        for _ in 0..<8 { time.count(.milliseconds(250), load: 4) }
        #expect(time.passed == .milliseconds(500))
        #expect(time.wall == .seconds(2))
        #expect(time.isOver(.milliseconds(500)))
        #expect(!time.isOver(.milliseconds(501)))
    }

    @Test("An idle machine's second is no longer than a second, and one in which the process got no core counts for a step or two")
    func idle() {
        var time = QuietTime()
        time.count(.milliseconds(250), load: 0.1)
        #expect(time.passed == .milliseconds(250))
        time.count(.seconds(30), load: 1)
        #expect(time.passed == .milliseconds(750))
    }

    @Test("However busy the machine is, a wait ends at ten times its limit")
    func bound() {
        var time = QuietTime()
        while !time.isOver(.seconds(10)) { time.count(.seconds(1), load: 1000) }
        #expect(time.wall == .seconds(100))
    }

    @Test("A wait for what never comes ends, says what it waited for and what it saw, and lets go of a body that does not heed its cancellation")
    func overdue() async throws {
        let released = AsyncStream.makeStream(of: Void.self)
        defer { released.continuation.finish() }
        let error = await #expect(throws: Overdue.self) {
            try await within("the third act", limit: .milliseconds(20), seen: { "two acts" }) {
                // Detached: the stream does not learn that the wait is over.
                await Task.detached { for await _ in released.stream { break } }.value
            }
        }
        let overdue = try #require(error)
        #expect(overdue.description.contains("for the third act. It has seen two acts."))
        #expect(overdue.description.contains("WaitingTests.swift:"))
    }

    @Test("A reader of a stream that falls silent says what it has read, at once when it is asked again")
    func sequence() async throws {
        let (stream, source) = AsyncStream.makeStream(of: Int.self)
        for number in 1...6 { source.yield(number) }
        // The limit is that of the first six too, whose reader may get no processor for a while.
        let reader = stream.limited("the seventh", limit: .seconds(3)).makeAsyncIterator()
        for number in 1...6 { #expect(try await reader.next() == number) }
        let error = await #expect(throws: Overdue.self) { try await reader.next() }
        #expect(try #require(error).description.contains("for the seventh. It has seen 6 elements, the last of them 2 | 3 | 4 | 5 | 6."))
        await #expect(throws: Overdue.self) { try await reader.next() }
        source.finish()
    }

    @Test("A condition that never holds ends its wait with what was seen")
    func condition() async throws {
        var asked = 0
        let error = await #expect(throws: Overdue.self) {
            try await until("it is five", limit: .milliseconds(20), seen: { "\(asked)" }) {
                asked += 1
                return false
            }
        }
        #expect(try #require(error).what == "that it is five")
        #expect(asked >= 1)
        try await until("it is met at once", limit: .zero) { true }
    }

    @Test("A wait ends with what its body throws, and with its task's cancellation")
    func failures() async throws {
        await #expect(throws: CancellationError.self) { try await within("nothing") { throw CancellationError() } }
        let (stream, source) = AsyncStream.makeStream(of: Void.self)
        defer { source.finish() }
        let task = Task { try await within("a stream's end") { for await _ in stream {} } }
        task.cancel()
        try await task.value
    }
}
