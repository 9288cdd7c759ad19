import CLinux
import Foundation
import Glibc
import Synchronization
import SystemPackage

@testable import FileCoordination

/// Runs a test with a place for a broker.
func withPlace(_ body: (BrokerPlace) async throws -> Void) async throws {
    let directory = FilePath("/tmp/coordination-broker-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory.string) }
    try await body(BrokerPlace(directory: directory.appending("ubiquity")))
}

/// Runs a test with a broker on a thread of this process.
func withBroker(_ body: (BrokerPlace) async throws -> Void) async throws {
    try await withPlace { place in
        let failure = Mutex<(any Error)?>(nil)
        await withCheckedContinuation { (began: CheckedContinuation<Void, Never>) in
            Thread {
                do {
                    let server = try BrokerServer(place, .init())
                    began.resume()
                    server.run()
                } catch {
                    failure.withLock { $0 = error }
                    began.resume()
                }
            }.start()
        }
        if let error = failure.withLock({ $0 }) { throw error }
        defer { _ = try? BrokerControl(place: place).stop() }
        try await body(place)
    }
}

/// A client that sends what it likes.
final class RawClient: Sendable {
    let id = ClientID(.random(in: 1...UInt64.max))
    private let socket: FileDescriptor
    private let buffer = Mutex(FrameBuffer())
    private let isOpen = Mutex(true)
    private let known = Mutex<UInt64>(0)

    var epoch: UInt64 { known.withLock { $0 } }

    init(_ place: BrokerPlace) throws {
        socket = try place.open().connect()
        // An answer that does not come is none: no wait without an end.
        var limit = timeval(tv_sec: 600, tv_usec: 0)
        setsockopt(socket.rawValue, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { try? socket.close() }
    }

    func greet() throws {
        try send(.hello(.init(client: id, name: "raw", isObserver: false)), epoch: 0)
        let answer = try next()
        guard case .welcome? = answer else { throw WireError("it was not let in, but told \(answer as Any), errno \(errno)") }
    }

    func send(_ frame: BrokerFrame, epoch: UInt64? = nil) throws {
        var bytes: [UInt8] = []
        frame.append(to: &bytes, epoch: epoch ?? self.epoch)
        try send(bytes)
    }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.send(socket.rawValue, $0.baseAddress! + sent, $0.count - sent, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Errno(rawValue: errno) }
            sent += count
        }
    }

    /// Sends nothing more.
    func finish() { shutdown(socket.rawValue, CInt(SHUT_WR)) }

    /// The next frame; nil when the broker has hung up.
    func next() throws -> BrokerFrame? {
        while true {
            if let (frame, epoch) = try buffer.withLock({ try $0.next() }) {
                known.withLock { $0 = epoch }
                return frame
            }
            var part = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(socket.rawValue, &part, part.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            buffer.withLock { buffer in part.withUnsafeBytes { buffer.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) } }
        }
    }

    /// Returns once the broker has hung up.
    func isHungUp() throws {
        while try next() != nil {}
    }
}
