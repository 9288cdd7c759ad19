package import Foundation

/// What a device knows of one file: here, in the cloud, and on the way.
package struct TransferRecord: Hashable, Sendable {
    /// What the device has done and not told yet.
    package enum Untold: Hashable, Sendable {
        case uploaded(FileDigest)
        case removed
    }

    /// The file as it was last found on this device.
    package var local: FileDigest?
    /// Whether it still is there; false after it has vanished.
    package var isHere = false
    /// Whether it was missing in two looks at the device, between which nothing else vanished beside it.
    package var isMissed = false
    /// The bytes whose upload has begun and not ended.
    package var intent: FileDigest?
    package var untold: Untold?
    /// The devices that have uploaded it, with what they say of it.
    package var vouches: [TransferDevice: FileDigest] = [:]
    /// The devices that say that it is gone for good.
    package var withdrawn: Set<TransferDevice> = []
    /// When this device told that it is gone; the object stays for a while from then on.
    package var doomed: Date?

    package init() {}

    /// Whether nothing is known of the file any more.
    var isEmpty: Bool { !isHere && local == nil && intent == nil && untold == nil && vouches.isEmpty && withdrawn.isEmpty && doomed == nil }

    /// The version that most devices vouch for; of equally many, the least hash.
    var vouched: FileDigest? {
        let counts = vouches.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        return counts.min { ($1.value, $0.key.hash) < ($0.value, $1.key.hash) }?.key
    }
}
