internal import Foundation
internal import StoreFormat
internal import StoreRecords
internal import TreeWatching

/// What is recorded of the exchange of one store file.
///
/// Each of its levels counts until it is released, which is when the file is in use no more.
final class ExchangeMetrics: Sendable {
    let recorder: MetricRecorder

    /// Records for a file of the store that a recorder has been made for.
    init(_ store: MetricRecorder) { recorder = store.another() }

    /// How an exchange ended.
    enum ExchangeResult: String {
        /// It has done all that can be done now.
        case completed
        /// The store is suspended, paused, or exchanged for by another process.
        case impossible
        /// It threw an error.
        case failed
    }

    /// Records an exchange that ends now.
    func exchanged(_ result: ExchangeResult, since began: ContinuousClock.Instant) {
        recorder.time(.exchangeDuration, ContinuousClock.now - began, [.outcome: result.rawValue])
    }

    /// Records how many logs wait.
    ///
    /// - Parameters:
    ///   - waiting: the peers whose logs have arrived and wait.
    ///   - unpublished: the number of sealed logs that are not in the container.
    func levels(waiting: [WaitingPeer], unpublished: Int) {
        recorder.set(.waitingLogs, to: waiting.reduce(0) { $0 + $1.logs })
        recorder.set(.unpublishedLogs, to: unpublished)
    }

    /// Records logs that have been published.
    func published(logs: Int, bytes: Int) {
        recorder.count(.publishedLogs, by: logs)
        recorder.count(.publishedBytes, by: bytes)
    }

    /// Records logs that one transaction has imported.
    ///
    /// - Parameters:
    ///   - logs: the logs.
    ///   - began: the start of the transaction, which ends now.
    ///   - now: the time by this device's clock.
    func imported(_ logs: some Collection<ReadyLog>, since began: ContinuousClock.Instant, at now: Date) {
        guard !logs.isEmpty, recorder.isActive else { return }
        recorder.time(.importDuration, ContinuousClock.now - began)
        recorder.count(.importedLogs, by: logs.count)
        recorder.count(.importedBytes, by: logs.reduce(0) { $0 + $1.size })
        // A log without changes, as one that retires a peer, has no stamp.
        for log in logs where log.time > .least { recorder.time(.deliveryDelay, .seconds(now.timeIntervalSince(log.time.date))) }
    }

    /// Records the changes of records by an import.
    func imported(_ changes: RecordChanges) {
        guard recorder.isActive else { return }
        let counts = changes.counts
        recorder.count(.importedChanges, by: counts.inserted, [.change: "inserted"])
        recorder.count(.importedChanges, by: counts.updated, [.change: "updated"])
        recorder.count(.importedChanges, by: counts.deleted, [.change: "deleted"])
    }

    /// Records a baseline that has been joined.
    func joinedBaseline() { recorder.count(.baselines, [.action: "joined"]) }
}
