import CInotifyTools
import Glibc

/// Raw events of libinotifytools, for `TreeWatching`'s `HelperSource`, which keeps the tree.
///
/// Standard input contains requests: three 32-bit numbers (kind, argument, byte count) and a path of that many bytes.
/// Kind 1 watches the path with the argument as mask, 2 removes the watch with the argument's number, 3 synchronises.
/// Standard output contains `struct inotify_event`s as libinotifytools gives them. An answer is an event with watch
/// descriptor -2, the request's kind as mask, and the result as cookie: a watch descriptor, 1 or 0, or a negated error
/// number. It follows the events that were raised before it. The program ends with its standard input.
@main
struct InotifyToolsSource {
    /// The library's inotify descriptor, of which it tells nothing.
    private let queue: CInt
    private var output: [UInt8] = []

    static func main() {
        guard CommandLine.arguments.count == 1, isatty(0) == 0 else {
            fail("a helper that ubwatch starts; see: ubwatch events --source inotifytools", status: 64)
        }
        guard inotifytools_initialize() != 0 else { fail("libinotifytools failed to start: \(String(cString: strerror(inotifytools_error())))") }
        let queue = (0..<1024).first { fd in
            var target = [CChar](repeating: 0, count: 64)
            return readlink("/proc/self/fd/\(fd)", &target, 63) > 0 && strcmp(target, "anon_inode:inotify") == 0
        }
        guard let queue else { fail("the inotify descriptor of libinotifytools is not to be found under /proc/self/fd") }
        // The program that starts the helper may have blocked signals.
        var alarm = sigset_t()
        sigemptyset(&alarm)
        sigaddset(&alarm, SIGALRM)
        sigprocmask(SIG_UNBLOCK, &alarm, nil)
        signal(SIGALRM) { _ in }
        var source = InotifyToolsSource(queue: CInt(queue))
        source.run()
    }

    private init(queue: CInt) { self.queue = queue }

    private mutating func run() {
        while true {
            var descriptors = [pollfd(fd: 0, events: Int16(POLLIN), revents: 0), pollfd(fd: queue, events: Int16(POLLIN), revents: 0)]
            if poll(&descriptors, 2, -1) < 0, errno != EINTR { return }
            if descriptors[1].revents != 0 { drain() }
            if descriptors[0].revents != 0 {
                guard let header = read(exactly: 12) else { return }
                let (kind, argument, length) = header.withUnsafeBytes {
                    (
                        $0.loadUnaligned(as: UInt32.self), $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
                        $0.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
                    )
                }
                guard length <= 65_536, let path = read(exactly: Int(length)) else { return }
                answer(kind, argument, path.map { CChar(bitPattern: $0) } + [0])
            }
            flush()
        }
    }

    private mutating func answer(_ kind: UInt32, _ argument: UInt32, _ path: [CChar]) {
        let result: Int32
        switch kind {
        case 1: result = add(path, argument)
        case 2: result = remove(Int32(bitPattern: argument))
        default:
            drain()
            result = 0
        }
        for value in [UInt32(bitPattern: -2), kind, UInt32(bitPattern: result), 0] { withUnsafeBytes(of: value) { output.append(contentsOf: $0) } }
    }

    private func add(_ path: [CChar], _ mask: UInt32) -> Int32 {
        if inotifytools_watch_file(path, CInt(bitPattern: mask)) == 0 { return -inotifytools_error() }
        // The library finds watch descriptors only by name and confuses equal names. Adding the watch again returns its
        // number.
        let watch = inotify_add_watch(queue, path, mask)
        return watch < 0 ? -errno : watch
    }

    private func remove(_ watch: Int32) -> Int32 {
        // The library forgets a watch at its IN_IGNORED. Its own function reports an error for watches that are gone.
        inotify_rm_watch(queue, watch) == 0 ? 1 : 0
    }

    /// Takes every event that there is, in the queue or read already by the library.
    ///
    /// The library does not tell whether it holds events, and a request for one waits for whole seconds or for ever. A
    /// timer therefore interrupts it after a millisecond. Events that it has given by then are passed on first.
    private mutating func drain() {
        setTimer(microseconds: 1_000)
        defer { setTimer(microseconds: 0) }
        while true {
            var waiting = pollfd(fd: queue, events: Int16(POLLIN), revents: 0)
            if poll(&waiting, 1, 0) == 0 || output.count > 65_536 { flush() }
            guard let event = inotifytools_next_event(0) else { return }
            output.append(contentsOf: UnsafeRawBufferPointer(start: event, count: 16 + Int(event.pointee.len)))
        }
    }

    private func setTimer(microseconds: Int) {
        let interval = timeval(tv_sec: 0, tv_usec: microseconds)
        var timer = itimerval(it_interval: interval, it_value: interval)
        setitimer(CInt(ITIMER_REAL.rawValue), &timer, nil)
    }

    private mutating func flush() {
        var start = 0
        while start < output.count {
            let count = output.withUnsafeBytes { write(1, $0.baseAddress! + start, $0.count - start) }
            if count < 0, errno != EINTR { exit(0) }
            start += max(0, count)
        }
        output.removeAll(keepingCapacity: true)
    }

    private func read(exactly count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes { Glibc.read(0, $0.baseAddress! + filled, count - filled) }
            if got < 0, errno == EINTR { continue }
            if got <= 0 { return nil }
            filled += got
        }
        return bytes
    }

    private static func fail(_ reason: String, status: CInt = 1) -> Never {
        let line = Array("inotifytools-source: \(reason)\n".utf8)
        _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
        exit(status)
    }
}
