/// Distinguishes contents of a file without reading them: a digest of inode, modification time and size.
///
/// A rescan compares stamps for equality to find differences.
public struct FileStamp: Sendable, Hashable {
    /// A digest of inode number, modification time and size; 0 while unknown.
    public var content: UInt64
    /// A digest of mode, owner and group.
    public var attributes: UInt32

    /// A stamp that equals no real stamp: the entry's content is unknown.
    public static let unknown = FileStamp(content: 0, attributes: 0)

    /// Makes a stamp from its parts.
    /// - Parameters:
    ///   - content: A digest of inode number, modification time and size.
    ///   - attributes: A digest of mode, owner and group.
    public init(content: UInt64, attributes: UInt32) {
        self.content = content
        self.attributes = attributes
    }

    /// Makes a stamp from the fields of stat(2).
    /// - Parameters:
    ///   - inode: The inode number.
    ///   - modified: The modification time in nanoseconds since 1970.
    ///   - size: The size in bytes.
    ///   - mode: The type and permissions.
    ///   - owner: The user.
    ///   - group: The group.
    public init(inode: UInt64, modified: Int64, size: Int64, mode: UInt32, owner: UInt32, group: UInt32) {
        content = max(1, Self.mix(Self.mix(inode, UInt64(bitPattern: modified)), UInt64(bitPattern: size)))
        attributes = UInt32(truncatingIfNeeded: Self.mix(UInt64(mode) << 32 | UInt64(owner), UInt64(group)))
    }

    private static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let product = (a ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: b ^ 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }
}
