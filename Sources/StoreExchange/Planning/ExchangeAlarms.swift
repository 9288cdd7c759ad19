internal import StoreFormat
internal import StoreRecords

/// The times at which a store has work without a new event.
struct ExchangeAlarms: Equatable, Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The time for which more receipts are awaited before they are read.
    static let receiptDelay = Duration.seconds(10)
    /// The time for which a log may be in no file.
    ///
    /// Its author has removed it, and the baseline that holds it may still be on its way.
    static let passage = Duration.seconds(60)

    /// The time at which logs that wait for more saves are published.
    ///
    /// Logs that an earlier process left are published at once.
    private(set) var closing: Instant?
    /// The time at which trimming and the needs of other peers are examined; nil if no event gives a reason.
    private(set) var maintenance: Instant?
    /// The time until which the store waits for a file with logs that others lack; nil if no such log is known.
    private var strandedUntil: Instant?

    init(at now: Instant) { (closing, maintenance) = (now, now + Self.receiptDelay) }

    /// The earliest alarm; nil for none.
    var next: Instant? { [closing, maintenance].compactMap { $0 }.min() }

    /// Records that a receipt has arrived, and returns whether it is the first, which sets the alarm.
    ///
    /// Each receipt is a reason to exchange, and none is urgent.
    mutating func noteReceipt(at now: Instant) -> Bool {
        defer { maintenance = maintenance ?? now + Self.receiptDelay }
        return maintenance == nil
    }

    func isClosingDue(at now: Instant) -> Bool { closing.map { $0 <= now } == true }

    /// Records that everything is sealed and waits for more saves; without a delay it does not wait.
    mutating func sealed(waitingFor delay: Duration?, at now: Instant) { closing = delay.map { closing ?? now + $0 } }

    func isMaintenanceDue(at now: Instant) -> Bool { maintenance.map { $0 <= now } == true }

    mutating func endMaintenance() { maintenance = nil }

    /// Records that every log that others lack is in a file.
    mutating func forgetStranded() { strandedUntil = nil }

    /// Returns whether logs that others lack have been in no file for long enough; sets the alarm if not.
    mutating func isStrandedLong(isEager: Bool, at now: Instant) -> Bool {
        let limit = strandedUntil ?? now + Self.passage
        strandedUntil = nil
        if isEager || limit <= now { return true }
        strandedUntil = limit
        maintenance = min(maintenance ?? limit, limit)
        return false
    }
}
