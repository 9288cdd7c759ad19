internal import Glibc
package import SystemPackage

/// How this user's broker is, as somebody finds it who changes nothing.
package enum BrokerCondition: Sendable {
    /// None runs; programs start one when they need it.
    case absent
    /// None runs, and the socket of one that did is there.
    case stale(socket: FilePath)
    case running(BrokerReport)
    /// It does not answer, speaks another version, or has a place that programs refuse.
    case unusable(FileCoordinationError)
}

extension BrokerControl {
    /// Looks for the broker; blocks for at most a few seconds where it does not answer.
    package func condition() -> BrokerCondition {
        do {
            guard try place.isThere() else { return .absent }
            if let report = try status() { return .running(report) }
            let socket = place.directory.appending("broker.socket")
            var status = Glibc.stat()
            return socket.withPlatformString { lstat($0, &status) } == 0 ? .stale(socket: socket) : .absent
        } catch let error as FileCoordinationError {
            return .unusable(error)
        } catch {
            return .unusable(
                FileCoordinationError(
                    .brokerUnavailable, "The broker in \(place.directory) cannot be asked.", path: place.directory, cause: error))
        }
    }
}
