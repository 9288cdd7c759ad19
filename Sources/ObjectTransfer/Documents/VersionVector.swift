/// Which edits a version of a document contains: for each device, how many of its edits.
///
/// One version supersedes another if it contains all its edits. Two versions of which neither does are in conflict.
package struct VersionVector: Hashable, Sendable, Codable {
    package private(set) var counts: [TransferDevice: Int64]

    /// The greatest count, and the greatest number of devices, that a bulletin may name.
    package static let greatest: Int64 = 1 << 53
    package static let mostDevices = 10_000

    package init() { counts = [:] }

    /// Creates a vector; nil if a count is not positive or too large.
    package init?(_ counts: [TransferDevice: Int64]) {
        guard counts.count <= Self.mostDevices, counts.values.allSatisfy({ (1...Self.greatest).contains($0) }) else { return nil }
        self.counts = counts
    }

    package var isEmpty: Bool { counts.isEmpty }

    /// Whether this contains all edits that another one contains.
    package func contains(_ other: Self) -> Bool { other.counts.allSatisfy { counts[$0.key, default: 0] >= $0.value } }

    /// The edits of both.
    package func joined(_ other: Self) -> Self {
        var joined = self
        joined.counts.merge(other.counts) { max($0, $1) }
        return joined
    }

    /// These edits and a new one of a device.
    package func advanced(by device: TransferDevice) -> Self {
        var next = self
        next.counts[device] = min((counts[device] ?? 0) + 1, Self.greatest)
        return next
    }

    /// These edits without the last one of a device.
    func without(lastOf device: TransferDevice) -> Self {
        var former = self
        if let count = counts[device] { former.counts[device] = count > 1 ? count - 1 : nil }
        return former
    }

    /// The number of edits.
    var total: Int64 { counts.values.reduce(0) { $0 &+ $1 } }
}
