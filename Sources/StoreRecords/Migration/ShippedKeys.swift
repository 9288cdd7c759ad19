internal import ContentHashing

/// The keys of rows that an app ships: UUIDs of version 8 that are made from a name and an old key (RFC 9562, section
/// 5.8).
struct ShippedKeys: Sendable {
    var name: String
    var table: String
    /// The greatest old key of a shipped row.
    var last: Int64

    /// Returns the new key of a row; nil if the app did not ship it.
    func key(_ old: Int64) -> String? {
        guard old <= last else { return nil }
        // The length separates the name from the table, and the last colon separates the table from the number.
        let hash = ContentHash(of: Array("\(name.utf8.count):\(name)\(table.lowercased()):\(old)".utf8))
        let (high, low) = (Self.word(hash.bytes[..<8]), Self.word(hash.bytes[8..<16]))
        return KeySequence.text(high & ~0xF000 | 0x8000, low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
