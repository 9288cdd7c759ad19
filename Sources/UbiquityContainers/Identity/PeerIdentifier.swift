public import Foundation

/// One installation of one app on one device under one account: `<account>~<uuid>`.
///
/// Peers are ordered by the bytes of their names, alike on every device.
public struct PeerIdentifier: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// What stands for the account while signed out.
    package static let localAccount = "local"

    /// The account's name, or `local` while signed out.
    public let account: String
    /// What tells this peer from the account's others.
    public let uuid: UUID

    package init(account: String, uuid: UUID) {
        self.account = account
        self.uuid = uuid
    }

    /// Reads `<account>~<uuid>`.
    ///
    /// - Parameter name: a directory's or a mark's name; nil is returned for anything but a peer's name in its one spelling.
    public init?(_ name: some StringProtocol) {
        guard let tilde = name.lastIndex(of: "~"), let uuid = UUID(uuidString: String(name[name.index(after: tilde)...])) else { return nil }
        let account = String(name[..<tilde])
        guard PathComponentRule.fault(in: account) == nil, account.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        self.init(account: account, uuid: uuid)
        guard description == name else { return nil }
    }

    /// `<account>~<uuid>`, the uuid in lower case.
    public var description: String { "\(account)~\(uuid.uuidString.lowercased())" }

    /// Orders peers by the bytes of their names.
    public static func < (left: Self, right: Self) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}
