/// A fact that a service tells its manager; see sd_notify(3).
package enum ServiceNotice: Sendable, Hashable {
    /// The service is started: what waits for it may begin.
    case ready
    /// A sentence about what it does, for `systemctl status`.
    case status(String)
    /// It has proved that it works, within the interval of the manager's watchdog.
    case alive
    /// It has begun to end.
    case stopping

    /// The assignment of the protocol, without a line end.
    package var line: String {
        switch self {
        case .ready: "READY=1"
        // One line, whatever names of files or accounts it shows.
        case .status(let text): "STATUS=\(text.printable)"
        case .alive: "WATCHDOG=1"
        case .stopping: "STOPPING=1"
        }
    }

    /// Returns the datagram of several notices.
    package static func message(_ notices: [ServiceNotice]) -> [UInt8] { Array(notices.map(\.line).joined(separator: "\n").utf8) }
}
