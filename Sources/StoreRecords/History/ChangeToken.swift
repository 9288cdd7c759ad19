internal import Foundation
internal import StoreFormat

/// A position in the history of a store file: the changes after it are those that its holder has not seen.
///
/// An app stores a token with whatever it has derived from the store, and continues there at its next launch. The token
/// belongs to one store file. A store refuses a token of another file, such as that of another account or of a file that
/// has been rebuilt, and a token whose changes are no longer kept.
///
/// ```swift
/// let changes = try await store.changes(since: token)
/// …
/// UserDefaults.standard.set(changes.token.description, forKey: "token")
/// ```
public struct ChangeToken: Sendable, Hashable, LosslessStringConvertible {
    private static let version: UInt8 = 1

    /// The file's identity: 16 random bytes.
    let file: [UInt8]
    /// The number of the last change before the position.
    let number: Int64
    /// The mark of the transaction that has this change.
    ///
    /// A file that was restored from a backup gives its numbers a second time, to other transactions.
    let mark: Int64

    init(file: [UInt8], number: Int64, mark: Int64) {
        self.file = file
        self.number = number
        self.mark = mark
    }

    /// Reads the text of a token.
    ///
    /// - Parameter description: the text; the result is nil if it is not exactly that of a token.
    public init?(_ description: String) {
        let padding = String(repeating: "=", count: (4 - description.utf8.count % 4) % 4)
        let text = description.replacing("-", with: "+").replacing("_", with: "/") + padding
        guard let data = Data(base64Encoded: text) else { return nil }
        let bytes = [UInt8](data)
        var reader = WireReader(bytes[...])
        guard bytes.count == 37, try! reader.byte() == Self.version, Self.checksum(bytes.prefix(33)) == Array(bytes.suffix(4)) else { return nil }
        let file = Array(try! reader.take(16))
        self.init(file: file, number: Int64(bitPattern: try! reader.little()), mark: Int64(bitPattern: try! reader.little()))
        guard self.description == description else { return nil }
    }

    /// The token as text: ASCII letters, digits, `-` and `_`.
    public var description: String {
        var writer = WireWriter(reserving: 37)
        writer.byte(Self.version)
        writer.raw(file)
        writer.little(UInt64(bitPattern: number))
        writer.little(UInt64(bitPattern: mark))
        writer.raw(Self.checksum(writer.bytes[...]))
        return Data(writer.bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] { Array(ContentHash(of: Array(bytes)).bytes.prefix(4)) }
}

extension ChangeToken: Codable {
    /// Reads the text of a token.
    ///
    /// - Parameter decoder: the source.
    /// - Throws: `DecodingError` if the text is not that of a token.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let token = ChangeToken(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is not a token of changes, or it is damaged.")
        }
        self = token
    }

    /// Writes the token as text.
    ///
    /// - Parameter encoder: the destination.
    /// - Throws: the encoder's errors.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
