import CLinux
import Foundation
import Glibc
import SystemPackage
import ToolSupport
import Waiting

/// A datagram socket that stands for a service manager, or for the journal.
final class DatagramReceiver: Sendable {
    /// A datagram, or the file in memory that came with it.
    struct Datagram: Sendable {
        var bytes: [UInt8]
        /// The seals of the file, by fcntl(2); nil if the bytes are the datagram's own.
        var seals: Int32?

        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// The address, as `NOTIFY_SOCKET` has it.
    let address: String
    /// What arrives; for one reader.
    let datagrams: AsyncStream<Datagram>
    private let socket: Int32

    /// The datagram by which ``end()`` ends the receiver.
    private static let last = Array("that is all".utf8)

    /// Binds a socket.
    ///
    /// - Parameter address: a path, or an abstract name with a leading `@`; by default a path of its own.
    /// - Throws: `Errno`.
    init(_ address: String = "/tmp/ubiquity-datagrams-\(UUID().uuidString.prefix(8))") throws {
        let (datagrams, arrived) = AsyncStream.makeStream(of: Datagram.self)
        let socket = clinux_datagram_socket()
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { path in
            path.copyBytes(from: address.utf8)
            if address.hasPrefix("@") { path[0] = 0 }
        }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + address.utf8.count)
        let bound = withUnsafePointer(to: &place) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, size) } }
        guard bound == 0 else { throw Errno(rawValue: errno) }
        (self.address, self.datagrams, self.socket) = (address, datagrams, socket)
        Thread.detachNewThread {
            while let datagram = Self.receive(socket), datagram.bytes != Self.last { arrived.yield(datagram) }
            arrived.finish()
            close(socket)
        }
    }

    private static func receive(_ socket: Int32) -> Datagram? {
        var (bytes, file) = ([UInt8](repeating: 0, count: 1 << 18), Int32(-1))
        let count = bytes.withUnsafeMutableBytes { clinux_receive_descriptor(socket, $0.baseAddress, $0.count, &file) }
        guard count >= 0 else { return nil }
        guard file >= 0 else { return Datagram(bytes: Array(bytes.prefix(count))) }
        defer { close(file) }
        // F_GET_SEALS.
        let seals = fcntl(file, 1034)
        let descriptor = FileDescriptor(rawValue: file)
        let size = Int((try? descriptor.seek(offset: 0, from: .end)) ?? 0)
        var content = [UInt8](repeating: 0, count: size)
        let read = (try? content.withUnsafeMutableBytes { try descriptor.read(fromAbsoluteOffset: 0, into: $0) }) ?? 0
        return Datagram(bytes: Array(content.prefix(read)), seals: seals)
    }

    /// Sends a text to the receiver itself, behind everything that was sent until now.
    func mark(_ text: String) { _ = DatagramTarget(address)?.send(Array(text.utf8), patience: .seconds(60)) }

    /// Ends the receiver behind everything that was sent until now.
    func end() {
        _ = DatagramTarget(address)?.send(Self.last, patience: .seconds(60))
        if address.hasPrefix("/") { unlink(address) }
    }
}

/// The assignments that arrive at a service manager, one by one.
struct NoticeReader {
    private let receiver: DatagramReceiver
    private var iterator: LimitedSequence<AsyncStream<DatagramReceiver.Datagram>>.AsyncIterator
    /// All that has arrived.
    private(set) var lines: [String] = []
    private var unread: [String] = []

    init(_ receiver: DatagramReceiver) {
        self.receiver = receiver
        iterator = receiver.datagrams.limited("a notice of a service").makeAsyncIterator()
    }

    /// Returns the next assignment; nil at the receiver's end.
    mutating func next() async throws -> String? {
        while unread.isEmpty {
            guard let datagram = try await iterator.next() else { return nil }
            unread = datagram.text.split(separator: "\n").map(String.init)
        }
        lines.append(unread.removeFirst())
        return lines.last
    }

    /// Waits for an assignment.
    @discardableResult
    mutating func hears(_ beginning: String) async throws -> String {
        while let line = try await next() { if line.hasPrefix(beginning) { return line } }
        throw Silence(description: "no \(beginning) among \(lines)")
    }

    /// Ends the receiver, and returns all that has ever arrived.
    mutating func all() async throws -> [String] {
        receiver.end()
        while try await next() != nil {}
        return lines
    }

    struct Silence: Error, CustomStringConvertible {
        let description: String
    }
}
