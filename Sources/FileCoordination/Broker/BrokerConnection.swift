import CLinux
import Glibc
import SystemPackage

/// The broker's end of a socket; only the broker's thread uses it.
final class BrokerConnection {
    enum Progress {
        case done, blocked, broken
    }

    /// The most bytes that may wait for a client that does not read.
    private static let most = 16 << 20
    /// The longest frame before the client's hello.
    private static let helloLimit = 64 << 10

    let socket: CInt
    /// The client's process; 0 if unknown.
    let process: Int32
    /// A descriptor that becomes readable when the client's process ends, even if a child keeps the socket open; -1 if
    /// there is none.
    let processFile: CInt
    var tags: [UInt64] = []
    var incoming = FrameBuffer()
    var outgoing: [UInt8] = []
    var isWaitingToWrite = false
    var isRefused = false

    init(_ socket: CInt, process: Int32) {
        self.process = process
        self.socket = socket
        processFile = process > 0 ? clinux_pidfd_open(process) : -1
        incoming.limit = Self.helloLimit
    }

    var mustWrite: Bool { !outgoing.isEmpty }

    func close() {
        Glibc.close(socket)
        if processFile >= 0 { Glibc.close(processFile) }
    }

    /// Receives the bytes that have arrived.
    ///
    /// - Returns: false when no more bytes will arrive.
    func receive() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { buffer in
            // The number of rounds is limited, so that one busy client does not delay the others.
            for _ in 0..<4 {
                let count = recv(socket, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT))
                if count < 0 { return errno == EAGAIN || errno == EINTR }
                if count == 0 { return false }
                incoming.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                if count < buffer.count { return true }
            }
            return true
        }
    }

    func flush() -> Progress {
        var sent = 0
        defer {
            if sent == outgoing.count { outgoing.removeAll(keepingCapacity: sent < 1 << 16) } else { outgoing.removeFirst(sent) }
        }
        while sent < outgoing.count {
            let count = outgoing.withUnsafeBytes {
                send(socket, $0.baseAddress! + sent, $0.count - sent, CInt(MSG_DONTWAIT | MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                guard errno == EAGAIN else { return .broken }
                return outgoing.count - sent > Self.most ? .broken : .blocked
            }
            sent += count
        }
        return .done
    }

    /// Sends the first frame, with the shared memory that takes back delegations.
    ///
    /// - Returns: nil if there is no such memory; the broker then takes back delegations only by asking.
    func welcome(_ frame: BrokerFrame, epoch: UInt64) -> SharedWord? {
        var bytes: [UInt8] = []
        frame.append(to: &bytes, epoch: epoch)
        let memory = SharedWord.memory()
        guard memory >= 0 else {
            outgoing += bytes
            return nil
        }
        defer { Glibc.close(memory) }
        guard clinux_send_descriptor(socket, bytes, bytes.count, memory) == bytes.count else {
            isRefused = true
            return nil
        }
        return SharedWord(memory)
    }

    /// Refuses a client and closes its connection.
    static func refuse(_ socket: CInt, _ reason: String, epoch: UInt64) {
        var bytes: [UInt8] = []
        BrokerFrame.refused(.user, reason).append(to: &bytes, epoch: epoch)
        _ = send(socket, bytes, bytes.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL))
        Glibc.close(socket)
    }
}
