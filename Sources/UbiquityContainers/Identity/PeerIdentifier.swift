public import Foundation

/// One installation of one app on one device under one account: `<account>~<uuid>`.
///
/// Peers are ordered by the bytes of their names, so the order is equal on every device.
public struct PeerIdentifier: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The account part of a name while signed out.
    package static let localAccount = "local"

    /// The text `<account>~<uuid>`, with the uuid in lower case.
    public let description: String

    package init(account: String, uuid: UUID) { description = "\(account)~\(uuid.uuidString.lowercased())" }

    /// Parses `<account>~<uuid>`.
    ///
    /// - Parameter name: the name of a directory or a mark; the result is nil unless it is a peer's name in its only
    ///   valid spelling.
    public init?(_ name: some StringProtocol) {
        var name = String(name)
        guard name.withUTF8({ Self.isName($0) }) else { return nil }
        description = name
    }

    /// The account's name, or `local` while signed out.
    public var account: String { String(description.utf8.dropLast(Self.suffix))! }

    /// The part that distinguishes this peer from the account's other peers.
    public var uuid: UUID { UUID(uuidString: String(description.utf8.suffix(Self.suffix - 1))!)! }

    /// Orders peers by the bytes of their names.
    public static func < (left: Self, right: Self) -> Bool { left.description.utf8.lexicographicallyPrecedes(right.description.utf8) }

    /// The number of bytes after the account.
    private static let suffix = 37

    /// Checks a name without making a UUID, because stores read hundreds of names in each save and import.
    private static func isName(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let start = bytes.count - suffix
        guard start > 0, start <= PathComponentRule.longest, bytes[start] == UInt8(ascii: "~"), bytes[0] != UInt8(ascii: ".") else { return false }
        for index in 0..<start {
            switch bytes[index] {
            case UInt8(ascii: "/"), 0..<0x20, 0x7F...: return false
            default: break
            }
        }
        if bytes[..<start].suffix(7).elementsEqual(".nosync".utf8) { return false }
        for (place, byte) in bytes[(start + 1)...].enumerated() {
            let isDash = place == 8 || place == 13 || place == 18 || place == 23
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): if isDash { return false }
            default: if !isDash || byte != UInt8(ascii: "-") { return false }
            }
        }
        return true
    }
}
