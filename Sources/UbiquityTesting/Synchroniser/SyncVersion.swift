/// How often each device has changed a file: a version vector (Parker and others, 1983), as Syncthing keeps for every
/// file.
struct SyncVersion: Hashable, Sendable {
    /// The order of two versions.
    enum Order: Sendable {
        case same, older, newer
        /// Each has a change that the other lacks.
        case apart
    }

    /// By device; a missing device has changed nothing.
    private var counts: [Int: Int] = [:]

    /// Records a change by a device.
    mutating func note(_ device: Int) { counts[device, default: 0] += 1 }

    /// Returns the order relative to another version.
    func order(to other: SyncVersion) -> Order {
        let isBehind = other.counts.contains { $0.value > counts[$0.key, default: 0] }
        let isAhead = counts.contains { $0.value > other.counts[$0.key, default: 0] }
        return switch (isBehind, isAhead) {
        case (false, false): .same
        case (true, false): .older
        case (false, true): .newer
        case (true, true): .apart
        }
    }

    /// Returns the least version that includes both versions.
    func joined(with other: SyncVersion) -> SyncVersion {
        var joined = self
        joined.counts.merge(other.counts, uniquingKeysWith: max)
        return joined
    }
}
