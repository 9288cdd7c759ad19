package import ContentHashing

/// The name of a bulletin: `<device>.<number>.<hash of its bytes>`.
///
/// The number has ten digits, so that the names sort.
package struct BulletinName: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var device: TransferDevice
    package var number: Int64
    package var hash: ContentHash

    /// The largest number.
    package static let last: Int64 = 9_999_999_999

    package init(device: TransferDevice, number: Int64, hash: ContentHash) { (self.device, self.number, self.hash) = (device, number, hash) }

    /// Parses a name in its only valid spelling; nil for any other.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let device = TransferDevice(parts[0]), let number = Int64(parts[1]), (1...Self.last).contains(number),
            let hash = ContentHash(hexadecimal: parts[2])
        else { return nil }
        self.init(device: device, number: number, hash: hash)
        guard description == text else { return nil }
    }

    package var description: String {
        let digits = "\(number)"
        return "\(device).\(String(repeating: "0", count: 10 - digits.count))\(digits).\(hash)"
    }

    package static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}
