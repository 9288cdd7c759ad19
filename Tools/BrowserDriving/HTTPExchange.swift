internal import Foundation
internal import Glibc
internal import Waiting

/// One request of HTTP to a port of this machine, and its answer.
///
/// URLSession does not take the answers of chromedriver, which has no space behind the colon of a field
/// (https://github.com/swiftlang/swift-corelibs-foundation/issues/4965); and no client library sends another `Host`.
package struct HTTPExchange: Sendable {
    package var status = 0
    /// The first line and the fields of the answer, a line each.
    package var head = ""
    package var body = ""

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - request: the method and the target, such as `GET /`.
    ///   - port: the port on 127.0.0.1.
    ///   - fields: fields of the request; `Host` stands for the usual one.
    ///   - body: the body.
    /// - Returns: the answer, when the server has sent all of it; of a stream of events what comes first.
    /// - Throws: `POSIXError` if there is no connection; `Overdue`.
    package static func send(_ request: String, port: UInt16, fields: [String: String] = [:], body: String = "") async throws -> HTTPExchange {
        let fields = ["Host": "127.0.0.1:\(port)", "Connection": "close", "Content-Length": "\(body.utf8.count)"].merging(fields) { $1 }
        let lines = ["\(request) HTTP/1.1"] + fields.map { "\($0): \($1)" } + ["", body]
        return try await within("the answer to \(request) at port \(port)") {
            try await withCheckedThrowingContinuation { continuation in
                // Reading blocks a thread.
                DispatchQueue.global().async {
                    continuation.resume(with: Result { try exchange(lines.joined(separator: "\r\n"), port: port) })
                }
            }
        }
    }

    /// Makes an answer from the bytes that have arrived; nil if more must follow.
    private init?(_ bytes: Data, isEnd: Bool) {
        guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { return nil }
        head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }?.split(separator: ":").last
        // chromedriver keeps the connection, and a stream of events has no end.
        let size = head.contains("text/event-stream") ? 0 : length.flatMap { Int($0.trimmingCharacters(in: .whitespaces)) } ?? .max
        guard isEnd || bytes.endIndex - end.upperBound >= size else { return nil }
        body = String(decoding: bytes[end.upperBound...], as: UTF8.self)
        status = Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0
    }

    private static func exchange(_ request: String, port: UInt16) throws -> HTTPExchange {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        // The thread ends, even if the server never does.
        var longest = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &longest, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        (address.sin_family, address.sin_port, address.sin_addr.s_addr) = (sa_family_t(AF_INET), port.bigEndian, UInt32(0x7F00_0001).bigEndian)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) } == 0
        }
        var rest = Array(request.utf8)[...]
        while isConnected, !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        guard isConnected, rest.isEmpty else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        var (answer, part) = (Data(), [UInt8](repeating: 0, count: 64 << 10))
        while true {
            let count = recv(socket, &part, part.count, 0)
            answer += part[..<max(0, count)]
            if let whole = HTTPExchange(answer, isEnd: count <= 0) { return whole }
            if count <= 0 { throw POSIXError(.ECONNRESET) }
        }
    }
}
