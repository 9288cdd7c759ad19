internal import Foundation

/// The limits of a key-value store, which are Cocoa's.
public enum KeyValueLimits {
    /// The greatest number of keys.
    public static let keys = 1_024
    /// The greatest size of all keys and values together, in bytes: 1 MiB.
    ///
    /// A key counts its bytes in UTF-8. A string counts its bytes in UTF-8, a number 8 bytes, and any other value the
    /// bytes of its binary property list.
    public static let size = 1_048_576
    /// The greatest length of a key, in bytes of UTF-8.
    public static let keyLength = 64

    /// Returns the form of a key under which the store keeps it: texts that Swift compares as equal are one key.
    ///
    /// - Throws: ``KeyValueError`` with `invalidKey`.
    static func checked(_ key: String) throws(KeyValueError) -> String {
        let normal = key.utf8.allSatisfy { $0 < 0x80 } ? key : key.precomposedStringWithCanonicalMapping
        guard !normal.utf8.contains(0) else {
            throw KeyValueError(.invalidKey, "The key \(key.debugDescription) contains a NUL character; use another key.", path: key)
        }
        guard normal.utf8.count <= keyLength else {
            throw KeyValueError(
                .invalidKey, "The key \(key.debugDescription) has \(normal.utf8.count) bytes; use one of at most \(keyLength) bytes of UTF-8.",
                path: key)
        }
        return normal
    }
}
