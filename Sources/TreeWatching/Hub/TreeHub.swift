import CLinux
import Glibc
import Synchronization
import SystemPackage

/// The thread that serves all watchers of one event source.
///
/// The kernel's source has one for all disks of this machine, and one for each mounted file system that another program
/// or machine provides: if that does not answer, a look there blocks the thread, and with it these watchers alone.
///
/// The thread reads events, updates the trees and calls taps itself: a change reaches a tap with one thread wake-up, as
/// in a plain loop. During long work it reads ahead between system calls, so that the kernel's queue does not fill.
final class TreeHub: Sendable {
    typealias Command = @Sendable (HubLoop) -> Void

    private struct Inbox {
        var commands: [Command] = []
        var isEnded = false
    }

    /// The hubs of the kernel's source, by the mount that they serve; nil for the disks of this machine.
    private static let shared = Mutex<[MountTable.Mount?: TreeHub]>([:])
    private let inbox = Mutex(Inbox())
    private let wake: CInt
    private let source: any TreeEventSource
    /// The roots to which a thread is on its way, because a mount has changed.
    private let approached = Mutex<Set<[UInt8]>>([])
    /// Whether the hub's thread waits in the source's read, which only ``BlockingEventSource/interrupt()`` can end.
    private let isReading = Atomic(false)

    /// Returns the hub of the kernel's source for the trees of a mount.
    ///
    /// One inotify instance serves all watchers on the disks of this machine, because a user has 128 by default.
    ///
    /// - Parameter mount: the mount that another program or machine provides; nil for the disks of this machine. A tree
    ///   that comes to lie on another file system later stays with its hub.
    /// - Returns: the hub.
    /// - Throws: `TreeWatchingError` when there can be no more inotify instances.
    static func kernel(for mount: MountTable.Mount?) throws(TreeWatchingError) -> TreeHub {
        let result = shared.withLock { hubs -> Result<TreeHub, TreeWatchingError> in
            if let hub = hubs[mount] { return .success(hub) }
            do throws(TreeWatchingError) {
                let new = try TreeHub(source: KernelSource(), outlivesWatchers: true)
                if hubs.isEmpty { MountTable.watch(lookAfterMount) }
                hubs[mount] = new
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

    /// Makes the hub's thread run `command`; returns false if the thread has ended.
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

    /// Makes all trees look for their roots, after a file system has been mounted or unmounted.
    private static func lookAfterMount() -> Bool {
        for hub in shared.withLock({ Array($0.values) }) {
            hub.post { loop in for root in Set(loop.runners.map(\.root)) { hub.lookAfterMount(at: root) } }
        }
        return true
    }

    /// Makes the trees at a root look for it, after a file system has been mounted or unmounted.
    ///
    /// They look on the hub's thread, and a file system that does not answer blocks the thread that looks: so another
    /// thread goes there first. While it waits, the watchers of other trees are served, and nobody goes there again.
    private func lookAfterMount(at root: [UInt8]) {
        guard approached.withLock({ $0.insert(root).inserted }) else { return }
        HubThread.start { [self] in
            var status = stat()
            _ = (root + [0]).withUnsafeBytes { stat($0.assumingMemoryBound(to: CChar.self).baseAddress!, &status) }
            approached.withLock { _ = $0.remove(root) }
            post { loop in for runner in loop.runners where runner.root == root { runner.mountsChanged() } }
        }
    }

    private func takeCommands() -> [Command] {
        inbox.withLock { inbox in
            let commands = inbox.commands
            inbox.commands = []
            return commands
        }
    }

    /// Records that the thread starts or ends a wait in a read; returns false if a command has arrived first.
    private func mayRead(_ isReading: Bool) -> Bool {
        self.isReading.store(isReading, ordering: .sequentiallyConsistent)
        if !isReading || inbox.withLock({ $0.commands.isEmpty }) { return true }
        self.isReading.store(false, ordering: .sequentiallyConsistent)
        return false
    }

    /// Ends the hub unless a command has arrived meanwhile.
    private func end() -> Bool {
        let isEnded = inbox.withLock { inbox -> Bool in
            if inbox.commands.isEmpty { inbox.isEnded = true }
            return inbox.isEnded
        }
        if isEnded { close(wake) }
        return isEnded
    }
}

/// A thread of this package, on which no signal handler of the app runs.
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
                // An event takes a few microseconds. If the thread runs at once, it is finished before another thread
                // loses its turn.
                clinux_shorten_slices(100_000)
                Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(Start(body)).toOpaque())
        precondition(failure == 0, "pthread_create failed with error \(failure)")
        pthread_detach(thread)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
