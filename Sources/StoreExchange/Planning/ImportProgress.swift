internal import StoreFormat
package import UbiquityContainers

/// The progress of an import.
public struct ImportProgress: Sendable, Hashable {
    /// Whether logs are being joined now.
    ///
    /// When it is false, logs that are known but not joined wait for files that have not arrived, or for an update of
    /// the app.
    public var isImporting = false
    /// The number of logs that have been joined since the import began.
    public var logs = 0
    /// The number of logs of the import: those that have been joined and those that have arrived.
    public var knownLogs = 0
    /// The number of changes of records that have been joined since the import began.
    public var changes = 0
    /// The number of changes in the joined logs and in the next ones; the numbers in later logs are not known yet.
    public var knownChanges = 0
}

/// The progress of a store's imports, for any number of observers: first the present value, then each step.
///
/// A slow observer misses steps, but never the last one.
public struct ImportProgressSequence: AsyncSequence, Sendable {
    /// The element of the sequence.
    public typealias Element = ImportProgress
    /// The sequence ends when the store closes, and never fails.
    public typealias Failure = Never

    package let broadcast: Broadcast<ImportProgress>

    package init(broadcast: Broadcast<ImportProgress>) { self.broadcast = broadcast }

    /// Begins to observe.
    public func makeAsyncIterator() -> AsyncStream<ImportProgress>.Iterator { broadcast.subscribe().makeAsyncIterator() }
}

extension Broadcast<ImportProgress> {
    /// Changes the present value, and tells observers if it differs.
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
    /// Begins to join logs; `here` is the number of further logs that have arrived.
    ///
    /// The counts start at zero if no import was running.
    mutating func begin(_ logs: [ReadyLog], here: Int) {
        if !isImporting { self = ImportProgress(isImporting: true) }
        knownLogs = self.logs + logs.count + here
        knownChanges = Self.count(of: logs, from: changes)
    }

    /// Begins to join a number of logs at once.
    mutating func begin(logs count: Int) {
        if !isImporting { self = ImportProgress(isImporting: true) }
        knownLogs = max(knownLogs, logs + count)
    }

    /// Counts a number of logs that have been joined at once.
    mutating func finish(logs count: Int) { logs += count }

    /// Counts logs that have been joined.
    mutating func finish(_ logs: some Collection<ReadyLog>) {
        self.logs += logs.count
        changes = Self.count(of: logs, from: changes)
    }

    /// Returns the sum of the changes in logs, limited to the largest `Int`: a log can state any number.
    private static func count(of logs: some Collection<ReadyLog>, from start: Int) -> Int {
        logs.reduce(start) { count, log in
            let (sum, isTooGreat) = count.addingReportingOverflow(Int(clamping: log.log.header.changes))
            return isTooGreat ? .max : sum
        }
    }
}
