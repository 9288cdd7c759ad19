internal import StoreFormat
package import UbiquityContainers

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

    package let broadcast: Broadcast<ImportProgress>

    package init(broadcast: Broadcast<ImportProgress>) { self.broadcast = broadcast }

    /// Begins to observe.
    public func makeAsyncIterator() -> AsyncStream<ImportProgress>.Iterator { broadcast.subscribe().makeAsyncIterator() }
}

extension Broadcast<ImportProgress> {
    /// Changes the present; observers hear of it if it is another one then.
    func update(_ change: (inout ImportProgress) -> Void) {
        post { present in
            var new = present.first ?? ImportProgress()
            change(&new)
            guard new != present.first else { return nil }
            present = [new]
            return new
        }
    }
}

extension ImportProgress {
    /// Logs are to be joined, of as many as are here; counts begin anew where no import was under way.
    mutating func begin(_ logs: [ReadyLog], here: Int) {
        if !isImporting { self = ImportProgress(isImporting: true) }
        knownLogs = self.logs + logs.count + here
        knownChanges = Self.count(of: logs, from: changes)
    }

    /// So many logs are to be joined at once.
    mutating func begin(logs count: Int) {
        if !isImporting { self = ImportProgress(isImporting: true) }
        knownLogs = max(knownLogs, logs + count)
    }

    /// So many logs have been joined at once.
    mutating func finish(logs count: Int) { logs += count }

    /// The first of these logs have been joined.
    mutating func finish(_ logs: some Collection<ReadyLog>) {
        self.logs += logs.count
        changes = Self.count(of: logs, from: changes)
    }

    /// A log says itself how many changes are in it, and may say anything.
    private static func count(of logs: some Collection<ReadyLog>, from start: Int) -> Int {
        logs.reduce(start) { count, log in
            let (sum, isTooGreat) = count.addingReportingOverflow(Int(clamping: log.log.header.changes))
            return isTooGreat ? .max : sum
        }
    }
}
