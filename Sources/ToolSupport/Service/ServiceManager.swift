internal import Foundation
internal import Glibc
internal import Synchronization

/// The service manager that has started this program, such as the user's systemd.
///
/// It gets notices of the program's readiness, of what it does, of its life, and of its end.
///
/// Every method does nothing where no manager asks for notices.
package final class ServiceManager: Sendable {
    private let target: DatagramTarget?
    /// How often ``ServiceNotice/alive`` is due: twice in the manager's interval, as sd_watchdog_enabled(3) advises.
    ///
    /// It is nil if the watchdog is off.
    package let pulse: Duration?
    private let state = Mutex(State())

    private struct State {
        var life = ServiceLife()
        /// Whether the last notice was lost: the loss of the next one is no news.
        var hasLost = false
    }

    /// How long a notice waits for a manager that is busy.
    private static let patience = Duration.seconds(1)

    package init(_ environment: ServiceEnvironment) {
        target = environment.target
        pulse = environment.watchdog.map { $0 / 2 }
    }

    /// Returns the manager of this process, and removes its variables from the environment.
    ///
    /// Call it once, before the program starts threads or other programs.
    package static func ofThisProcess() -> ServiceManager {
        let environment = ServiceEnvironment(ProcessInfo.processInfo.environment, process: getpid())
        for name in ServiceEnvironment.names { unsetenv(name) }
        for fault in environment.faults { printError(fault) }
        return ServiceManager(environment)
    }

    /// Whether a manager asks for notices.
    package var isThere: Bool { target != nil }

    /// Sends the notices that tell something new, in one datagram.
    ///
    /// A notice that cannot be sent is lost until it is told again, and a line on standard error says so of the first one.
    package func tell(_ notices: ServiceNotice...) {
        guard let target else { return }
        // Two threads that tell at once must not change the order.
        state.withLock { state in
            var life = state.life
            let admitted = life.admit(notices)
            guard !admitted.isEmpty else { return }
            // A manager that has let one notice wait in vain does not hold the service up again.
            let error = target.send(ServiceNotice.message(admitted), patience: state.hasLost ? .zero : Self.patience)
            if let error, !state.hasLost { printError("The service manager gets no notice at \(target.address.printable) (\(error)).") }
            // A lost notice was not told, and may be told again.
            if error == nil { state.life = life }
            state.hasLost = error != nil
        }
    }

    /// Tells that the service is alive, as often as the manager asks, until the task is cancelled.
    ///
    /// If a proof does not end, the service hangs: no other proof begins, and the manager hears nothing.
    ///
    /// - Parameter proof: asks the service for something that it can only give while it works, and returns whether it
    ///   did.
    package func tellLife(_ proof: @escaping @Sendable () async -> Bool) async {
        guard let pulse, isThere else { return }
        while !Task.isCancelled {
            let (answers, end) = AsyncStream.makeStream(of: Bool.self)
            // It is left behind at the cancellation: a blocked call cannot be cancelled.
            Task {
                end.yield(await proof())
                end.finish()
            }
            for await isProved in answers where isProved { tell(.alive) }
            guard (try? await Task.sleep(for: pulse)) != nil else { return }
        }
    }
}
