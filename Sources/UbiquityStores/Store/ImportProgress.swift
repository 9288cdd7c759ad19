internal import Synchronization

/// How far an import has come.
public struct ImportProgress: Sendable, Hashable {
    /// Whether logs are being joined now.
    ///
    /// Once it is false, what is known and not done waits for files that are not here, or for an update of the app.
    public var isImporting = false
    /// How many logs have been joined since the import began.
    public var logs = 0
    /// How many there are: those joined, and those that are here.
    public var knownLogs = 0
    /// How many changes of records have been joined since the import began.
    public var changes = 0
    /// How many changes there are in the logs joined and in those that are next; of others nobody knows yet.
    public var knownChanges = 0
}

/// The progress of a store's imports, for any number of observers: first what is now, then each step.
///
/// A slow observer misses steps, never the last.
public struct ImportProgressSequence: AsyncSequence, Sendable {
    /// What the sequence gives.
    public typealias Element = ImportProgress
    /// It ends when the store closes, and never fails.
    public typealias Failure = Never

    let hub: Hub

    /// Begins to observe.
    public func makeAsyncIterator() -> AsyncStream<ImportProgress>.Iterator { hub.subscribe().makeAsyncIterator() }

    /// Holds the present progress, and hands it to every observer.
    final class Hub: Sendable {
        private struct State {
            var present = ImportProgress()
            var observers: [Int: AsyncStream<ImportProgress>.Continuation] = [:]
            var next = 0
            var isClosed = false
        }

        private let state = Mutex(State())

        func subscribe() -> AsyncStream<ImportProgress> {
            let (stream, continuation) = AsyncStream.makeStream(of: ImportProgress.self, bufferingPolicy: .bufferingNewest(1))
            let number: Int? = state.withLock { state in
                continuation.yield(state.present)
                guard !state.isClosed else { return nil }
                state.next += 1
                state.observers[state.next] = continuation
                return state.next
            }
            guard let number else {
                continuation.finish()
                return stream
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { $0.observers[number] = nil }
            }
            return stream
        }

        /// Changes the present; observers hear of it if it is another one then.
        func update(_ change: (inout ImportProgress) -> Void) {
            let (observers, present) = state.withLock { state in
                let before = state.present
                change(&state.present)
                return (before == state.present ? [] : Array(state.observers.values), state.present)
            }
            for observer in observers { observer.yield(present) }
        }

        func close() {
            let observers = state.withLock { state in
                state.isClosed = true
                defer { state.observers = [:] }
                return Array(state.observers.values)
            }
            for observer in observers { observer.finish() }
        }
    }
}

extension ImportProgress {
    /// Logs are to be joined, of as many as are here; counts begin anew where no import was under way.
    mutating func begin(_ logs: [ReadyLog], here: Int) {
        if !isImporting { self = ImportProgress(isImporting: true) }
        knownLogs = self.logs + logs.count + here
        knownChanges = changes + logs.reduce(0) { $0 + Int(clamping: $1.log.header.changes) }
    }

    /// The first of these logs have been joined.
    mutating func finish(_ logs: some Collection<ReadyLog>) {
        self.logs += logs.count
        changes += logs.reduce(0) { $0 + Int(clamping: $1.log.header.changes) }
    }
}
