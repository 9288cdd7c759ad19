#if DEBUG
    internal import Foundation
    internal import Glibc
    internal import Synchronization
#endif

/// A named point in code that writes, at which a test can kill the process: `UBIQUITY_KILL_AT=<name>` or `<name>:<nth
/// time>`.
///
/// `UBIQUITY_STOP_AT` stops the process instead, until it gets SIGCONT. Points work in debug builds only; in release builds
/// they cost nothing.
package enum KillPoint {
    /// Passes a point.
    ///
    /// - Parameter name: the name, which is evaluated in debug builds only.
    package static func pass(_ name: @autoclosure () -> String) {
        #if DEBUG
            guard let target, target.name == name() else { return }
            let passes = passes.add()
            // The signal goes to this thread, so that it does not continue while another thread takes the signal.
            if passes == target.count { pthread_kill(pthread_self(), target.signal) }
        #endif
    }

    #if DEBUG
        private static let target: (name: String, count: Int, signal: Int32)? = {
            let environment = ProcessInfo.processInfo.environment
            guard let text = environment["UBIQUITY_KILL_AT"] ?? environment["UBIQUITY_STOP_AT"] else { return nil }
            let parts = text.split(separator: ":")
            return (String(parts[0]), parts.count > 1 ? Int(parts[1]) ?? 1 : 1, environment["UBIQUITY_KILL_AT"] == nil ? SIGSTOP : SIGKILL)
        }()

        private static let passes = PassCount()

        private final class PassCount: Sendable {
            private let count = Mutex(0)
            func add() -> Int {
                count.withLock {
                    $0 += 1
                    return $0
                }
            }
        }
    #endif
}
