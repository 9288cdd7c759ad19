internal import CLinux
internal import Foundation
internal import Glibc
package import SystemPackage

/// The socket on which systemd's journal takes entries with fields.
package struct JournalSocket: Sendable, Hashable {
    private let target: DatagramTarget

    /// Makes a socket.
    ///
    /// - Parameter path: where the journal listens.
    package init(_ path: FilePath = "/run/systemd/journal/socket") { target = DatagramTarget(path) }

    /// Sends an entry of any size.
    ///
    /// - Returns: nil when it is sent, otherwise the reason.
    package func send(_ entry: JournalEntry) -> Errno? {
        let bytes = entry.bytes
        let error = target.send(bytes)
        guard error == .messageTooLong || error == .noBufferSpace else { return error }
        // What no datagram holds goes as a file in memory that cannot change any more.
        let file = bytes.withUnsafeBytes { clinux_finished_memory("journal-entry", $0.baseAddress, $0.count) }
        guard file >= 0 else { return Errno(rawValue: errno) }
        defer { close(file) }
        return target.send([], with: file)
    }

    /// Whether a descriptor leads to the journal, by the variable `JOURNAL_STREAM` of systemd.exec(5).
    ///
    /// The variable names the device and the file number of the stream that the manager has opened.
    ///
    /// - Parameters:
    ///   - variable: the value of the variable; nil if it is not set.
    ///   - descriptor: by default standard error.
    /// - Returns: whether they name the descriptor's file.
    package static func isStream(_ variable: String?, descriptor: Int32 = STDERR_FILENO) -> Bool {
        var facts = stat()
        guard let variable, fstat(descriptor, &facts) == 0 else { return false }
        return variable == "\(facts.st_dev):\(facts.st_ino)"
    }
}
