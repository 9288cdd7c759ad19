import CLinux
import Glibc
import Synchronization
import SystemPackage

/// The receiving half of a connection to a broker.
///
/// The link's thread listens while the connection lasts. After a question, the asking thread itself listens briefly: a
/// quick answer then arrives without waking two threads. The link's thread sleeps meanwhile.
final class BrokerReception: Sendable {
    /// How long an asker listens, in nanoseconds: a few times the response time of an idle broker.
    private static let moment: UInt64 = 100_000

    private struct Frames {
        var buffer: FrameBuffer
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var isClosed = false
        /// The reason why no more frames are received.
        var failure: (any Error)?
    }

    let socket: FileDescriptor
    /// Wakes the link's thread; see epoll(7).
    private let epoll: FileDescriptor
    /// The number of askers that listen.
    private let askers = Mutex(0)
    /// Held while frames are received and handled, so that they are handled in the order of their arrival.
    private let frames: Mutex<Frames>
    private let handle: @Sendable (BrokerFrame) throws -> Void

    /// Makes the receiving half of a connection.
    ///
    /// - Parameters:
    ///   - socket: the connection. The caller closes it, after ``close()``.
    ///   - buffer: the bytes that have already arrived.
    ///   - handle: handles a frame; an error that it throws ends the connection.
    init(_ socket: FileDescriptor, _ buffer: FrameBuffer, _ handle: @escaping @Sendable (BrokerFrame) throws -> Void) {
        self.socket = socket
        self.handle = handle
        frames = Mutex(Frames(buffer: buffer))
        epoll = FileDescriptor(rawValue: clinux_epoll_create())
        _ = clinux_epoll_set(epoll.rawValue, EPOLL_CTL_ADD, socket.rawValue, EPOLLIN.rawValue, 0)
    }

    deinit { try? epoll.close() }

    /// Stops receiving.
    func close() { frames.withLock { $0.isClosed = true } }

    /// Blocks until bytes arrive, and handles them.
    ///
    /// - Returns: false once the broker has hung up.
    /// - Throws: the error that the handling of a frame threw, on this or another thread.
    func listen() throws -> Bool {
        guard try receive() else { return false }
        var tags: [UInt64] = [0]
        var events: [UInt32] = [0]
        _ = clinux_epoll_wait(epoll.rawValue, &tags, &events, -1)
        return true
    }

    /// Asks, and listens briefly on the calling thread.
    ///
    /// - Parameters:
    ///   - ask: sends the question.
    ///   - isAnswered: returns whether the answer has arrived.
    func ask(_ ask: () -> Void, until isAnswered: () -> Bool) {
        askers.withLock {
            $0 += 1
            if $0 == 1 { wakeThread(on: 0) }
        }
        defer {
            askers.withLock {
                $0 -= 1
                if $0 == 0 { wakeThread(on: EPOLLIN.rawValue) }
            }
        }
        ask()
        let end = clinux_monotonic_nanoseconds(0) + Self.moment
        while !isAnswered() {
            let now = clinux_monotonic_nanoseconds(0)
            var descriptor = pollfd(fd: socket.rawValue, events: Int16(POLLIN), revents: 0)
            // The link's thread meets the same error.
            guard now < end, clinux_poll(&descriptor, 1, Int64(end - now)) > 0, (try? receive()) == true else { return }
        }
    }

    /// Sets the events that wake the link's thread; a closed connection always does.
    private func wakeThread(on events: UInt32) { _ = clinux_epoll_set(epoll.rawValue, EPOLL_CTL_MOD, socket.rawValue, events, 0) }

    /// Handles the bytes that have arrived.
    private func receive() throws -> Bool {
        try frames.withLock { frames in
            if let failure = frames.failure { throw failure }
            var isDrained = false
            do {
                while !frames.isClosed {
                    while let (frame, _) = try frames.buffer.next() { try handle(frame) }
                    if isDrained { return true }
                    let count = recv(socket.rawValue, &frames.bytes, frames.bytes.count, CInt(MSG_DONTWAIT))
                    if count < 0, errno != EINTR { return errno == EAGAIN }
                    if count == 0 { return false }
                    frames.bytes.withUnsafeBytes { frames.buffer.add(UnsafeRawBufferPointer(rebasing: $0[..<max(0, count)])) }
                    isDrained = count > 0 && count < frames.bytes.count
                }
                return false
            } catch {
                frames.failure = error
                shutdown(socket.rawValue, CInt(SHUT_RDWR))
                throw error
            }
        }
    }
}
