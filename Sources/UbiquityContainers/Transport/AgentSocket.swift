internal import CLinux
internal import Foundation
internal import Glibc
package import SystemPackage

/// Unix sockets with lines of JSON.
package enum AgentSocket {
    /// The greatest number of bytes of a line.
    private static let limit = 64 << 20

    package static func make() throws(Errno) -> Int32 {
        let number = clinux_stream_socket(0)
        guard number >= 0 else { throw Errno(rawValue: errno) }
        return number
    }

    /// Calls a body with a path that a socket's address has room for: through a descriptor of the directory, because an address
    /// has 107 bytes (unix(7)).
    package static func withShortPath(of path: FilePath, _ body: (String) -> Int32) throws {
        let directory = try FileDescriptor.open(path.removingLastComponent(), .readOnly, options: [.directory, .closeOnExec])
        let result = body("/proc/self/fd/\(directory.rawValue)/\(path.lastComponent!.string)")
        let error = Errno(rawValue: errno)
        try? directory.close()
        if result != 0 { throw error }
    }

    /// Connects to the agent of a device home, if a process of this user listens there.
    ///
    /// - Returns: the connection, which the caller closes; nil if no agent answers.
    package static func connect(_ home: DeviceHome) -> Int32? {
        guard let connection = try? make() else { return nil }
        do {
            try withShortPath(of: home.agentSocket) { clinux_unix_connect(connection, $0) }
            // A socket that another user has put there is no agent of this user.
            if user(of: connection) == geteuid() { return connection }
        } catch {
            // Nobody listens.
        }
        close(connection)
        return nil
    }

    /// The user of the process at the other end; nil if that is unknown.
    package static func user(of connection: Int32) -> UInt32? {
        var (process, user) = (Int32(0), UInt32(0))
        return clinux_peer(connection, &process, &user) == 0 ? user : nil
    }

    package static func write(_ value: some Encodable, to connection: Int32) -> Bool {
        guard var bytes = try? [UInt8](JSONEncoder().encode(value)) else { return false }
        bytes.append(UInt8(ascii: "\n"))
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Reads lines from a socket; it blocks.
    package struct LineReader {
        private let connection: Int32
        private var buffer: [UInt8] = []

        package init(_ connection: Int32) { self.connection = connection }

        /// Returns the next line; nil at the end, or if it is too long.
        package mutating func next() -> [UInt8]? {
            var searched = 0
            while true {
                if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                    let line = Array(buffer[..<end])
                    buffer.removeSubrange(...end)
                    return line
                }
                searched = buffer.count
                guard searched <= AgentSocket.limit else { return nil }
                var piece = [UInt8](repeating: 0, count: 1 << 16)
                let count = piece.withUnsafeMutableBytes { recv(connection, $0.baseAddress, $0.count, 0) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return nil }
                buffer += piece[..<count]
            }
        }
    }
}

extension DeviceHome {
    /// Where the transfer agent listens.
    package var agentSocket: FilePath { path.appending("transfer").appending("agent.sock") }
}
