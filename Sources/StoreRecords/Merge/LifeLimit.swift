internal import StoreFormat

/// How far a record can have lived, as a history of logs tells: what is beyond has been lived by nobody.
///
/// Each step from one life to the next is a save in some peer's log. So many logs bound the lives of every record, and a forged one leaves room above it: the
/// save that brings a record back is in a log of its own, with which the limit has grown by more than that save takes. What one store has taken in, and goes on
/// from, is therefore within the limit of every other, and no honest log or baseline is refused for what a forged one has said.
package struct LifeLimit {
    /// What one log adds: each of its saves ends one life of a record at most, and begins another.
    static let perLog = 2 * LogMerger.mostSaves

    /// Lives are never that many; from there to what a log can name there is room.
    private static let greatest: Int64 = 1 << 60

    /// How many logs have been written, of whichever peer.
    private var logs: Int64 = 0

    /// The limit of a history.
    init(_ knowledge: Knowledge) {
        for peer in Set(knowledge.heads.keys).union(knowledge.holes.keys) {
            add(max(knowledge.sequence(of: peer), knowledge.holes[peer]?.lazy.map(\.sequence).max() ?? 0))
        }
    }

    /// Adds logs to the history.
    mutating func add(_ count: Int64) { logs = min(logs + min(max(0, count), Self.greatest), Self.greatest) }

    /// The greatest life that a record can have.
    var last: Int64 {
        let (lives, isTooGreat) = Self.perLog.multipliedReportingOverflow(by: logs + 1)
        return isTooGreat ? Self.greatest : min(lives, Self.greatest)
    }

    /// Whether a life goes on from what is known of its record, or is within the limit.
    func allows(_ life: Int64, after known: Int64) -> Bool { life <= max(last, known + 2) }

    static let fault = LogFault.damaged("it holds a record of more lives than can have been lived")
}
