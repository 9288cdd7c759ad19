package import Foundation

/// An opaque value that is equal exactly for one account on one device.
///
/// It is nil while signed out, and can be archived: store it, and compare it at the next launch.
public struct UbiquityIdentityToken: Hashable, Codable, Sendable {
    private let value: UUID

    package init(_ value: UUID) { self.value = value }

    /// Reads an archived token.
    ///
    /// - Parameter decoder: a decoder for data that `encode(to:)` has written.
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(UUID.self)
    }

    /// Archives the token as one value.
    ///
    /// - Parameter encoder: an encoder for a single value.
    /// - Throws: the encoder's error.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}
