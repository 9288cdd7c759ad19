package import Foundation

/// A reading of a hybrid logical clock: 48 bits of milliseconds since 1970, then 16 bits that count within one.
///
/// It never runs backwards on a peer, and is above every reading that the peer has seen, however wrong the wall clocks are
/// (Kulkarni et al., "Logical Physical Clocks", 2014).
package struct HybridTime: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package init(milliseconds: Int64, counter: UInt16 = 0) {
        rawValue = milliseconds << 16 | Int64(counter)
    }

    package init(_ date: Date) {
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded(.down)))
    }

    /// The least of all: what seeded values and NULLs at insert carry, so that they never beat an edit.
    package static let least = HybridTime(rawValue: 0)

    /// 2200-01-01T00:00:00Z.
    ///
    /// A log with a later stamp is quarantined: its writer's clock is broken, and its stamps would win for ever.
    package static let latest = HybridTime(milliseconds: 7_258_118_400_000)

    /// Whether a stamp can be taken in by somebody who has seen stamps up to another.
    ///
    /// Beyond ``latest`` it must go on from what has been seen: whoever took in one of the last good stamps still writes above it.
    package func isPlausible(after seen: HybridTime) -> Bool {
        let day: Int64 = 86_400_000 << 16
        return self <= Self.latest || (seen.rawValue < .max - day && rawValue <= seen.rawValue + day)
    }

    package var date: Date { Date(timeIntervalSince1970: Double(rawValue >> 16) / 1000) }

    /// The reading for a new event: the wall's time, or just above what has been seen.
    ///
    /// A wall clock beyond ``latest`` is not believed: nobody would take in what is written by it, nor anything that is written later.
    package static func next(after seen: HybridTime, wall: HybridTime) -> HybridTime {
        HybridTime(rawValue: max(wall <= latest ? wall.rawValue : 0, seen.rawValue + 1))
    }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
