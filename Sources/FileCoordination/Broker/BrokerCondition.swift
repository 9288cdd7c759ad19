internal import Glibc
package import SystemPackage

/// The condition of this user's broker, found without changing anything.
package enum BrokerCondition: Sendable {
    /// No broker runs; programs start one when they need it.
    case absent
    /// No broker runs, but the socket of an earlier one exists.
    case stale(socket: FilePath)
    case running(BrokerReport)
    /// It does not answer, speaks another version, or its directory is unsafe.
    case unusable(FileCoordinationError)
}

extension BrokerControl {
    /// Looks for the broker; blocks for a few seconds at most if it does not answer.
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
