/// What a service manager asks of a service, in its environment; see sd_notify(3) and sd_watchdog_enabled(3).
package struct ServiceEnvironment: Sendable, Hashable {
    /// Where notices go; nil if no manager wants any.
    package var target: DatagramTarget?
    /// The time after which the manager takes a silent service for dead; nil if its watchdog is off.
    package var watchdog: Duration?
    /// What the variables say wrongly, a sentence each; it is ignored.
    package var faults: [String] = []

    /// The variables, which a service removes so that its children do not take them for theirs.
    package static let names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    /// Reads the variables.
    ///
    /// - Parameters:
    ///   - variables: the environment.
    ///   - process: the number of this process. A watchdog that names another process is not meant for this one.
    package init(_ variables: [String: String], process: Int32) {
        if let address = variables["NOTIFY_SOCKET"], !address.isEmpty {
            target = DatagramTarget(address)
            if target == nil {
                faults.append("NOTIFY_SOCKET says “\(address.printable)”, which is no Unix socket of this machine, so no notice is sent.")
            }
        }
        guard target != nil, let text = variables["WATCHDOG_USEC"], !text.isEmpty else { return }
        if let owner = variables["WATCHDOG_PID"], !owner.isEmpty, Int32(owner) != process { return }
        guard let microseconds = Int64(text), microseconds > 0 else {
            faults.append("WATCHDOG_USEC says “\(text.printable)”, which is no number of microseconds, so the watchdog gets no notice.")
            return
        }
        watchdog = .microseconds(microseconds)
    }
}
