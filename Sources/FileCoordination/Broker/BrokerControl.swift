import CLinux
package import Foundation
import Glibc
package import SystemPackage

/// Queries and controls a running broker without being its client.
package struct BrokerControl: Sendable {
    let place: BrokerPlace

    /// Makes a control.
    ///
    /// - Parameter place: the broker's place.
    package init(place: BrokerPlace = .standard()) {
        self.place = place
    }

    /// Returns all claims and presenters; nil when no broker runs.
    ///
    /// - Throws: `brokerUnavailable` when it does not answer, or refuses.
    package func listing() throws -> CoordinationSnapshot? {
        guard case .listing(let snapshot)? = try ask(.list) else { return nil }
        return snapshot
    }

    /// Returns the broker's report about itself; nil when no broker runs.
    ///
    /// - Throws: as ``listing()``.
    package func status() throws -> BrokerReport? {
        guard case .report(let report)? = try ask(.status) else { return nil }
        return report
    }

    /// Stops the broker, and returns when it has ended.
    ///
    /// Its clients find or start another broker at once, and lose nothing.
    ///
    /// - Returns: false when no broker runs.
    /// - Throws: as ``listing()``.
    package func stop() throws -> Bool { try ask(.stop) != nil }

    /// Reads or sets the log level.
    ///
    /// - Parameter level: the new level; nil only reads it. If no broker runs, the next one starts with this level.
    /// - Returns: the level, and whether a broker runs.
    /// - Throws: as ``listing()``.
    package func logLevel(_ level: Int? = nil) throws -> (level: Int, isRunning: Bool) {
        if case .logLevel(let present)? = try ask(.setLogLevel(level.map { UInt64($0) })) { return (Int(clamping: present), true) }
        guard try level != nil || place.isThere() else { return (BrokerLog.standard, false) }
        let open = try place.open()
        if let level { open.logLevel = level }
        return (open.logLevel, false)
    }

    private func ask(_ question: BrokerFrame) throws -> BrokerFrame? {
        // A query must not create the directory.
        guard place.directory.isDirectoryWithoutFollowing else { return nil }
        let socket: FileDescriptor
        switch Result(catching: { () throws(Errno) in try placeConnection() }) {
        case .success(let connection): socket = connection
        case .failure(.connectionRefused), .failure(.noSuchFileOrDirectory): return nil
        case .failure(let error): throw place.unusable("has a broker that cannot be connected to", error)
        }
        defer { try? socket.close() }
        var process: Int32 = 0
        var user: UInt32 = 0
        _ = clinux_peer(socket.rawValue, &process, &user)
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(socket.rawValue, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let hello = BrokerFrame.Hello(client: ClientID(.random(in: 1...UInt64.max)), name: CommandLine.arguments.first ?? "", isObserver: true)
        try send(.hello(hello), epoch: 0, to: socket)
        var buffer = FrameBuffer()
        while true {
            guard let (frame, epoch) = try next(&buffer, from: socket, process) else { return question.isStop ? question : nil }
            switch frame {
            case .welcome: try send(question, epoch: epoch, to: socket)
            case .refused(_, let reason): throw FileCoordinationError(.brokerUnavailable, reason)
            case .listing, .report, .logLevel: return frame
            default: continue
            }
        }
    }

    private func placeConnection() throws(Errno) -> FileDescriptor {
        let directory = place.directory.withPlatformString { Glibc.open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard directory >= 0 else { throw Errno(rawValue: errno) }
        return try OpenBrokerPlace(directory: FileDescriptor(rawValue: directory)).connect()
    }

    private func send(_ frame: BrokerFrame, epoch: UInt64, to socket: FileDescriptor) throws {
        var bytes: [UInt8] = []
        frame.append(to: &bytes, epoch: epoch)
        guard Glibc.send(socket.rawValue, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count else {
            throw place.unusable("has a broker that closed the connection", Errno(rawValue: errno))
        }
    }

    /// Returns the next frame, or nil at the end.
    private func next(_ buffer: inout FrameBuffer, from socket: FileDescriptor, _ process: Int32) throws -> (frame: BrokerFrame, epoch: UInt64)? {
        while true {
            if let next = try buffer.next() { return next }
            var part = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(socket.rawValue, &part, part.count, 0)
            if count == 0 { return nil }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                if errno == ECONNRESET { return nil }
                throw FileCoordinationError(
                    .brokerUnavailable, "The broker (process \(process)) does not answer. It may be stopped: kill -CONT \(process).",
                    cause: Errno(rawValue: errno))
            }
            part.withUnsafeBytes { buffer.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }
}

extension BrokerFrame {
    fileprivate var isStop: Bool {
        guard case .stop = self else { return false }
        return true
    }
}

extension CoordinationSnapshot {
    /// Returns the claims and presenters that affect an item: those on it, on a directory around it, or on something in
    /// it.
    ///
    /// - Parameter url: the item.
    /// - Returns: this part of the listing, and the item's canonical path.
    /// - Throws: `unusableURL` or `fileSystem` when the item cannot be named.
    package func concerning(_ url: URL) throws -> (path: FilePath, listing: CoordinationSnapshot) {
        let path = try Location(url).path
        func concerns(_ other: FilePath) -> Bool { other.starts(with: path) || path.starts(with: other) }
        return (
            path,
            CoordinationSnapshot(
                claims: claims.filter { $0.items.contains { concerns($0.path) } }, presenters: presenters.filter { $0.path.map(concerns) ?? false })
        )
    }
}
