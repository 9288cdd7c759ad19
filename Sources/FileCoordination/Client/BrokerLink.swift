import CLinux
import Dispatch
import Foundation
import Glibc
import Logging
import Synchronization
import SystemPackage
import TreeWatching

/// A client's connection to the broker: finds, starts or hosts the broker, reports the client's claims, and receives
/// frames.
///
/// It uses one thread while the client is connected. Its calls block, so the thread is not in the cooperative pool.
final class BrokerLink: Sendable {
    /// The options for finding a broker.
    struct Options: Sendable {
        let place: BrokerPlace
        /// The program to start if no broker runs; without one, this process becomes the host.
        let program: FilePath?
    }

    private struct State {
        var isRunning = false
        var isClosed = false
        var reception: BrokerReception?
    }

    private let options: @Sendable () -> Options
    private let logger: Logger
    private let state = Mutex(State())
    /// Held while bytes are sent, so that they are sent in the order of the decisions.
    private let sending = Mutex(())

    init(logger: Logger, _ options: @escaping @Sendable () -> Options) {
        self.options = options
        self.logger = logger
    }

    /// Makes sure that a thread looks for the broker or listens to it.
    func start(_ client: CoordinationClient) {
        let isFirst = state.withLock { state in
            defer { state.isRunning = state.isRunning || !state.isClosed }
            return !state.isRunning && !state.isClosed
        }
        guard isFirst else { return }
        let thread = Thread { [self] in run(client) }
        thread.name = "file broker"
        thread.start()
    }

    /// Closes the connection permanently; for tests.
    func close() {
        state.withLock { state in
            state.isClosed = true
            if let socket = state.reception?.socket { shutdown(socket.rawValue, CInt(SHUT_RDWR)) }
        }
    }

    /// Asks the broker, and listens briefly if a broker is connected.
    ///
    /// - Parameters:
    ///   - client: the client of this link.
    ///   - ask: sends the question.
    ///   - isAnswered: returns whether the answer has arrived.
    func ask(_ client: CoordinationClient, _ ask: () -> Void, until isAnswered: () -> Bool) {
        start(client)
        guard let reception = state.withLock({ $0.reception }) else { return ask() }
        reception.ask(ask, until: isAnswered)
    }

    /// Sends the client's pending frames.
    func flush(_ client: CoordinationClient) {
        sending.withLock { _ in
            let bytes = client.state.withLock { state in
                guard let bytes = state.connection?.outbox, !bytes.isEmpty else { return [UInt8]() }
                state.connection?.outbox.removeAll(keepingCapacity: false)
                return bytes
            }
            guard !bytes.isEmpty, let socket = state.withLock({ $0.reception?.socket }) else { return }
            // Frames that cannot be sent are reported to the next broker.
            _ = sendAll(bytes, on: socket)
        }
    }

