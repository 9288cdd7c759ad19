internal import StoreFormat
internal import StoreRecords

/// The rounds of one import: each plans and joins logs, and then looks at baselines; another follows while there is more.
struct ImportRounds: Sendable {
    /// Whether the logs that are here are still to be joined.
    private(set) var isFirst = true
    /// Whether logs at which their author was retired are passed over: only where nothing else helps, and until that has helped.
    private(set) var isPassing = false
    private var hasPassed = false
    /// Whether there may be more that is ready.
    private(set) var isFull = false
    /// Whether somebody has read a log under this store's identifier that it does not remember.
    private(set) var isForked = false
    /// The baselines that have not been considered, best last.
    private var candidates: [BaselineShelf.News] = []
    private(set) var knowsOthers = true

    /// Baselines have been found; those that hold most are considered first.
    mutating func consider(_ news: [BaselineShelf.News], knowsOthers: Bool) {
        (candidates, self.knowsOthers) = (news.sorted { ($0.lag, $0.id) < ($1.lag, $1.id) }, knowsOthers)
    }

    /// The next baseline to consider.
    mutating func nextCandidate() -> BaselineShelf.News? { candidates.popLast() }

    /// The baselines have been looked at before any log.
    mutating func endFirst() { isFirst = false }

    /// Logs have been planned.
    mutating func planned(ready: Int, isFull: Bool, isForked: Bool) {
        (self.isFull, self.isForked) = (isFull || isPassing && ready > 0, isForked)
        (hasPassed, isPassing) = (isPassing, false)
    }

    /// A log has been refused, and others behind it wait.
    mutating func refused() { isFull = true }

    /// Whether logs may be passed over in the next round, for nothing else has helped.
    func mayPass(_ peers: PeerDirectory, _ shelf: BaselineShelf) -> Bool { !hasPassed && !peers.waiting.isEmpty && !shelf.awaitsLogs }

    mutating func pass() { isPassing = true }
}
