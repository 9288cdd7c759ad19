package import Foundation

/// A reading of a hybrid logical clock: 48 bits of milliseconds since 1970, then a 16-bit counter within a millisecond.
///
/// It never runs backwards on a peer, and is above every reading that the peer has seen, however wrong the wall clocks
/// are (Kulkarni et al., "Logical Physical Clocks", 2014).
package struct HybridTime: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package init(milliseconds: Int64, counter: UInt16 = 0) {
        rawValue = milliseconds << 16 | Int64(counter)
    }

    package init(_ date: Date) {
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded(.down)))
    }

    /// The least time, for seeded values and NULLs in insertions, so that they never win over an edit.
    package static let least = HybridTime(rawValue: 0)

    /// The latest plausible time, 2200-01-01T00:00:00Z.
    ///
    /// A log with a later stamp is quarantined: its writer's clock is wrong, and its stamps would win for ever.
    package static let latest = HybridTime(milliseconds: 7_258_118_400_000)

    /// Returns whether a store that has seen stamps up to another can accept this stamp.
    ///
    /// Beyond ``latest``, the stamp must be close to those already seen. A store that has accepted one of the last
    /// plausible stamps still writes above it.
    package func isPlausible(after seen: HybridTime) -> Bool {
        let day: Int64 = 86_400_000 << 16
        return self <= Self.latest || (seen.rawValue < .max - day && rawValue <= seen.rawValue + day)
    }

    package var date: Date { Date(timeIntervalSince1970: Double(rawValue >> 16) / 1000) }

    /// Returns the reading for a new event: the wall time, or just above the latest reading seen.
    ///
    /// A wall clock beyond ``latest`` is ignored, because no peer would accept its stamps, or any later ones.
    package static func next(after seen: HybridTime, wall: HybridTime) -> HybridTime {
        HybridTime(rawValue: max(wall <= latest ? wall.rawValue : 0, seen.rawValue + 1))
    }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
