package import ContentHashing
package import Foundation

/// `format.json`: the format of a remote, and a random identifier by which a device knows that it is still the same remote.
package struct Canary: Hashable, Sendable {
    package var identifier: UUID

    package init() { identifier = UUID() }
    package init(identifier: UUID) { self.identifier = identifier }

    private struct Wire: Codable {
        var format: Int
        var identifier: String
    }

    private static let format = 1
    /// The greatest number of bytes.
    package static let limit = 4096

    package var encoded: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try! [UInt8](encoder.encode(Wire(format: Self.format, identifier: identifier.uuidString.lowercased())))
    }

    /// Reads a canary.
    ///
    /// - Parameter bytes: the bytes of `format.json`.
    /// - Throws: ``Bulletin/Fault``.
    package init(decoding bytes: [UInt8]) throws(Bulletin.Fault) {
        guard bytes.count <= Self.limit, let wire = try? JSONDecoder().decode(Wire.self, from: Data(bytes)) else {
            throw .malformed("it is no JSON of a remote's format")
        }
        guard wire.format <= Self.format else { throw .newerFormat(wire.format) }
        guard wire.format == Self.format, let identifier = UUID(uuidString: wire.identifier) else { throw .malformed("it has no identifier") }
        self.init(identifier: identifier)
    }
}

/// The paths of a remote.
package enum RemoteLayout {
    package static let canary = "format.json"
    package static let news = "news"
    package static let files = "files"
    package static let blobs = "blobs"

    package static func path(of bulletin: BulletinName) -> String { "\(news)/\(bulletin)" }
    package static func path(of file: TransferPath) -> String { "\(files)/\(file)" }

    /// The object of a piece of a document.
    package static func path(ofPiece hash: ContentHash) -> String {
        let name = hash.description
        return "\(blobs)/\(name.prefix(2))/\(name)"
    }
}
