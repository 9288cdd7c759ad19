/// The name of an account: a user's identity, as used in paths.
public struct AccountName: Hashable, Sendable, CustomStringConvertible {
    /// The name as given.
    public let description: String

    /// Makes a name after checking its form.
    ///
    /// - Parameter name: one path component of at most 200 bytes: no slash, no control character, no leading dot. It
    ///   must not be `local`, the name for the peers of a device that is signed out.
    /// - Throws: `ContainerError` with `invalidName`; its message names the fault.
    public init(_ name: String) throws(ContainerError) {
        if let fault = PathComponentRule.fault(in: name) {
            throw ContainerError(.invalidName, "The account name \(name.debugDescription) \(fault); choose one like alice@example.org.")
        }
        if !name.utf8.allSatisfy({ $0 < 0x80 }) {
            // File systems disagree about whether two spellings of such a letter are one name.
            throw ContainerError(
                .invalidName, "The account name \(name.debugDescription) contains letters outside ASCII; choose one like alice@example.org.")
        }
        if name == PeerIdentifier.localAccount {
            throw ContainerError(.invalidName, "The account name “local” is reserved for being signed out; choose another.")
        }
        description = name
    }
}

/// The rules for a name that is a directory in a container's path on all of the user's devices.
package enum PathComponentRule {
    /// The longest name, in bytes of UTF-8; it leaves room for `~<uuid>` within NAME_MAX (255).
    package static let longest = 200

    /// Returns the fault of a name, or nil.
    package static func fault(in name: String) -> String? {
        if name.isEmpty { return "is empty" }
        if name.utf8.count > longest { return "is longer than \(longest) bytes" }
        if name.hasPrefix(".") { return "begins with a dot" }
        if name.hasSuffix(".nosync") { return "ends in .nosync, which is never synced" }
        if name.utf8.contains(UInt8(ascii: "/")) { return "holds a slash" }
        if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) { return "holds a control character" }
        return nil
    }
}
