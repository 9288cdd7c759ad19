import Foundation
import Glibc
import Synchronization

/// A TCP proxy on loopback that counts the HTTP requests that pass through it.
final class CountingProxy: Sendable {
    let port: UInt16
    private let listener: Int32
    private let target: UInt16
    private let count = Mutex(0)

    /// `SOCK_STREAM` of socket(2).
    private static let stream: Int32 = 1
    /// The end of a request line.
    private static let mark = Array(" HTTP/1.1\r\n".utf8)

    init(to target: UInt16) throws {
        self.target = target
        let listener = socket(AF_INET, Self.stream, 0)
        self.listener = listener
        var address = Self.loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = Self.with(&address) { bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0 }
        guard bound else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in accept() }
    }

    /// The requests so far.
    var requests: Int { count.withLock { $0 } }

    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else {
                _ = close(listener)
                return
            }
            let server = socket(AF_INET, Self.stream, 0)
            var address = Self.loopback(target)
            guard Self.with(&address, { connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }) == 0 else {
                close(client)
                close(server)
                continue
            }
            Thread.detachNewThread { [self] in pass(from: client, to: server, counts: true) }
            Thread.detachNewThread { [self] in
                pass(from: server, to: client, counts: false)
                close(client)
                close(server)
            }
        }
    }

    private func pass(from source: Int32, to target: Int32, counts: Bool) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var tail: [UInt8] = []
        while true {
            let received = recv(source, &buffer, buffer.count, 0)
            guard received > 0 else { break }
            if counts {
                let text = tail + buffer[..<received]
                let found = text.indices.filter { text[$0...].starts(with: Self.mark) }.count
                count.withLock { $0 += found }
                tail = Array(text.suffix(Self.mark.count - 1))
            }
            var sent = 0
            while sent < received {
                let part = buffer[sent..<received].withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard part > 0 else { return }
                sent += part
            }
        }
        shutdown(target, Int32(SHUT_WR))
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func with<Result>(_ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Result) -> Result {
        withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
    }
}
