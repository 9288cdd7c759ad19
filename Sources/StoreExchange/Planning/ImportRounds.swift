internal import StoreFormat
internal import StoreRecords

/// The rounds of one import.
///
/// Each round plans and joins logs, and then looks at baselines. Another round follows while there may be more.
struct ImportRounds: Sendable {
    /// Whether the logs in the container have not been joined yet.
    private(set) var isFirst = true
    /// Whether logs at which their author was retired are passed over.
    ///
    /// This begins only if nothing else helps, and ends after it has helped.
    private(set) var isPassing = false
    private var hasPassed = false
    /// Whether more logs may be ready.
    private(set) var isFull = false
    /// Whether a peer has read a log under this store's identifier that the store does not remember.
    private(set) var isForked = false
    /// The baselines that have not been considered, the best one last.
    private var candidates: [BaselineShelf.News] = []
    private(set) var knowsOthers = true

    /// Records the baselines that were found; those that hold most are considered first.
    mutating func consider(_ news: [BaselineShelf.News], knowsOthers: Bool) {
        (candidates, self.knowsOthers) = (news.sorted { ($0.lag, $0.id) < ($1.lag, $1.id) }, knowsOthers)
    }

    /// Returns the next baseline to consider.
    mutating func nextCandidate() -> BaselineShelf.News? { candidates.popLast() }

    /// Records that the baselines have been examined before the first log.
    mutating func endFirst() { isFirst = false }

    /// Records the plan of logs.
    mutating func planned(ready: Int, isFull: Bool, isForked: Bool) {
        (self.isFull, self.isForked) = (isFull || isPassing && ready > 0, isForked)
        (hasPassed, isPassing) = (isPassing, false)
    }

    /// Records that a log has been refused and that others behind it wait.
    mutating func refused() { isFull = true }

    /// Returns whether the next round may pass over logs, because nothing else has helped.
    func mayPass(_ peers: PeerDirectory, _ shelf: BaselineShelf) -> Bool { !hasPassed && !peers.waiting.isEmpty && !shelf.awaitsLogs }

    mutating func pass() { isPassing = true }
}
