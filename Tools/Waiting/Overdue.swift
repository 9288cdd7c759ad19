/// A wait came to its limit.
package struct Overdue: Error, CustomStringConvertible {
    /// What was waited for.
    package var what: String
    /// The limit, and the time that has passed.
    package var limit: Duration, time: QuietTime
    /// What was seen until then; empty where nothing was.
    package var seen: String
    /// Where it was waited for.
    package var place: String

    /// A wait that has ended without what it waited for.
    package init(_ what: String, limit: Duration, time: QuietTime, seen: String, place: String) {
        (self.what, self.limit, self.time, self.seen, self.place) = (what, limit, time, seen, place)
    }

    /// All of it in one sentence.
    package var description: String {
        "\(place) has waited \(time.wall.inSeconds), \(time.passed.inSeconds) of a quiet machine's, for \(what). It has seen \(seen.isEmpty ? "nothing" : seen)."
    }
}

extension Duration {
    /// In seconds, with one digit behind the point.
    fileprivate var inSeconds: String {
        let tenths = (components.seconds * 10) + (components.attoseconds / 100_000_000_000_000_000)
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
