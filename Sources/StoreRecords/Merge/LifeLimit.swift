internal import StoreFormat

/// The largest life that a record can have, given a history of logs.
///
/// Each step from one life to the next is a save in some peer's log. The number of logs therefore limits the lives of
/// every record. A forged life within the limit leaves room above it: the save that brings the record back is in a log
/// of its own, and each log raises the limit by more than that save uses. The lives in one store are therefore within
/// the limit of every other store, and no correct log or baseline is refused because of a forged one.
package struct LifeLimit {
    /// The lives that one log adds.
    ///
    /// Each of its saves ends at most one life of a record, and begins another.
    static let perLog = 2 * LogMerger.mostSaves

    /// A limit that no life reaches.
    ///
    /// Above it, there is room up to the largest number in a log.
    private static let greatest: Int64 = 1 << 60

    /// The number of logs that all peers have written.
    private var logs: Int64 = 0

    /// The limit where the history is not known, as in a public place: an impossible life harms the records of its author
    /// alone.
    package static let widest = LifeLimit(logs: greatest)

    private init(logs: Int64) { self.logs = logs }

    /// Creates the limit for a history.
    init(_ knowledge: Knowledge) {
        for peer in Set(knowledge.heads.keys).union(knowledge.holes.keys) {
            add(max(knowledge.sequence(of: peer), knowledge.holes[peer]?.lazy.map(\.sequence).max() ?? 0))
        }
    }

    /// Adds logs to the history.
    mutating func add(_ count: Int64) { logs = min(logs + min(max(0, count), Self.greatest), Self.greatest) }

    /// The largest life that a record can have.
    var last: Int64 {
        let (lives, isTooGreat) = Self.perLog.multipliedReportingOverflow(by: logs + 1)
        return isTooGreat ? Self.greatest : min(lives, Self.greatest)
    }

    /// Returns whether a life continues the known life of its record, or is within the limit.
    func allows(_ life: Int64, after known: Int64) -> Bool { life <= max(last, known + 2) }

    static let fault = LogFault.damaged("it holds a record with an impossible number of lives")
}
