internal import Foundation
internal import StoreRecords
internal import Synchronization
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Runs a store's engine whenever there is reason to: a save here, a save by another process, a change in the container.
package final class StoreRunner: Sendable {
    private let wakes: AsyncStream<Void>.Continuation
    private let tasks = Mutex<[Task<Void, Never>]>([])
    private let watchers: [TreeWatcher]
    private let engine: ExchangeRunner

    /// Begins.
    ///
    /// - Parameters:
    ///   - engine: what is run.
    ///   - container: the container that is watched; nil for none.
    ///   - storeDirectory: where the store file lies.
    ///   - onExchange: is called after each exchange that went well.
    init(
        engine: ExchangeRunner, container: UbiquityContainer?, storeDirectory: FilePath, onExchange: (@Sendable () async -> Void)? = nil
    ) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        wakes = continuation
        self.engine = engine
        var faults: [String] = []
        func watcher(_ directory: FilePath, _ options: TreeWatcher.Options = .init()) -> TreeWatcher? {
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
                await engine.setWatchFault(fault)
                await Self.run(engine, stream, continuation, onExchange)
            }
        ]
        if let content {
            running.append(
                Task {
                    for await batch in content.changes where await engine.note(batch) { continuation.yield() }
                })
        }
        if let store {
            // Another process that saves writes to the write-ahead log; the locks that lie there are taken for every exchange.
            running.append(
                Task {
                    for await batch in store.changes where !batch.allSatisfy({ $0.withPathBytes(StoreLock.isLock) }) { continuation.yield() }
                })
        }
        if let suspensions = container?.suspensions {
            running.append(
                Task {
                    for await _ in suspensions { continuation.yield() }
                })
        }
        tasks.withLock { $0 = running }
        wake()
    }

    /// Exchanges at every wake, until there are no more.
    private static func run(
        _ engine: ExchangeRunner, _ stream: AsyncStream<Void>, _ wakes: AsyncStream<Void>.Continuation,
        _ onExchange: (@Sendable () async -> Void)?
    ) async {
        var pause = Duration.milliseconds(500)
        var alarm: Task<Void, Never>?
        var answering: Task<Void, Never>?
        for await _ in stream {
            alarm?.cancel()
            let isWell = await engine.exchangeInBackground()
            if await !engine.isWiped {
                answering?.cancel()
                answering = nil
            } else if answering == nil {
                // The app may take its time; what is gone may be back before.
                answering = Task {
                    var pause = Duration.seconds(1)
                    while !Task.isCancelled {
                        do {
                            if try await engine.answerWipe(asking: true) { wakes.yield() }
                            return
                        } catch {
                            guard (try? await Task.sleep(for: pause)) != nil else { return }
                            pause = min(pause * 2, .seconds(60))
                        }
                    }
                }
            }
            if isWell { await onExchange?() }
            // A full disk or a busy file gives no sign when it is over: ask again, more and more seldom.
            let next = isWell ? await engine.nextTime : .now + pause
            pause = isWell ? .milliseconds(500) : min(pause * 2, .seconds(60))
            alarm = next.map { time in
                Task {
                    if (try? await Task.sleep(until: time)) != nil { wakes.yield() }
                }
            }
        }
        alarm?.cancel()
        answering?.cancel()
    }

    package func wake() { wakes.yield() }

    package func cancel() {
        wakes.finish()
        engine.context.stop.set()
        for watcher in watchers { watcher.close() }
        for task in tasks.withLock({ $0 }) { task.cancel() }
    }

    /// Cancels, and returns when nothing runs any more.
    func stop() async {
        cancel()
        for task in tasks.withLock({ $0 }) { await task.value }
    }
}
