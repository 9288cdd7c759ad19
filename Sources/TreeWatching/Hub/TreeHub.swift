import CLinux
import Glibc
import Synchronization
import SystemPackage

/// The thread that serves every watcher of one event source; for the kernel there is one a process.
///
/// The thread reads events, keeps the trees' state and calls taps itself: a change reaches a tap with one thread wake-up, as it would in a bare
/// loop. During long work it reads ahead between system calls, so that the kernel's queue does not fill meanwhile.
final class TreeHub: Sendable {
    typealias Command = @Sendable (HubLoop) -> Void

    private struct Inbox {
        var commands: [Command] = []
        var isEnded = false
    }

    private static let shared = Mutex<TreeHub?>(nil)
    private let inbox = Mutex(Inbox())
    private let wake: CInt
    private let source: any TreeEventSource
    /// Whether the hub's thread waits in the source's read, where only ``BlockingEventSource/interrupt()`` reaches it.
    private let isReading = Atomic(false)

    /// The hub of the kernel's source: one inotify instance serves every watcher of the process, since a user has 128 by default.
    static func kernel() throws(TreeWatchingError) -> TreeHub {
        let result = shared.withLock { hub -> Result<TreeHub, TreeWatchingError> in
            if let hub { return .success(hub) }
            do throws(TreeWatchingError) {
                let new = try TreeHub(source: KernelSource(), outlivesWatchers: true)
                hub = new
                MountTable.watch { new.post { loop in for runner in loop.runners { runner.mountsChanged() } } }
                return .success(new)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    init(source: any TreeEventSource, outlivesWatchers: Bool) throws(TreeWatchingError) {
        wake = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        if wake < 0 { throw .instance(.init(rawValue: errno)) }
        self.source = source
        HubThread.start { [self] in
            HubLoop(source: source, wake: wake, outlivesWatchers: outlivesWatchers, takeCommands: takeCommands, end: end, mayRead: mayRead).run()
        }
    }

    /// Has the hub's thread run `command`; false where it has ended.
    @discardableResult
    func post(_ command: @escaping Command) -> Bool {
        let isFirst = inbox.withLock { inbox -> Bool? in
            if inbox.isEnded { return nil }
            inbox.commands.append(command)
            return inbox.commands.count == 1
        }
        guard let isFirst else { return false }
        if isFirst {
            eventfd_write(wake, 1)
            if isReading.load(ordering: .sequentiallyConsistent), let source = source as? any BlockingEventSource { source.interrupt() }
        }
        return true
    }

    private func takeCommands() -> [Command] {
        inbox.withLock { inbox in
            let commands = inbox.commands
            inbox.commands = []
            return commands
        }
    }

    /// Says that the thread is going to wait in a read, or that it has come back; false where a command has come first.
    private func mayRead(_ isReading: Bool) -> Bool {
        self.isReading.store(isReading, ordering: .sequentiallyConsistent)
        if !isReading || inbox.withLock({ $0.commands.isEmpty }) { return true }
        self.isReading.store(false, ordering: .sequentiallyConsistent)
        return false
    }

    /// Ends the hub unless a command has come meanwhile.
    private func end() -> Bool {
        let isEnded = inbox.withLock { inbox -> Bool in
            if inbox.commands.isEmpty { inbox.isEnded = true }
            return inbox.isEnded
        }
        if isEnded { close(wake) }
        return isEnded
    }
}

/// A thread of our own, that no signal handler of the app runs on.
enum HubThread {
    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    static func start(_ body: @escaping @Sendable () -> Void) {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { argument in
                clinux_name_thread("tree-watching")
                // A few microseconds of work an event: let in at once, it is done before another thread would miss its turn.
                clinux_shorten_slices(100_000)
                Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(Start(body)).toOpaque())
        precondition(failure == 0, "pthread_create failed with error \(failure)")
        pthread_detach(thread)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
