/// How long the first half of a move, and all later events, wait for the second half.
///
/// The kernel raises both halves together if both directories are watched. If one half stays alone for a moment, the
/// entry therefore came from outside or went outside. Times are nanoseconds of the monotonic clock.
struct MovePatience {
    /// How long no event may arrive before a half counts as alone.
    static let quiet: Int64 = 3_000_000
    /// The longest wait of a half, even if events arrive meanwhile.
    static let most: Int64 = 100_000_000

    private var since: Int64?
    /// The time at which the waiting half counts as alone; nil while none waits.
    private(set) var until: Int64?

    /// Records that events were read while a half waits for the other half.
    ///
    /// - Parameters:
    ///   - isSame: Whether this half was already waiting.
    ///   - now: The time of the read.
    mutating func wait(isSame: Bool, at now: Int64) {
        let since = isSame ? self.since ?? now : now
        self.since = since
        until = min(now + Self.quiet, since + Self.most)
    }

    /// Records that no half waits any more.
    mutating func end() { (since, until) = (nil, nil) }
}
