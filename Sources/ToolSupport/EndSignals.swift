internal import Dispatch
internal import Glibc

/// The signals that ask a program to end: SIGINT, SIGTERM and SIGHUP, as long as this value lives.
package final class EndSignals {
    private let sources: [any DispatchSourceSignal]

    /// - Parameter handle: called for each signal.
    package init(_ handle: @escaping @Sendable () -> Void) {
        sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { handle() }
            source.resume()
            return source
        }
    }

    /// Returns at the first of them.
    package static func first() async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let signals = EndSignals { end.yield() }
        for await _ in ends { break }
        withExtendedLifetime(signals) {}
    }
}
