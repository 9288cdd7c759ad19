import Glibc
import Synchronization

/// Standard output, written directly while it accepts everything at once, and by a separate thread if its reader is
/// slow.
///
/// A reader that stops therefore costs memory, up to a limit, but no event. Beyond the limit the watching thread waits,
/// the kernel's queue overflows, and the watcher repairs that.
final class EventsOutput: Sendable {
    private struct State {
        var backlog: [UInt8] = []
        var isWriting = false
        var isGone = false
        var onGone: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private static let limit = 256 << 20

    /// Called when the output has no reader any more.
    var onGone: (@Sendable () -> Void)? {
        get { state.withLock { $0.onGone } }
        set { state.withLock { $0.onGone = newValue } }
    }

    func write(_ bytes: [UInt8]) {
        if bytes.isEmpty { return }
        var rest = bytes[...]
        while true {
            let (startsThread, mustWait) = state.withLock { state -> (Bool, Bool) in
                if state.isGone { return (false, false) }
                if !state.isWriting {
                    rest = writeReady(rest, &state)
                    if rest.isEmpty { return (false, false) }
                }
                if state.backlog.count > Self.limit { return (false, true) }
                state.backlog.append(contentsOf: rest)
                defer { state.isWriting = true }
                return (!state.isWriting, false)
            }
            if startsThread { startThread() }
            if !mustWait { return }
            usleep(10_000)
        }
    }

    /// Writes as long as no wait is needed: poll(2) guarantees room for PIPE_BUF bytes.
    private func writeReady(_ bytes: ArraySlice<UInt8>, _ state: inout State) -> ArraySlice<UInt8> {
        var rest = bytes
        while !rest.isEmpty {
            var descriptor = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
            guard poll(&descriptor, 1, 0) > 0, descriptor.revents & Int16(POLLOUT) != 0 else { return rest }
            let count = rest.withUnsafeBytes { Glibc.write(1, $0.baseAddress, min($0.count, 4_096)) }
            if count < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                lose(&state)
                return []
            }
            rest = rest.dropFirst(count)
        }
        return rest
    }

    private func lose(_ state: inout State) {
        state.isGone = true
        state.backlog = []
        state.onGone?()
    }

    private func startThread() {
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { argument in
                Unmanaged<EventsOutput>.fromOpaque(argument!).takeRetainedValue().writeBacklog()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        pthread_detach(thread)
    }

    private func writeBacklog() {
        while true {
            let bytes = state.withLock { state in
                let bytes = state.backlog
                state.backlog = []
                if bytes.isEmpty { state.isWriting = false }
                return bytes
            }
            if bytes.isEmpty { return }
            var offset = 0
            while offset < bytes.count {
                let count = bytes.withUnsafeBytes { Glibc.write(1, $0.baseAddress! + offset, $0.count - offset) }
                if count < 0, errno != EINTR, errno != EAGAIN {
                    state.withLock { lose(&$0) }
                    return
                }
                offset += max(0, count)
            }
        }
    }

    /// Waits for a slow reader, at most one second.
    func finish() {
        for _ in 0..<100 where state.withLock({ $0.isWriting && !$0.isGone }) { usleep(10_000) }
    }
}
