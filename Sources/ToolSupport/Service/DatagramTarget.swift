internal import CLinux
internal import Glibc
package import SystemPackage

/// A socket of this machine to which datagrams go: a path, or an abstract name with a leading `@`; see unix(7).
package struct DatagramTarget: Sendable, Hashable {
    /// The address, as `NOTIFY_SOCKET` has it.
    package let address: String

    /// Makes a target; nil if the address is neither an absolute path nor an abstract name.
    package init?(_ address: String) {
        guard address.hasPrefix("/") || address.hasPrefix("@"), address.utf8.count > 1, !address.utf8.contains(0) else { return nil }
        self.address = address
    }

    /// Makes a target at a path.
    package init(_ path: FilePath) { address = path.string }

    /// Sends one datagram.
    ///
    /// - Parameters:
    ///   - bytes: the datagram.
    ///   - descriptor: a descriptor to pass along; nil for none.
    ///   - patience: how long to wait while the receiver's queue is full; by default not at all.
    /// - Returns: nil when it is sent, otherwise the error of sendmsg(2): `ENOENT` or `ECONNREFUSED` where nobody
    ///   listens, `EAGAIN` where the queue is full, `EMSGSIZE` for a datagram that is too large.
    package func send(_ bytes: [UInt8], with descriptor: Int32? = nil, patience: Duration = .zero) -> Errno? {
        let socket = clinux_datagram_socket()
        guard socket >= 0 else { return Errno(rawValue: errno) }
        defer { close(socket) }
        let waits = patience > .zero
        if waits {
            let (seconds, attoseconds) = patience.components
            // A limit of zero would be none.
            var limit = timeval(tv_sec: Int(seconds), tv_usec: max(Int(attoseconds / 1_000_000_000_000), seconds == 0 ? 1 : 0))
            setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        while true {
            let sent = bytes.withUnsafeBytes { clinux_send_datagram(socket, address, $0.baseAddress, $0.count, descriptor ?? -1, waits ? 1 : 0) }
            if sent >= 0 { return nil }
            if errno != EINTR { return Errno(rawValue: errno) }
        }
    }
}
