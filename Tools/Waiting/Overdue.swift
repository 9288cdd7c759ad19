/// A wait has reached its limit.
package struct Overdue: Error, CustomStringConvertible {
    /// The awaited thing.
    package var what: String
    /// The limit, and the time that has passed.
    package var limit: Duration, time: QuietTime
    /// The observations until then; empty if there were none.
    package var seen: String
    /// The place of the wait.
    package var place: String

    /// Makes the error of a wait that has ended without success.
    package init(_ what: String, limit: Duration, time: QuietTime, seen: String, place: String) {
        (self.what, self.limit, self.time, self.seen, self.place) = (what, limit, time, seen, place)
    }

    /// The complete error in one sentence.
    package var description: String {
        "\(place) has waited \(time.wall.inSeconds), \(time.passed.inSeconds) of a quiet machine's, for \(what). It has seen \(seen.isEmpty ? "nothing" : seen)."
    }
}

extension Duration {
    /// The duration in seconds, with one decimal.
    fileprivate var inSeconds: String {
        let tenths = (components.seconds * 10) + (components.attoseconds / 100_000_000_000_000_000)
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
