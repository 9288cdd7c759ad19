package import Foundation

/// A device that publishes bulletins for an account: a random identifier, which its home keeps.
package struct TransferDevice: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// A UUID in lower case.
    package let description: String

    package init(_ uuid: UUID) { description = uuid.uuidString.lowercased() }

    /// Parses a UUID in lower case.
    package init?(_ text: some StringProtocol) {
        guard let uuid = UUID(uuidString: String(text)), uuid.uuidString.lowercased() == text else { return nil }
        self.init(uuid)
    }

    package static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}
