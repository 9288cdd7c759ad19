internal import Synchronization
internal import SystemPackage
internal import TreeWatching

/// Runs a store's engine whenever there is reason to: a save here, a save by another process, a change in the container.
final class StoreRunner: Sendable {
    private let wakes: AsyncStream<Void>.Continuation
    private let tasks = Mutex<[Task<Void, Never>]>([])
    private let watchers: [TreeWatcher]

    init(engine: StoreEngine, container: FilePath, storeDirectory: FilePath) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        wakes = continuation
        // A container that is gone cannot be watched; the store is suspended until it is opened again.
        let content = try? TreeWatcher(container)
        let store = try? TreeWatcher(storeDirectory)
        watchers = [content, store].compactMap { $0 }
        var running = [
            Task {
                for await _ in stream { await engine.exchangeInBackground() }
            }
        ]
        if let content {
            running.append(
                Task {
                    for await batch in content.changes {
                        await engine.note(batch)
                        continuation.yield()
                    }
                })
        }
        if let store {
            // Another process that saves writes to the write-ahead log.
            running.append(Task { for await _ in store.changes { continuation.yield() } })
        }
        tasks.withLock { $0 = running }
        wake()
    }

    func wake() { wakes.yield() }

    func cancel() {
        wakes.finish()
        for watcher in watchers { watcher.close() }
        for task in tasks.withLock({ $0 }) { task.cancel() }
    }

    /// Cancels, and returns when nothing runs any more.
    func stop() async {
        cancel()
        for task in tasks.withLock({ $0 }) { await task.value }
    }
}
