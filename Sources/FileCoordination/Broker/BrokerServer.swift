import CLinux
import Foundation
import Glibc
package import Logging
package import SystemPackage
import TreeWatching

/// Runs a ``BrokerEngine`` on the calling thread, with its sockets, its table of claims, and the deaths of processes.
package final class BrokerServer {
    /// The options of a server.
    package struct Options: Sendable {
        /// Whether this process only runs the broker.
        package var isResident = false
        /// How long the server runs without clients; nil for ever.
        package var idle: Duration?
        /// A socket on which systemd already listens; see sd_listen_fds(3).
        package var listener: FileDescriptor?
        /// A descriptor of the lock file with the starting lock, from the process that started this one.
        package var lock: FileDescriptor?
        /// How often ``tell`` hears that the loop runs; nil for never.
        package var pulse: Duration?
        /// Hears what the broker does, on the loop's thread.
        package var tell: (@Sendable (BrokerNews) -> Void)?

        package init() {}
    }

    /// The source of an event of epoll(7).
    private enum Source {
        case listener, directory, signals
        case connection(ConnectionID)
        case process(ConnectionID)
        case former(ClientID, FileDescriptor)
    }

    private let place: OpenBrokerPlace
    private let options: Options
    private var log: BrokerLog
    private let lock: FileDescriptor
    private let epoll: FileDescriptor
    private let directoryWatch: FileDescriptor
    private var listener: FileDescriptor
    private var socketFile: UInt64?
    private var sources: [UInt64: Source] = [:]
    private var nextSource: UInt64 = 0
    private var engine: BrokerEngine
    private var claims: ClaimsFile
    private var connections: [ConnectionID: BrokerConnection] = [:]
    private let words = Words()
    private var idleSince: UInt64? = monotonicNanoseconds()
    private var isLeaving = false
    private var mustBind = false
    private var pulse: BrokerPulse

    /// The shared memory that takes back delegations.
    private final class Words {
        var byConnection: [ConnectionID: SharedWord] = [:]
    }

    /// Takes over the place, with the starting lock.
    ///
    /// - Parameters:
    ///   - place: the broker's place.
    ///   - options: the options.
    ///   - logger: receives the log lines that the level includes.
    /// - Throws: `brokerUnavailable` when another broker is there, or the place is unusable.
    package init(_ place: BrokerPlace, _ options: Options, logger: Logger = .ubiquity) throws {
        self.options = options
        pulse = BrokerPulse(every: options.pulse)
        let open = try place.open()
        log = BrokerLog(level: open.logLevel, logger: logger)
        self.place = open
        lock = try options.lock ?? open.openLock()
        guard options.lock != nil || clinux_ofd_lock_byte(lock.rawValue, BrokerLock.starting, 1) == 0,
            clinux_ofd_lock_byte(lock.rawValue, BrokerLock.living, 0) == 0
        else {
            throw place.unusable("has a broker already", nil)
        }
        let boot = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
        // Without a table, the clock gives an epoch that no earlier broker of this boot had.
        claims = try ClaimsFile(in: open.directory, boot: boot, leastEpoch: monotonicNanoseconds() / 10_000_000)
        engine = BrokerEngine(
            epoch: claims.epoch, process: getpid(), isResident: options.isResident, time: monotonicNanoseconds(), former: claims.former,
            system: BrokerSystem(
                isStopped: { $0.isStopped }, revoke: { [words] in words.byConnection[$0]?.revoke($1) ?? false }), logLevel: log.level)
        listener = try options.listener ?? open.bind()
        socketFile = open.socketFile
        epoll = FileDescriptor(rawValue: clinux_epoll_create())
        directoryWatch = FileDescriptor(rawValue: inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK)))
        inotify_add_watch(
            directoryWatch.rawValue, "/proc/self/fd/\(open.directory.rawValue)",
            UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO) | UInt32(IN_DELETE_SELF))
        watch(listener.rawValue, .listener)
        if directoryWatch.rawValue >= 0 { watch(directoryWatch.rawValue, .directory) }
        for (client, process) in engine.recovery?.awaited ?? [:] { watchFormer(client, process) }
        clinux_ofd_unlock_byte(lock.rawValue, BrokerLock.starting)
        log(
            .notice,
            "serving user \(geteuid()) as the broker of epoch \(claims.epoch), \(options.isResident ? "a separate program" : "hosted by another program")"
        )
    }

    deinit {
        for connection in connections.values { connection.close() }
        for case .former(_, let file) in sources.values { try? file.close() }
        try? listener.close()
        try? directoryWatch.close()
        try? epoll.close()
        try? lock.close()
    }

    /// Makes the server leave on one of these signals; all threads of the process must block them.
    package func leave(on signals: [Int32]) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        let file = signalfd(-1, &set, CInt(O_CLOEXEC))
        if file >= 0 { watch(file, .signals) }
    }

    // MARK: The loop

    /// Serves until it is asked to leave, or has had no clients for the idle time.
    package func run() {
        // A frame takes a few microseconds. If the broker runs at once, it is finished before another thread loses its
        // turn.
        _ = clinux_shorten_slices(100_000)
        var tags = [UInt64](repeating: 0, count: 64)
        var events = [UInt32](repeating: 0, count: 64)
        tellNews()
        while !isLeaving {
            let count = clinux_epoll_wait(epoll.rawValue, &tags, &events, timeout)
            engine.time = monotonicNanoseconds()
            for index in 0..<max(0, Int(count)) {
                guard let source = sources[tags[index]] else { continue }
                handle(source, tags[index])
            }
            engine.tick()
            performAll()
            if mustBind { bindAgain() }
            leaveIfIdle()
            tellNews()
        }
        options.tell?(.leaving)
        leave()
    }

    private var timeout: CInt {
        var next = engine.nextTick ?? .max
        if let idle = options.idle, let since = idleSince { next = min(next, since + UInt64(idle / .nanoseconds(1))) }
        if mustBind { next = min(next, engine.time + 10_000_000) }
        if options.tell != nil { next = min(next, pulse.next(clients: connections.count) ?? .max) }
        guard next != .max else { return -1 }
        let now = monotonicNanoseconds()
        return next <= now ? 0 : CInt(clamping: (next - now + 999_999) / 1_000_000)
    }

    private func tellNews() {
        guard let tell = options.tell else { return }
        for news in pulse.news(clients: connections.count, at: monotonicNanoseconds()) { tell(news) }
    }

    private func handle(_ source: Source, _ tag: UInt64) {
        switch source {
        case .listener: accept()
        case .directory: lookAtDirectory()
        case .signals: isLeaving = true
        case .connection(let id): receive(id)
        case .process(let id):
            // The bytes that it sent before it died come first.
            receive(id)
            close(id)
        case .former(let client, let file):
            sources[tag] = nil
            try? file.close()
            engine.formerClientDied(client)
        }
    }

    @discardableResult
    private func watch(_ file: CInt, _ source: Source) -> UInt64 {
        nextSource += 1
        sources[nextSource] = source
        _ = clinux_epoll_set(epoll.rawValue, EPOLL_CTL_ADD, file, EPOLLIN.rawValue, nextSource)
        return nextSource
    }

    /// Watches for the death of a client of the previous broker.
    private func watchFormer(_ client: ClientID, _ process: ProcessIdentity) {
        let file = clinux_pidfd_open(process.number)
        // This check comes after the descriptor is open, so the descriptor belongs to that process.
        guard file >= 0, ProcessIdentity.of(process.number) == process else {
            if file >= 0 { Glibc.close(file) }
            return engine.formerClientDied(client)
        }
        watch(file, .former(client, FileDescriptor(rawValue: file)))
    }

    // MARK: Connections

    private func accept() {
        while true {
            let socket = clinux_accept(listener.rawValue)
            guard socket >= 0 else { return }
            var (number, user): (Int32, UInt32) = (0, 0)
            guard clinux_peer(socket, &number, &user) == 0 else {
                Glibc.close(socket)
                continue
            }
            guard user == geteuid() else {
                log(.warning, "process \(number) of another user, \(user), was refused")
                let reason = "This broker serves user \(geteuid()), not \(user). Set XDG_RUNTIME_DIR to a directory of this user."
                BrokerConnection.refuse(socket, reason, epoch: engine.epoch)
                continue
            }
            let connection = BrokerConnection(socket, process: number)
            nextSource += 1
            let id = ConnectionID(number: nextSource)
            connections[id] = connection
            connection.tags = [watch(socket, .connection(id))]
            if connection.processFile >= 0 { connection.tags.append(watch(connection.processFile, .process(id))) }
            engine.connected(id, ProcessIdentity.of(number))
            log(.information, "process \(number) has connected")
            idleSince = nil
        }
    }

    private func receive(_ id: ConnectionID) {
        guard let connection = connections[id] else { return }
        let isOpen = connection.receive()
        do {
            while let (frame, epoch) = try connection.incoming.next() {
                if case .hello = frame { connection.incoming.limit = BrokerFrame.limit }
                log(.debug, "from process \(connection.process): \(frame)")
                engine.received(frame, epoch: epoch, on: id)
                guard connections[id] != nil, !connection.isRefused else { return }
            }
        } catch {
            engine.refuse(id, .misuse, "The received bytes are not a frame of this protocol: \(error).")
        }
        performAll()
        // An effect may have closed the connection. Another thread of the process may use the socket's number by now.
        guard connections[id] != nil else { return }
        if !isOpen { close(id) } else if connection.mustWrite { flush(id, connection) }
    }

    private func close(_ id: ConnectionID) {
        guard let connection = connections.removeValue(forKey: id) else { return }
        for tag in connection.tags { sources[tag] = nil }
        connection.close()
        log(.information, "process \(connection.process) has disconnected or ended")
        words.byConnection[id] = nil
        engine.closed(id)
        if connections.isEmpty { idleSince = engine.time }
    }

    // MARK: Effects

    /// Performs all effects, including those that follow, such as from closing a connection.
    private func performAll() {
        while true {
            let effects = engine.takeEffects()
            guard !effects.isEmpty else { return }
            perform(effects)
        }
    }

    private func perform(_ effects: [BrokerEngine.Effect]) {
        // All records are written before any frame is sent: otherwise a client could know of a grant that no file
        // records.
        claims.append(
            effects.compactMap {
                guard case .record(let record) = $0 else { return nil }
                return record
            })
        var touched: Set<ConnectionID> = []
        for effect in effects {
            switch effect {
            case .record: break
            case .send(let id, let frame):
                guard let connection = connections[id] else { continue }
                tell(frame, to: connection.process)
                if case .welcome = frame {
                    words.byConnection[id] = connection.welcome(frame, epoch: engine.epoch)
                } else {
                    frame.append(to: &connection.outgoing, epoch: engine.epoch)
                    touched.insert(id)
                }
            case .hangUp(let id): connections[id]?.isRefused = true
            case .log(let level):
                (log.level, place.logLevel) = (level, level)
                log(.notice, "logs at level \(level) from now on, as requested")
            case .leave: isLeaving = true
            }
        }
        for id in touched {
            if let connection = connections[id] { flush(id, connection) }
        }
        for (id, connection) in connections where connection.isRefused { close(id) }
    }

    private func tell(_ frame: BrokerFrame, to process: Int32) {
        switch frame {
        case .refused(_, let reason): log(.warning, "process \(process) was refused: \(reason)")
        case .delegated(let delegation): log(.information, "process \(process) decides its own accesses below \(delegation.roots.map(\.string))")
        default: log(.debug, "to process \(process): \(frame)")
        }
    }

    private func flush(_ id: ConnectionID, _ connection: BrokerConnection) {
        switch connection.flush() {
        case .done:
            if connection.isWaitingToWrite { watchWrites(connection, false) }
        case .blocked:
            if !connection.isWaitingToWrite { watchWrites(connection, true) }
        case .broken: connection.isRefused = true
        }
    }

    private func watchWrites(_ connection: BrokerConnection, _ isOn: Bool) {
        connection.isWaitingToWrite = isOn
        let events = EPOLLIN.rawValue | (isOn ? EPOLLOUT.rawValue : 0)
        _ = clinux_epoll_set(epoll.rawValue, EPOLL_CTL_MOD, connection.socket, events, connection.tags[0])
    }

    // MARK: The place

    /// Checks that the socket still exists and belongs to this broker.
    private func lookAtDirectory() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while read(directoryWatch.rawValue, buffer.baseAddress, buffer.count) > 0 {}
        }
        var (mine, there) = (Glibc.stat(), Glibc.stat())
        guard fstat(lock.rawValue, &mine) == 0, fstatat(place.directory.rawValue, "broker.lock", &there, AT_SYMLINK_NOFOLLOW) == 0,
            mine.st_ino == there.st_ino
        else {
            // The next client cannot find this broker, so the broker leaves; clients tell the next broker about their
            // claims.
            log(.warning, "the broker's lock was removed; it leaves")
            isLeaving = true
            return
        }
        if options.listener == nil, place.socketFile != socketFile { mustBind = true }
    }

    /// Binds the socket again with the starting lock; tries again soon while another process has the lock.
    private func bindAgain() {
        guard clinux_ofd_lock_byte(lock.rawValue, BrokerLock.starting, 0) == 0 else { return }
        defer { clinux_ofd_unlock_byte(lock.rawValue, BrokerLock.starting) }
        accept()
        guard let new = try? place.bind() else { return }
        mustBind = false
        for (tag, source) in sources {
            if case .listener = source { sources[tag] = nil }
        }
        try? listener.close()
        listener = new
        socketFile = place.socketFile
        watch(new.rawValue, .listener)
        log(.notice, "the broker's socket was removed, and is bound again")
    }

    private func leaveIfIdle() {
        guard let idle = options.idle, connections.isEmpty, !isLeaving else { return }
        let since = idleSince ?? engine.time
        idleSince = since
        guard engine.time >= since + UInt64(idle / .nanoseconds(1)) else { return }
        // The lock ensures that a client that finds no socket finds no broker either.
        guard clinux_ofd_lock_byte(lock.rawValue, BrokerLock.starting, 0) == 0 else {
            idleSince = engine.time
            return
        }
        accept()
        guard connections.isEmpty else {
            clinux_ofd_unlock_byte(lock.rawValue, BrokerLock.starting)
            return
        }
        isLeaving = true
    }

    private func leave() {
        log(.notice, "leaving")
        clinux_ofd_lock_byte(lock.rawValue, BrokerLock.starting, 1)
        if options.listener == nil, place.socketFile == socketFile { place.unlinkSocket() }
        // The locks end with their file description.
    }
}

/// Returns the time of the broker's clock.
private func monotonicNanoseconds() -> UInt64 { clinux_monotonic_nanoseconds(0) }
