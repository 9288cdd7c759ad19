import Glibc
import Testing
import ToolSupport
import Waiting

/// How a program handles signals.
struct SignalHandlerTests {
    @Test("a signal that comes as soon as the handlers are made is handled, also the first of its number in the process")
    func early() async throws {
        // Only a signal that the process has never handled could be lost, so each number can be tried once.
        for number in Int32(40)..<60 {
            // A lost one must not end the process.
            signal(number, SIG_IGN)
            let (arrivals, arrival) = AsyncStream.makeStream(of: Int32.self)
            let handlers = SignalHandlers([number]) { arrival.yield($0) }
            kill(getpid(), number)
            let first = try await within("the signal \(number)") { await arrivals.first { _ in true } }
            #expect(first == number)
            handlers.cancel()
        }
    }
}
