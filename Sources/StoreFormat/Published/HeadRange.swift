/// A range of consecutive heads of a publisher, for which it keeps one bundle a channel.
///
/// A range of level *k* holds 16^k heads, and begins after a multiple of them: level 0 is one head, level 1 is 16 of them.
package struct HeadRange: Hashable, Sendable, Comparable {
    /// The level, from 0.
    package let level: Int
    /// The place of the range among those of its level, from 0.
    package let index: Int64

    package init(level: Int, index: Int64) { (self.level, self.index) = (level, index) }

    /// Reads a range from its ends.
    ///
    /// Returns nil if no level has such a range.
    package init?(after: Int64, last: Int64) {
        guard after >= 0, last > after, last <= Self.lastHead else { return nil }
        guard let level = (0...Self.lastLevel).first(where: { Self.size($0) == last - after }), after % Self.size(level) == 0 else { return nil }
        self.init(level: level, index: after / Self.size(level))
    }

    /// The number of ranges of a level that one of the next holds.
    package static let fan: Int64 = 16
    /// The greatest number of a head.
    package static let lastHead: Int64 = 999_999_999_999
    /// The greatest level, of which one range can hold all heads.
    package static let lastLevel = 10

    /// The number of heads in a range of a level.
    private static func size(_ level: Int) -> Int64 { (0..<level).reduce(1) { size, _ in size * fan } }

    /// The number of heads.
    package var size: Int64 { Self.size(level) }
    /// The head after which the range begins.
    package var after: Int64 { index * size }
    /// The last head of the range.
    package var last: Int64 { after + size }

    /// The ranges of the level below that make up this one; none for level 0.
    package var parts: [HeadRange] {
        guard level > 0 else { return [] }
        return (0..<Self.fan).map { HeadRange(level: level - 1, index: index * Self.fan + $0) }
    }

    /// Compares by level, then by place.
    package static func < (left: Self, right: Self) -> Bool { (left.level, left.index) < (right.level, right.index) }

    // MARK: What a head lists

    /// Returns the ranges that end with a head, the lowest level first: the bundles that are made for it.
    package static func ending(at head: Int64) -> [HeadRange] {
        (0...lastLevel).prefix { head % size($0) == 0 }.map { HeadRange(level: $0, index: head / size($0) - 1) }
    }

    /// Returns the ranges whose bundles a head lists.
    ///
    /// A head lists the last ranges of each level: at least 16, and at most 31. A reader that is *d* heads behind fetches
    /// O(log *d*) of them, which hold O(*d*) heads together.
    ///
    /// - Parameters:
    ///   - head: the number of the head.
    ///   - floor: the last head that no reader needs a bundle of any more.
    /// - Returns: the ranges, in order.
    package static func listed(at head: Int64, above floor: Int64 = 0) -> [HeadRange] {
        (0...lastLevel).flatMap { level -> [HeadRange] in
            let end = head / size(level)
            let begin = max(0, (head / size(level + 1) - 1) * fan)
            return (begin..<max(begin, end)).map { HeadRange(level: level, index: $0) }.filter { $0.last > floor }
        }
    }

    /// Returns the ranges that a reader fetches to get from one head to another.
    ///
    /// A range may begin before the reader's head; what the reader has taken in already changes nothing.
    ///
    /// - Parameters:
    ///   - start: the head that the reader has taken in.
    ///   - head: the head to get to.
    ///   - ranges: the ranges that the head lists.
    /// - Returns: the ranges, the oldest first; nil if there is no bundle of the oldest heads any more.
    package static func cover(from start: Int64, to head: Int64, among ranges: some Sequence<HeadRange>) -> [HeadRange]? {
        var covering: [HeadRange] = []
        var position = start
        let ranges = ranges.filter { $0.last <= head }
        while position < head {
            let holding = ranges.filter { $0.after <= position && position < $0.last }
            let fitting = holding.filter { $0.after == position }.max()
            guard let next = fitting ?? holding.min() else { return nil }
            covering.append(next)
            position = next.last
        }
        return covering
    }
}
