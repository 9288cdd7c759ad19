internal import CLinux
internal import Foundation
internal import Glibc
internal import SystemPackage

/// What a draft says of its save, in the extended attribute `user.ubiquity.save`; see xattr(7).
///
/// A save exchanges its draft and the item. After a crash the attribute tells whether that was done, and whether what was exchanged is
/// what the save had seen. The attribute stays with the item, where it does no harm.
struct SaveMark: Sendable {
    private static let attribute = "user.ubiquity.save"

    /// The name under which the draft waits for the exchange.
    let name: String
    private let replaced: String

    init(swap: FilePath, replaces stamp: ContentStamp) {
        name = swap.lastComponent?.string ?? ""
        replaced = stamp.digest
    }

    /// Reads the mark of a file or directory; nil if it has none.
    init?(of path: FilePath) {
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = path.withPlatformString { clinux_get_attribute($0, Self.attribute, &bytes, bytes.count) }
        guard count > 0 else { return nil }
        let parts = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "/", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        (replaced, name) = (String(parts[0]), String(parts[1]))
    }

    /// Marks a draft; a file system without attributes keeps none.
    func set(on draft: FilePath) {
        let descriptor = draft.withPlatformString { open($0, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let value = Array("\(replaced)/\(name)".utf8)
        if clinux_set_attribute(descriptor, Self.attribute, value, value.count) == 0 { fsync(descriptor) }
    }

    /// Whether an item is the one that the save has seen.
    func isReplacing(_ stamp: ContentStamp) -> Bool { stamp.digest == replaced }
}
