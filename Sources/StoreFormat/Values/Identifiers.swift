/// Identifies a container with a scope: the hash of its first policy.
public struct ScopeIdentifier: Hashable, Sendable, LosslessStringConvertible {
    /// The hash of the first policy.
    package let hash: ContentHash

    package init(_ hash: ContentHash) { self.hash = hash }

    /// Reads the 52 digits of an identifier in base 32.
    ///
    /// Returns nil for anything else.
    public init?(_ text: String) {
        guard let hash = Base32.decode(text).flatMap({ ContentHash(bytes: $0) }) else { return nil }
        self.init(hash)
    }

    /// The 52 digits of the identifier in base 32.
    public var description: String { Base32.encode(hash.bytes) }
}

/// Identifies an account of a container with a scope: the hash of its first statement.
public struct AccountIdentifier: Hashable, Comparable, Sendable, LosslessStringConvertible {
    /// The hash of the account's first statement.
    package let hash: ContentHash

    package init(_ hash: ContentHash) { self.hash = hash }

    /// Reads the 52 digits of an identifier in base 32.
    ///
    /// Returns nil for anything else.
    public init?(_ text: String) {
        guard let hash = Base32.decode(text).flatMap({ ContentHash(bytes: $0) }) else { return nil }
        self.init(hash)
    }

    /// The 52 digits of the identifier in base 32.
    public var description: String { Base32.encode(hash.bytes) }

    /// Orders accounts by the bytes of their hashes.
    public static func < (left: Self, right: Self) -> Bool { left.hash < right.hash }
}

/// Identifies a statement: the hash of its file without the signature.
///
/// The hash covers the key that signs. A copy of a statement under another key is another statement.
package struct StatementIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let hash: ContentHash

    package init(_ hash: ContentHash) { self.hash = hash }

    package var description: String { hash.description }

    package static func < (left: Self, right: Self) -> Bool { left.hash < right.hash }
}

/// A set of registers with one authority.
package enum Domain: Hashable, Comparable, Sendable {
    /// The tables that role holders write. The authority is the container's steward.
    case roles
    /// The records of one account in contributed tables. The authority is the account's identity key.
    case slice(AccountIdentifier)
}
