import CLinux
import Glibc

/// The loop of a hub's thread; only that thread uses it.
final class HubLoop {
    let source: any TreeEventSource
    private let wake: CInt
    private let outlivesWatchers: Bool
    private let takeCommands: () -> [TreeHub.Command]
    private let end: () -> Bool
    private let mayRead: (Bool) -> Bool
    private let blocking: (any BlockingEventSource)?
    private(set) var runners: [TreeRunner] = []
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 8)
    private let aside = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 8)
    /// Events that were read while the thread handled others.
    private var ahead: [UInt8] = []
    /// The start time of the last read that emptied the queue.
    private var emptiedAt: Int64 = 0
    /// The reason why the source delivers no more events.
    private var failure: TreeWatchingError?
    /// Whether the queue was empty and no work was left at the end of the last round.
    private var isSettled = true
    /// The tick of the next change of any watcher of this hub.
    var nextTick: UInt64 = 1

    /// The limit for bytes read ahead; beyond it the kernel's queue may overflow, which the watcher repairs.
    private static let aheadLimit = 256 << 20

    init(
        source: any TreeEventSource, wake: CInt, outlivesWatchers: Bool, takeCommands: @escaping () -> [TreeHub.Command], end: @escaping () -> Bool,
        mayRead: @escaping (Bool) -> Bool
    ) {
        self.source = source
        self.wake = wake
        self.outlivesWatchers = outlivesWatchers
        self.takeCommands = takeCommands
        self.end = end
        self.mayRead = mayRead
        blocking = source as? any BlockingEventSource
    }

    deinit {
        buffer.deallocate()
        aside.deallocate()
    }

    func run() {
        var hadWatchers = false
        while true {
            let count = wait()
            if count > 0 {
                // The path of an event when no other work exists: one read is the only call between the event and the
                // taps.
                isSettled = takeIn(count, at: Clock.wall())
                if isSettled { continue }
            }
            for command in takeCommands() { command(self) }
            pump()
            let now = Clock.monotonic()
            var hasExpired = false
            for runner in runners where runner.expire(at: now) { hasExpired = true }
            // Expired moves need a look, a barrier may have been reached, and work may have read ahead.
            if hasExpired || !ahead.isEmpty || runners.contains(where: \.awaitsBarrier) { pump() }
            if runners.isEmpty {
                if hadWatchers, !outlivesWatchers, end() { break }
            } else {
                hadWatchers = true
            }
        }
        source.close()
    }

    /// Begins to watch for a watcher: with others, where it shares a tree that is watched already, else on its own.
    func open(_ view: TreeView) {
        // Earlier events are not for the new watcher, which would hear of them after `ready`.
        if view.options.sharing != .alone { pump() }
        if let failure {
            view.report(failure)
            return view.end(failure)
        }
        if let runner = runners.first(where: { $0.takesIn(view) }) { return runner.join(view) }
        let runner = TreeRunner(for: view, hub: self)
        runners.append(runner)
        runner.begin()
    }

    /// Ends a watcher, and with the last one of a tree the tree.
    func remove(_ identifier: UInt64) {
        guard let position = runners.firstIndex(where: { $0.view(identifier) != nil }), runners[position].leave(identifier) else { return }
        let runner = runners.remove(at: position)
        runner.end()
    }

    func runner(_ identifier: UInt64) -> TreeRunner? { runners.first { $0.view(identifier) != nil } }

    func view(_ identifier: UInt64) -> TreeView? { runner(identifier)?.view(identifier) }

    /// Returns whether another tree uses a watch.
    func isWatched(_ watch: Int32, besides runner: TreeRunner) -> Bool { runners.contains { $0 !== runner && $0.holds(watch) } }

    /// Waits for events, commands and deadlines; if the source allows it, `buffer` contains events on return, and their
    /// size is returned.
    private func wait() -> Int {
        var timeout: Int64 = failure == nil && (!isSettled || source.hasEvents) ? 0 : -1
        for runner in runners {
            guard let deadline = runner.deadline else { continue }
            let left = max(0, deadline - Clock.monotonic())
            timeout = timeout < 0 ? left : min(timeout, left)
        }
        if timeout < 0, let blocking, blocking.prepareToWait(), mayRead(true) {
            let count = blocking.waitAndRead(into: buffer)
            _ = mayRead(false)
            if count > 0 { return count }
        }
        var descriptors = (
            pollfd(fd: failure != nil ? -1 : source.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0)
        )
        let isWoken = withUnsafeMutableBytes(of: &descriptors) { bytes in
            let array = bytes.assumingMemoryBound(to: pollfd.self)
            return clinux_poll(array.baseAddress, 2, timeout) > 0 && array[1].revents != 0
        }
        if isWoken {
            var count: eventfd_t = 0
            eventfd_read(wake, &count)
        }
        return 0
    }

    /// Reads and handles events until the queue is empty and no work is left, or for a limited number of rounds.
    func pump() {
        if failure != nil { return }
        var rounds = 0
        while true {
            let began = Clock.wall()
            let count: Int
            do throws(TreeWatchingError) {
                count = try source.read(into: buffer)
            } catch {
                failure = error
                for runner in runners { runner.fail(error) }
                runners = []
                return
            }
            isSettled = takeIn(count, at: began)
            if isSettled { return }
            rounds += 1
            // During a storm of events, commands and deadlines get their turn.
            if rounds == 64 { return }
        }
    }

    /// Handles the events in `buffer`, and delivers the resulting changes; returns true when no work is left.
    private func takeIn(_ count: Int, at began: Int64) -> Bool {
        for runner in runners { runner.noteRead() }
        // Events that were read ahead, during work for a command or a deadline, come first.
        let earlier = ahead
        ahead = []
        if !earlier.isEmpty { earlier.withUnsafeBytes { distribute($0, at: began) } }
        if count > 0 { distribute(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: began) }
        // There was room for one more event, so the queue was empty.
        var isSettled = count < buffer.count - 4_352
        if isSettled { emptiedAt = began }
        while !ahead.isEmpty {
            let events = ahead
            ahead = []
            events.withUnsafeBytes { distribute($0, at: Clock.wall()) }
        }
        if isSettled {
            for runner in runners where runner.drained(since: emptiedAt) { isSettled = false }
            if !ahead.isEmpty { isSettled = false }
        }
        for runner in runners where isSettled || runner.isFlushDue { runner.flush(isSettled: isSettled) }
        return isSettled
    }

    /// Whether there are events that the loop has not handled yet.
    var hasUnreadEvents: Bool {
        if !ahead.isEmpty || source.hasEvents { return true }
        var descriptor = pollfd(fd: source.descriptor, events: Int16(POLLIN), revents: 0)
        return clinux_poll(&descriptor, 1, 0) > 0
    }

    private func distribute(_ events: UnsafeRawBufferPointer, at time: Int64) {
        for runner in runners { runner.receive(events, at: time) }
    }

    /// Reads events into memory during long work, so that the kernel's queue does not fill.
    func readAhead() {
        if failure != nil || ahead.count > Self.aheadLimit { return }
        while true {
            let began = Clock.wall()
            guard let count = try? source.read(into: aside), count > 0 else {
                emptiedAt = began
                return
            }
            ahead.append(contentsOf: UnsafeRawBufferPointer(rebasing: aside[..<count]))
            if count < aside.count - 4_352 {
                emptiedAt = began
                return
            }
        }
    }
}

/// The clocks of clock_gettime(2).
enum Clock {
    /// Nanoseconds since 1970.
    static func wall() -> Int64 { read(CLOCK_REALTIME) }
    /// Nanoseconds since a fixed instant in the past; this clock never goes back.
    static func monotonic() -> Int64 { read(CLOCK_MONOTONIC) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return FileSystem.nanoseconds(time)
    }
}
