import Synchronization

/// A watcher's changes, batch by batch.
///
/// Each iteration is a separate subscription. It begins with ``TreeChange/Kind/ready`` (or
/// ``TreeChange/Kind/rootLost(_:)`` if the root is missing), at once if the tree is already watched. It ends when the
/// watcher is closed or the task is cancelled. A reader that falls behind by more than
/// ``TreeWatcher/Options/readerLimit`` changes gets ``TreeChange/Kind/overflow``, the net differences, and
/// ``TreeChange/Kind/rescanned``.
public struct TreeChanges: AsyncSequence, Sendable {
    /// A batch.
    public typealias Element = TreeChangeBatch
    /// Iteration never throws.
    public typealias Failure = Never

    let watcher: TreeWatcher

    /// Starts a subscription.
    /// - Returns: Its iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(watcher: watcher, subscription: watcher.subscribe()) }

    /// The iterator of a subscription, which ends with the last copy of the iterator.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private final class Lifetime: Sendable {
            let watcher: TreeWatcher
            let subscription: Subscription

            init(_ watcher: TreeWatcher, _ subscription: Subscription) {
                self.watcher = watcher
                self.subscription = subscription
            }

            deinit { watcher.unsubscribe(subscription) }
        }

        private let lifetime: Lifetime

        init(watcher: TreeWatcher, subscription: Subscription) { lifetime = Lifetime(watcher, subscription) }

        /// Returns the next batch.
        /// - Returns: The batch; nil when the watcher is closed or the task is cancelled.
        public func next() async -> TreeChangeBatch? { await lifetime.subscription.next() }

        /// Returns the next batch.
        /// - Parameter actor: The caller's isolation.
        /// - Returns: The batch; nil when the watcher is closed or the task is cancelled.
        public func next(isolation actor: isolated (any Actor)?) async -> TreeChangeBatch? { await lifetime.subscription.next() }
    }
}

/// A subscription's buffer, between the hub's thread and one reading task.
final class Subscription: ChangeReader {
    private struct State {
        var batches = Queue<TreeChangeBatch>()
        /// The number of changes in `batches`.
        var count = 0
        /// Collects changes by path while the reader is too far behind.
        var excess: NetChanges?
        var reader: CheckedContinuation<TreeChangeBatch?, Never>?
        var isFinished = false
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// The number of changes, or of entries with a net change, that wait for the reader.
    var kept: Int { state.withLock { $0.count + ($0.excess?.entries.count ?? 0) } }

    func take(_ batch: TreeChangeBatch) {
        let reader = state.withLock { state -> CheckedContinuation<TreeChangeBatch?, Never>? in
            if state.isFinished { return nil }
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            if state.excess != nil {
                state.excess!.take(batch)
            } else if state.count + batch.count > limit, state.count > 0 {
                var excess = NetChanges(root: batch.root)
                for batch in state.batches.elements { excess.take(batch) }
                excess.take(batch)
                state.batches.removeAll()
                state.count = 0
                state.excess = excess
            } else {
                state.batches.append(batch)
                state.count += batch.count
            }
            return nil
        }
        reader?.resume(returning: batch)
    }

    func finish() {
        let reader = state.withLock { state in
            state.isFinished = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    func next() async -> TreeChangeBatch? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> TreeChangeBatch?? in
                    if let batch = state.batches.popFirst() {
                        state.count -= batch.count
                        return .some(batch)
                    }
                    if let excess = state.excess.take() { return .some(excess.batch()) }
                    if state.isFinished || Task.isCancelled { return .some(nil) }
                    precondition(state.reader == nil, "one iterator is read by one task at a time")
                    state.reader = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            finish()
        }
    }
}
