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

/// A device is coded as its identifier, also as a key.
extension TransferDevice: Codable, CodingKeyRepresentable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let device = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "It is no device.")
        }
        self = device
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    package init?(codingKey: some CodingKey) { self.init(codingKey.stringValue) }

    package var codingKey: any CodingKey { Key(stringValue: description) }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }
}
