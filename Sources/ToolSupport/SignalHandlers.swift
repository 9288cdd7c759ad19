package import Dispatch
internal import Glibc

/// Handles signals as long as it lives.
///
/// After the initializer no signal is lost; until then each has its usual action.
///
/// A resumed signal source of Dispatch takes its signal over later, on another thread, and a signal that is ignored
/// until then is gone. So no signal is ignored here, and the initializer waits for the takeover.
package final class SignalHandlers {
    /// The signals that ask a program to end.
    package static let ends = [SIGINT, SIGTERM, SIGHUP]

    private let sources: [any DispatchSourceSignal]

    /// - Parameters:
    ///   - numbers: the signals.
    ///   - queue: where the handler runs: a serial queue, and not the one that the caller runs on.
    ///   - handle: called with the number of each signal that has come. Equal signals that come at once are one.
    package init(
        _ numbers: [Int32] = ends, on queue: DispatchQueue = DispatchQueue(label: "signals"), _ handle: @escaping @Sendable (Int32) -> Void
    ) {
        let registrations = DispatchGroup()
        sources = numbers.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { handle(number) }
            registrations.enter()
            source.setRegistrationHandler { registrations.leave() }
            source.resume()
            return source
        }
        registrations.wait()
    }

    deinit { cancel() }

    /// Handles no more signals.
    ///
    /// One that comes then has no effect.
    package func cancel() {
        for source in sources { source.cancel() }
    }
}
