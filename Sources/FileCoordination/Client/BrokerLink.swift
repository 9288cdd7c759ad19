import CLinux
import Dispatch
import Foundation
import Glibc
import Logging
import Synchronization
import SystemPackage
import TreeWatching

/// A client's way to the broker: finds it, starts or becomes it, tells it what the client has going on, and listens.
///
/// One thread for as long as the client is connected. Its calls block, so it is none of the cooperative pool's.
final class BrokerLink: Sendable {
    /// Where a client looks for a broker.
    struct Options: Sendable {
        let place: BrokerPlace
        /// The program to start where there is none; without one, this process becomes the host.
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
    /// Held while bytes are sent, so that they go out in the order in which they were decided on.
    private let sending = Mutex(())

    init(logger: Logger, _ options: @escaping @Sendable () -> Options) {
        self.options = options
        self.logger = logger
    }

    /// Sees that somebody is looking for the broker, or listens to it.
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

    /// Hangs up for good; for tests.
    func close() {
        state.withLock { state in
            state.isClosed = true
            if let socket = state.reception?.socket { shutdown(socket.rawValue, CInt(SHUT_RDWR)) }
        }
    }

    /// Asks the broker something, and listens for a moment if there is one already.
    ///
    /// - Parameters:
    ///   - client: whose link this is.
    ///   - ask: makes the broker answer.
    ///   - isAnswered: whether it has.
    func ask(_ client: CoordinationClient, _ ask: () -> Void, until isAnswered: () -> Bool) {
        start(client)
        guard let reception = state.withLock({ $0.reception }) else { return ask() }
        reception.ask(ask, until: isAnswered)
    }

    /// Sends what the client has to say.
    func flush(_ client: CoordinationClient) {
        sending.withLock { _ in
            let bytes = client.state.withLock { state in
                guard let bytes = state.connection?.outbox, !bytes.isEmpty else { return [UInt8]() }
                state.connection?.outbox.removeAll(keepingCapacity: false)
                return bytes
            }
            guard !bytes.isEmpty, let socket = state.withLock({ $0.reception?.socket }) else { return }
            // What cannot be sent is told to the next broker.
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
                // One that asks for more says so at once.
                LogState.shared.asked = .faults
                logger.debug("coordinating by the broker of epoch \(arrived.epoch)")
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
                    case is WireError: "The broker sent what is not of this protocol: \(error)."
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
        // Nobody receives or sends any more, so that the number can be another file's.
        sending.withLock { _ in try? reception?.socket.close() }
    }

    private func receive(_ frame: BrokerFrame, _ client: CoordinationClient) throws {
        if case .refused(_, let reason) = frame { throw unavailable(reason) }
        client.receive(frame)
    }

    private func unavailable(_ reason: String) -> FileCoordinationError { FileCoordinationError(.brokerUnavailable, reason) }

    // MARK: Finding the broker

    /// A broker that has let this client in.
    private struct Arrival {
        let socket: FileDescriptor
        let epoch: UInt64
        let word: SharedWord?
        let hello: BrokerFrame.Hello
        var buffer: FrameBuffer
    }

    /// Connects to a broker, and has there be one before.
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
                // It left, or was killed, in that moment.
                try? socket.close()
            case .failure(.connectionRefused), .failure(.noSuchFileOrDirectory):
                if try becomeOrStart(place, options) { continue }
            case .failure(let error): throw options.place.unusable("has a broker that cannot be connected to", error)
            }
            failures += 1
            guard failures < 200 else { throw options.place.unusable("has a broker that hangs up again and again", nil) }
            usleep(pause)
            pause = min(pause * 2, 50_000)
        }
    }

    /// Says who this is.
    ///
    /// - Returns: nil when the broker has hung up.
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

    /// Starts a broker, or hosts one, unless somebody else was faster.
    ///
    /// - Returns: false when there is one that nobody can connect to yet.
    private func becomeOrStart(_ place: OpenBrokerPlace, _ options: Options) throws -> Bool {
        let lock: FileDescriptor
        do { lock = try place.openLock() } catch { throw options.place.unusable("does not take a lock", error) }
        defer { try? lock.close() }
        while clinux_ofd_lock_byte(lock.rawValue, BrokerLock.starting, 1) != 0 {
            guard errno == EINTR else { throw options.place.unusable("does not take a lock", Errno(rawValue: errno)) }
        }
        if case .success(let socket) = Result(catching: { () throws(Errno) in try place.connect() }) {
            try? socket.close()
            return true
        }
        // One that has lost its socket binds again as soon as it gets the lock.
        if clinux_ofd_is_locked_byte(lock.rawValue, BrokerLock.living) == 1 { return false }
        if let program = options.program {
            if let process = BrokerStarter.start(program, at: options.place, lock: lock) {
                reap(process)
                return true
            }
            logger.warning("\(program) could not be started as the broker of file coordination; this process takes its place.")
        }
        try host(options.place, lock)
        return true
    }

    /// Hosts the broker in this process, for as long as that lives.
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

    /// Waits for a broker that this process has started, so that it leaves no zombie; see waitpid(2).
    private func reap(_ process: Int32) {
        let thread = Thread {
            while waitpid(process, nil, 0) < 0, errno == EINTR {}
        }
        thread.stackSize = 64 << 10
        thread.start()
    }
}