    private func sendAll(_ bytes: [UInt8], on socket: FileDescriptor) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { send(socket.rawValue, $0.baseAddress! + sent, $0.count - sent, CInt(MSG_NOSIGNAL)) }
            if count < 0, errno != EINTR { return false }
            sent += max(0, count)
        }
        return true
    }

    // MARK: The thread

    private func run(_ client: CoordinationClient) {
        _ = clinux_shorten_slices(100_000)
        var isOther = false
        while true {
            do {
                let arrived = try establish(client)
                let reception = BrokerReception(arrived.socket, arrived.buffer) { [self] in try receive($0, client) }
                // A broker that wants more log lines says so at once.
                LogState.shared.asked = .faults
                logger.debug("coordinating through the broker of epoch \(arrived.epoch)")
                client.state.withLock {
                    $0.connected(arrived.epoch, arrived.word, after: arrived.hello, isOther: isOther)
                    state.withLock { $0.reception = reception }
                }
                isOther = true
                flush(client)
                while try reception.listen() {}
                hangUp(client)
            } catch {
                hangUp(client)
                state.withLock { $0.isRunning = false }
                let reason =
                    switch error {
                    case let error as FileCoordinationError: error.message
                    case is WireError: "The broker sent bytes that are not a frame of this protocol: \(error)."
                    default: "\(error)"
                    }
                logger.error("Files cannot be coordinated with other processes. \(reason)")
                let effects = client.state.withLock { state in
                    state.giveBack()
                    return state.failWaiting(reason)
                }
                return client.perform(effects)
            }
            if state.withLock({ $0.isClosed }) { return }
        }
    }

    private func hangUp(_ client: CoordinationClient) {
        let reception = state.withLock { state in
            defer { state.reception = nil }
            return state.reception
        }
        reception?.close()
        client.state.withLock { state in
            if state.connection != nil { state.lostConnection = .now }
            state.connection = nil
        }
        // No thread receives or sends any more. The number can now belong to another file.
        sending.withLock { _ in try? reception?.socket.close() }
    }

    private func receive(_ frame: BrokerFrame, _ client: CoordinationClient) throws {
        if case .refused(_, let reason) = frame { throw unavailable(reason) }
        client.receive(frame)
    }

    private func unavailable(_ reason: String) -> FileCoordinationError { FileCoordinationError(.brokerUnavailable, reason) }

    // MARK: Finding the broker

    /// A broker that accepted this client.
    private struct Arrival {
        let socket: FileDescriptor
        let epoch: UInt64
        let word: SharedWord?
        let hello: BrokerFrame.Hello
        var buffer: FrameBuffer
    }

    /// Connects to a broker, and starts one if needed.
    private func establish(_ client: CoordinationClient) throws -> Arrival {
        let options = options()
        var pause: UInt32 = 500
        var failures = 0
        while true {
            if state.withLock({ $0.isClosed }) { throw unavailable("The client was closed.") }
            let place = try options.place.open()
            switch Result(catching: { () throws(Errno) in try place.connect() }) {
            case .success(let socket):
                if let arrival = try greet(client, socket) { return arrival }
                // The broker left or was killed in that moment.
                try? socket.close()
            case .failure(.connectionRefused), .failure(.noSuchFileOrDirectory):
                if try becomeOrStart(place, options) { continue }
            case .failure(let error): throw options.place.unusable("has a broker that cannot be connected to", error)
            }
            failures += 1
            guard failures < 200 else { throw options.place.unusable("has a broker that keeps closing the connection", nil) }
            usleep(pause)
            pause = min(pause * 2, 50_000)
        }
    }

    /// Sends the client's hello.
    ///
    /// - Returns: nil when the broker has closed the connection.
    /// - Throws: `brokerUnavailable` when it refuses.
    private func greet(_ client: CoordinationClient, _ socket: FileDescriptor) throws -> Arrival? {
        var (process, user): (Int32, UInt32) = (0, 0)
        guard clinux_peer(socket.rawValue, &process, &user) == 0, user == geteuid() else {
            try? socket.close()
            throw unavailable("The broker belongs to user \(user), not \(geteuid()). Set XDG_RUNTIME_DIR to a directory of this user.")
        }
        let hello = client.state.withLock { $0.hello(name: CommandLine.arguments.first ?? "") }
        var bytes: [UInt8] = []
        BrokerFrame.hello(hello).append(to: &bytes, epoch: 0)
        guard sendAll(bytes, on: socket) else { return nil }
        var buffer = FrameBuffer()
        var memory: CInt = -1
        defer { if memory >= 0 { Glibc.close(memory) } }
        while true {
            if let (frame, epoch) = try buffer.next() {
                switch frame {
                case .welcome(let welcome) where welcome.version == brokerProtocolVersion:
                    return Arrival(
                        socket: socket, epoch: epoch, word: memory >= 0 ? SharedWord(memory) : nil, hello: hello, buffer: buffer)
                case .refused(_, let reason):
                    try? socket.close()
                    throw unavailable(reason)
                case .welcome(let welcome):
                    try? socket.close()
                    throw unavailable("The broker (process \(process)) speaks version \(welcome.version), this program \(brokerProtocolVersion).")
                default: continue
                }
            }
            var part = [UInt8](repeating: 0, count: 4096)
            var descriptor: CInt = -1
            let count = clinux_receive_descriptor(socket.rawValue, &part, part.count, &descriptor)
            if descriptor >= 0 {
                if memory >= 0 { Glibc.close(memory) }
                memory = descriptor
            }
            if count == 0 || (count < 0 && errno != EINTR) { return nil }
            part.withUnsafeBytes { buffer.add(UnsafeRawBufferPointer(rebasing: $0[..<max(0, count)])) }
        }
    }

    /// Starts or hosts a broker, unless another process was faster.
    ///
    /// - Returns: false when a broker exists that does not accept connections yet.
    private func becomeOrStart(_ place: OpenBrokerPlace, _ options: Options) throws -> Bool {
        let lock: FileDescriptor
        do { lock = try place.openLock() } catch { throw options.place.unusable("cannot be locked", error) }
        defer { try? lock.close() }
        while clinux_ofd_lock_byte(lock.rawValue, BrokerLock.starting, 1) != 0 {
            guard errno == EINTR else { throw options.place.unusable("cannot be locked", Errno(rawValue: errno)) }
        }
        if case .success(let socket) = Result(catching: { () throws(Errno) in try place.connect() }) {
            try? socket.close()
            return true
        }
        // A broker that has lost its socket binds it again as soon as it gets the lock.
        if clinux_ofd_is_locked_byte(lock.rawValue, BrokerLock.living) == 1 { return false }
        if let program = options.program {
            if let process = BrokerStarter.start(program, at: options.place, lock: lock) {
                reap(process)
                return true
            }
            logger.warning("\(program) could not be started as the broker of file coordination; this process hosts the broker instead.")
        }
        try host(options.place, lock)
        return true
    }

    /// Hosts the broker in this process, as long as the process lives.
    private func host(_ place: BrokerPlace, _ lock: FileDescriptor) throws {
        let began = DispatchSemaphore(value: 0)
        let failure = Mutex<(any Error)?>(nil)
        let lock = try lock.duplicate()
        _ = fcntl(lock.rawValue, F_SETFD, FD_CLOEXEC)
        let thread = Thread { [logger] in
            var options = BrokerServer.Options()
            options.lock = lock
            do {
                let server = try BrokerServer(place, options, logger: logger)
                began.signal()
                server.run()
            } catch {
                failure.withLock { $0 = error }
                try? lock.close()
                began.signal()
            }
        }
        thread.name = "file broker host"
        thread.start()
        began.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    /// Waits for the end of a broker that this process started, so that no zombie stays; see waitpid(2).
    private func reap(_ process: Int32) {
        let thread = Thread {
            while waitpid(process, nil, 0) < 0, errno == EINTR {}
        }
        thread.stackSize = 64 << 10
        thread.start()
    }
}
