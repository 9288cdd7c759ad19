/// How long the first half of a move, and all that was raised after it, waits for the second half.
///
/// The kernel raises both halves at once where both directories are watched, so that a half which stays alone for a moment is whole: the entry came from
/// outside, or went there. Times are nanoseconds of the monotonic clock.
struct MovePatience {
    /// How long nothing must be read before a half counts as alone.
    static let quiet: Int64 = 3_000_000
    /// How long a half waits at most, whatever is read meanwhile.
    static let most: Int64 = 100_000_000

    private var since: Int64?
    /// When the half that waits counts as alone; nil while none waits.
    private(set) var until: Int64?

    /// Something was read, and a half waits for its other.
    ///
    /// - Parameters:
    ///   - isSame: Whether it is the half that waited before.
    ///   - now: When it was read.
    mutating func wait(isSame: Bool, at now: Int64) {
        let since = isSame ? self.since ?? now : now
        self.since = since
        until = min(now + Self.quiet, since + Self.most)
    }

    /// No half waits any more.
    mutating func end() { (since, until) = (nil, nil) }
}
