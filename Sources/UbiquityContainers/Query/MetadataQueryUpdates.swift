internal import Synchronization

/// A query's updates; each iteration has its own reader.
///
/// If the query was started, an iteration begins with the current state, as one update in which every item is added. It
/// ends with its task. A slow reader gets several updates merged into one. The query lives while a reader exists.
public struct MetadataQueryUpdates: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = MetadataQueryUpdate
    /// Iteration never throws.
    public typealias Failure = Never

    let query: MetadataQuery

    /// Starts to read.
    ///
    /// - Returns: the iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(query: query, reader: query.subscribe()) }

    /// Iterates over the updates.
    public struct Iterator: AsyncIteratorProtocol {
        let query: MetadataQuery
        let reader: QueryReader

        /// Returns the next update.
        ///
        /// - Parameter actor: the actor whose isolation the call keeps.
        /// - Returns: nil when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> MetadataQueryUpdate? { await reader.next() }

        /// Returns the next update.
        public mutating func next() async -> MetadataQueryUpdate? { await reader.next() }
    }
}

/// The pending updates of a reader: at most four, one of each kind.
final class QueryReader: Sendable {
    private struct State {
        var updates: [MetadataQueryUpdate] = []
        var waiting: CheckedContinuation<MetadataQueryUpdate?, Never>?
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Adds an update for the reader.
    func take(_ update: MetadataQueryUpdate) {
        let waiting = state.withLock { state -> CheckedContinuation<MetadataQueryUpdate?, Never>? in
            if let waiting = state.waiting.take() { return waiting }
            if update.kind == .gatheringBegan {
                state.updates = [update]
            } else if state.updates.last?.kind == update.kind {
                state.updates[state.updates.count - 1].merge(update)
            } else {
                state.updates.append(update)
            }
            return nil
        }
        waiting?.resume(returning: update)
    }

    func next() async -> MetadataQueryUpdate? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> MetadataQueryUpdate?? in
                    if !state.updates.isEmpty { return .some(state.updates.removeFirst()) }
                    if state.isFinished { return .some(nil) }
                    precondition(state.waiting == nil, "One iterator is read by one task at a time")
                    state.waiting = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { state in
                state.isFinished = true
                return state.waiting.take()
            }?.resume(returning: nil)
        }
    }
}
