import CLinux
import Glibc
import Synchronization
import SystemPackage

/// Raw events of libinotifytools, from the helper program `inotifytools-source`.
///
/// Requests go to the helper's standard input. Events and answers come from its standard output in one ordered stream,
/// so that an answer follows all events that were raised before it. The helper's source describes the format. This
/// process lists directories itself.
final class HelperSource: TreeEventSource {
    private enum Request: UInt32 { case add = 1, remove, synchronise }

    private struct State {
        /// Events that came before an answer, and the start of an incomplete one.
        var pending: [UInt8] = []
        var isEnded = false
    }

    let descriptor: CInt
    private let process: pid_t
    private let helper: FilePath
    private let state = Mutex(State())

    init(helper: FilePath) throws(TreeWatchingError) {
        var sockets: (CInt, CInt) = (-1, -1)
        let failure = withUnsafeMutableBytes(of: &sockets) {
            socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, $0.assumingMemoryBound(to: CInt.self).baseAddress!)
        }
        if failure != 0 { throw .instance(Errno(rawValue: errno)) }
        defer { Glibc.close(sockets.1) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, sockets.1, 0)
        posix_spawn_file_actions_adddup2(&actions, sockets.1, 1)
        var process = pid_t()
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup(helper.string), nil]
        defer { free(arguments[0]) }
        let error = helper.withPlatformString { posix_spawn(&process, $0, &actions, nil, arguments, Glibc.environ) }
        if error != 0 {
            Glibc.close(sockets.0)
            throw TreeWatchingError(
                .sourceFailed, "cannot start the event source \(helper): \(Errno(rawValue: error)); build or install it, or use the kernel's events",
                cause: Errno(rawValue: error), path: helper)
        }
        descriptor = sockets.0
        self.process = process
        self.helper = helper
    }

    var hasEvents: Bool { state.withLock { $0.pending.count >= RawEvent.headerSize && Self.wholeEvents($0.pending, limit: .max) > 0 } }

    func addWatch(_ path: UnsafePointer<CChar>, mask: UInt32) throws(Errno) -> Int32 {
        let result: Int32
        if strlen(path) < 4_096 {
            result = ask(.add, mask, UnsafeRawBufferPointer(start: path, count: strlen(path)))
        } else {
            // A path that is too long for a system call is passed through a descriptor of this process.
            result = try LongPath.withDescriptor(path, O_PATH | O_DIRECTORY | O_NOFOLLOW) { (fd) throws(Errno) in
                let link = Array("/proc/\(getpid())/fd/\(fd)".utf8)
                return link.withUnsafeBytes { ask(.add, mask & ~RawEvent.Mask.dontFollow.rawValue, $0) }
            }
        }
        if result < 0 { throw Errno(rawValue: -result) }
        return result
    }

    func removeWatch(_ watch: Int32) -> Bool { ask(.remove, UInt32(bitPattern: watch), UnsafeRawBufferPointer(start: nil, count: 0)) == 1 }

    func synchronise() { _ = ask(.synchronise, 0, UnsafeRawBufferPointer(start: nil, count: 0)) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TreeWatchingError) -> Int {
        let count = state.withLock { state -> Int? in
            while !state.isEnded, receive(&state.pending, waiting: false, &state.isEnded) {}
            let count = Self.wholeEvents(state.pending, limit: buffer.count)
            if count == 0 { return state.isEnded ? nil : 0 }
            buffer.copyBytes(from: state.pending[..<count])
            state.pending.removeFirst(count)
            return count
        }
        guard let count else {
            throw TreeWatchingError(
                .sourceFailed, "the event source \(helper) ended; nothing is watched any more, start watching again", path: helper)
        }
        return count
    }

    func list(_ path: UnsafePointer<CChar>, into listing: inout DirectoryListing, pause: () -> Void) throws(Errno) {
        try FileSystem.list(path, into: &listing, pause: pause)
    }

    func status(of path: UnsafePointer<CChar>, followingLinks: Bool) throws(Errno) -> EntryStatus {
        try FileSystem.status(of: path, followingLinks: followingLinks)
    }

    func close() {
        Glibc.close(descriptor)
        // The helper ends when its standard input closes.
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
    }

    // MARK: Internals

    /// Sends a request and waits for its answer; keeps the events before it.
    private func ask(_ request: Request, _ argument: UInt32, _ path: UnsafeRawBufferPointer) -> Int32 {
        var message: [UInt8] = []
        for value in [request.rawValue, argument, UInt32(path.count)] { withUnsafeBytes(of: value) { message.append(contentsOf: $0) } }
        message.append(contentsOf: path)
        return state.withLock { state in
            var sent = 0
            while sent < message.count, !state.isEnded {
                let count = message.withUnsafeBytes { send(descriptor, $0.baseAddress! + sent, $0.count - sent, CInt(MSG_NOSIGNAL)) }
                if count < 0, errno != EINTR { state.isEnded = true }
                sent += max(0, count)
            }
            var searched = 0
            while true {
                while let event = Self.event(in: state.pending, at: searched) {
                    if event.watch == -2 {
                        state.pending.removeSubrange(searched..<(searched + event.size))
                        return Int32(bitPattern: event.cookie)
                    }
                    searched += event.size
                }
                if state.isEnded || !receive(&state.pending, waiting: true, &state.isEnded) { return -ESRCH }
            }
        }
    }

    /// Receives bytes; false if there are none.
    private func receive(_ bytes: inout [UInt8], waiting: Bool, _ isEnded: inout Bool) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, waiting ? 0 : CInt(MSG_DONTWAIT))
                if count > 0 {
                    bytes.append(contentsOf: buffer[..<count])
                    return true
                }
                if count < 0, errno == EINTR { continue }
                if count == 0 || errno != EAGAIN { isEnded = true }
                return false
            }
        }
    }

    private static func event(in bytes: [UInt8], at offset: Int) -> RawEvent? {
        guard bytes.count >= offset + RawEvent.headerSize else { return nil }
        let event = bytes.withUnsafeBytes { RawEvent($0, at: offset) }
        return bytes.count >= offset + event.size ? event : nil
    }

    private static func wholeEvents(_ bytes: [UInt8], limit: Int) -> Int {
        var end = 0
        while let event = event(in: bytes, at: end), end + event.size <= limit { end += event.size }
        return end
    }
}
