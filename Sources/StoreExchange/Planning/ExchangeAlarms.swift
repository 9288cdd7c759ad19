internal import StoreFormat
internal import StoreRecords

/// When there is something to do for a store though nothing happens.
struct ExchangeAlarms: Equatable, Sendable {
    typealias Instant = ContinuousClock.Instant

    /// How long more receipts are awaited before one is looked at.
    static let receiptDelay = Duration.seconds(10)
    /// How long a log may be in no file: its author has removed it, and the baseline for which it did may still be on its way.
    static let passage = Duration.seconds(60)

    /// When logs that wait for more saves go out; what an earlier process left goes out at once.
    private(set) var closing: Instant?
    /// When it is looked at whether logs can be trimmed or others need a baseline; nil where nothing has happened that could say so.
    private(set) var maintenance: Instant?
    /// Until when a file is awaited that holds what others lack; nil where nothing is known to be in none.
    private var strandedUntil: Instant?

    init(at now: Instant) { (closing, maintenance) = (now, now + Self.receiptDelay) }

    /// The first of them; nil for none.
    var next: Instant? { [closing, maintenance].compactMap { $0 }.min() }

    /// A receipt has come: each is a reason to exchange, and none is urgent; whether it is the first, which sets the alarm.
    mutating func noteReceipt(at now: Instant) -> Bool {
        defer { maintenance = maintenance ?? now + Self.receiptDelay }
        return maintenance == nil
    }

    func isClosingDue(at now: Instant) -> Bool { closing.map { $0 <= now } == true }

    /// Everything is sealed, and waits for more saves for a while, or for none where that is nil.
    mutating func sealed(waitingFor delay: Duration?, at now: Instant) { closing = delay.map { closing ?? now + $0 } }

    func isMaintenanceDue(at now: Instant) -> Bool { maintenance.map { $0 <= now } == true }

    mutating func endMaintenance() { maintenance = nil }

    /// Nothing is in no file that others lack.
    mutating func forgetStranded() { strandedUntil = nil }

    /// Says whether what others lack has been in no file for long enough, and sets the alarm where it has not.
    mutating func isStrandedLong(isEager: Bool, at now: Instant) -> Bool {
        let limit = strandedUntil ?? now + Self.passage
        strandedUntil = nil
        if isEager || limit <= now { return true }
        strandedUntil = limit
        maintenance = min(maintenance ?? limit, limit)
        return false
    }
}
