internal import Foundation
internal import StoreRecords
internal import Synchronization
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Runs a store's exchange after a save here, a save by another process, or a change in the container.
package final class ExchangeTrigger: Sendable {
    private let wakes: Wakes
    private let tasks = Mutex<[Task<Void, Never>]>([])
    private let watchers: [TreeWatcher]
    private let runner: ExchangeRunner

    /// Starts the trigger.
    ///
    /// - Parameters:
    ///   - runner: the exchange to run.
    ///   - container: the container to watch, or nil for none.
    ///   - storeDirectory: the directory of the store file.
    ///   - onExchange: called after each successful exchange.
    init(
        runner: ExchangeRunner, container: UbiquityContainer?, storeDirectory: FilePath, onExchange: (@Sendable () async -> Void)? = nil
    ) {
        let wakes = Wakes()
        self.wakes = wakes
        self.runner = runner
        var faults: [String] = []
        func watcher(_ directory: FilePath, _ options: TreeWatcher.Options = .init()) -> TreeWatcher? {
            var options = options
            // This thread is no part of the task that has opened the store.
            options.metrics = runner.context.metrics.recorder.another([:])
            do {
                return try TreeWatcher(directory, options: options)
            } catch {
                faults.append(String(describing: error))
                return nil
            }
        }
        let content = container.flatMap { container in
            var options = TreeWatcher.Options()
            options.followsRoot = false
            options.awaitsRoot = true
            options.sharing = .open
            return watcher(container.path, options)
        }
        let store = watcher(storeDirectory)
        watchers = [content, store].compactMap { $0 }
        let fault = faults.isEmpty ? nil : "changes are not noticed by themselves: \(faults.joined(separator: "; "))"
        var running = [
            Task {
                await runner.setWatchFault(fault)
                await Self.run(runner, wakes, onExchange)
            }
        ]
        if let content {
            running.append(
                Task {
                    for await batch in content.changes where await runner.note(batch) { wakes.wake() }
                })
        }
        if let store {
            // A save by another process writes to the write-ahead log, and so does each exchange itself. Lock files in that
            // directory change with every exchange.
            running.append(
                Task {
                    for await batch in store.changes where !batch.allSatisfy({ $0.withPathBytes(StoreLock.isLock) }) {
                        wakes.look()
                    }
                })
        }
        if let suspensions = container?.suspensions {
            running.append(
                Task {
                    for await _ in suspensions { wakes.wake() }
                })
        }
        tasks.withLock { $0 = running }
        wake()
    }

    /// Reasons to exchange, which unite until the next exchange begins.
    private final class Wakes: Sendable {
        let stream: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation
        private let isNeeded = Mutex(false)

        init() { (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

        /// Asks for an exchange.
        func wake() {
            isNeeded.withLock { $0 = true }
            continuation.yield()
        }

        /// Asks for an exchange if the store file holds something that waits for one.
        func look() { continuation.yield() }

        /// Returns whether an exchange was asked for since the last call.
        func takeNeed() -> Bool {
            isNeeded.withLock { isNeeded in
                defer { isNeeded = false }
                return isNeeded
            }
        }

        func finish() { continuation.finish() }
    }

    /// Exchanges at every wake, until the sequence of wakes ends.
    private static func run(
        _ runner: ExchangeRunner, _ wakes: Wakes, _ onExchange: (@Sendable () async -> Void)?
    ) async {
        let log = runner.context.log
        var pause = Duration.milliseconds(500)
        var alarm: Task<Void, Never>?
        var answering: Task<Void, Never>?
        // Waits for a file system that has not answered.
        var returning: Task<Void, Never>?
        for await _ in wakes.stream {
            // Asked only now: an exchange that has run since has taken what there was.
            var isNeeded = wakes.takeNeed()
            if !isNeeded { isNeeded = await runner.hasUnexchanged }
            guard isNeeded else { continue }
            alarm?.cancel()
            let isWell = await runner.exchangeInBackground()
            if await !runner.isWiped {
                answering?.cancel()
                answering = nil
            } else if answering == nil {
                // The app may take long to answer, and the content may come back before that.
                answering = Task {
                    var pause = Duration.seconds(1)
                    while !Task.isCancelled {
                        do {
                            if try await runner.answerWipe(asking: true) { wakes.wake() }
                            return
                        } catch {
                            guard (try? await Task.sleep(for: pause)) != nil else { return }
                            pause = min(pause * 2, .seconds(60))
                        }
                    }
                }
            }
            if isWell { await onExchange?() }
            if await runner.isSilent, let container = runner.context.container?.path {
                returning?.cancel()
                returning = Task {
                    await DirectoryProbe.answer(of: container)
                    if !Task.isCancelled { wakes.wake() }
                }
            }
            // Nothing reports that a full disk has space again or a busy file is free. The pauses between attempts
            // grow.
            let next = isWell ? await runner.nextTime : .now + pause
            pause = isWell ? .milliseconds(500) : min(pause * 2, .seconds(60))
            alarm = next.map { time in
                Task {
                    guard (try? await Task.sleep(until: time)) != nil else { return }
                    log.detail("a set time is a reason to exchange")
                    wakes.wake()
                }
            }
        }
        alarm?.cancel()
        answering?.cancel()
        returning?.cancel()
    }

    package func wake() { wakes.wake() }

    package func cancel() {
        wakes.finish()
        runner.context.stop.set()
        for watcher in watchers { watcher.close() }
        for task in tasks.withLock({ $0 }) { task.cancel() }
    }

    /// Cancels the trigger, and returns when nothing runs any more.
    func stop() async {
        cancel()
        for task in tasks.withLock({ $0 }) { await task.value }
    }
}
