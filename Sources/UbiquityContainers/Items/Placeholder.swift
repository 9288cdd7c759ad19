internal import ContentHashing
package import Foundation
package import SystemPackage

/// The hidden file that stands for a document whose bytes are elsewhere: `.Letter.txt.ubiquity.nosync`.
///
/// It is JSON, which any program can read. The document's own name stays free: a program that opens it fails with `ENOENT`, and
/// never reads zeros for bytes that are not here. Synchronisers leave the file alone, because its name ends with `.nosync`.
/// Where the document is here too, the placeholder says nothing, and is removed.
package struct Placeholder: Hashable, Sendable, Codable {
    /// The format of the file.
    package static let format = 1
    /// The end of each name.
    package static let suffix = ".ubiquity.nosync"
    /// The greatest number of bytes of a file.
    private static let limit = 64 << 10

    package var format = Placeholder.format
    /// The name of the document.
    package var name: String
    /// The size in bytes; for a package, of all its files.
    package var size: Int64
    /// The hash of the bytes; for a package, of the list of its files.
    package var sha256: String
    /// The time of the document's last change.
    package var modified: Date
    /// Whether the document is a package, a directory that counts as one item.
    package var isPackage: Bool
    /// Whether somebody has evicted it, so that it is not fetched before somebody asks for it.
    package var isEvicted: Bool

    package init(name: String, size: Int64, sha256: String, modified: Date, isPackage: Bool, isEvicted: Bool) {
        (self.name, self.size, self.sha256, self.modified) = (name, size, sha256, modified)
        (self.isPackage, self.isEvicted) = (isPackage, isEvicted)
    }

    private enum CodingKeys: String, CodingKey {
        case format, name, size, sha256, modified
        case isPackage = "package"
        case isEvicted = "evicted"
    }

    /// Whether a name is that of a placeholder.
    package static func isName(_ name: some StringProtocol) -> Bool {
        name.utf8.count > suffix.utf8.count + 1 && name.hasPrefix(".") && name.hasSuffix(suffix)
    }

    /// The path of the placeholder of an item, whether it is there or not.
    ///
    /// A name that has no room for the suffix is replaced by the hash of the name; the file has the whole name.
    package static func path(of item: FilePath) -> FilePath {
        let name = item.lastComponent!.string
        let long = ".\(name)\(suffix)"
        let own = long.utf8.count <= 255 ? long : ".\(ContentHash(of: Array(name.utf8)))\(suffix)"
        return item.removingLastComponent().appending(own)
    }

    /// The bytes: JSON with sorted members.
    package var encoded: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.formatted(Self.time))
        }
        // These members have no value that JSON cannot express.
        return try! [UInt8](encoder.encode(self)) + [UInt8(ascii: "\n")]
    }

    /// Reads the placeholder at a path; blocks for a few system calls.
    ///
    /// The result is nil if there is none, or it cannot be understood. One that was moved has the name that the path says.
    ///
    /// - Parameter path: the path of a placeholder.
    package init?(at path: FilePath) {
        guard let own = path.lastComponent?.string, Self.isName(own), let bytes = try? LinuxFileLayer().read(path, limit: Self.limit) else {
            return nil
        }
        self.init(decoding: bytes, named: own)
    }

    /// Reads a placeholder, and trusts nothing in it.
    ///
    /// - Parameters:
    ///   - bytes: its bytes.
    ///   - own: the name of the file.
    package init?(decoding bytes: [UInt8], named own: String) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in try Date(try decoder.singleValueContainer().decode(String.self), strategy: Self.time) }
        guard var read = try? decoder.decode(Self.self, from: Data(bytes)), read.format == Self.format, read.size >= 0 else { return nil }
        if !Self.isNamed(own, for: read.name) {
            // Somebody has moved it: its own name says which document it is now.
            read.name = String(decoding: own.utf8.dropFirst().dropLast(Self.suffix.utf8.count), as: UTF8.self)
            guard Self.isNamed(own, for: read.name) else { return nil }
        }
        self = read
    }

    /// The time in UTC, to the millisecond.
    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// Whether a name is that of the placeholder of a document.
    private static func isNamed(_ own: String, for document: String) -> Bool {
        guard isName(own), let name = FilePath.Component(document), name.kind == .regular, name.string == document, !isName(document) else {
            return false
        }
        return path(of: FilePath(root: nil, [name])) == FilePath(own)
    }

    /// Reads the placeholder of an item.
    ///
    /// - Parameter item: the item's path.
    /// - Returns: nil if the item is here, or has no placeholder.
    package static func standing(for item: FilePath) -> Placeholder? {
        guard item.lastComponent != nil, let placeholder = Placeholder(at: path(of: item)), (try? LinuxFileLayer().kind(of: item)) == .some(nil)
        else { return nil }
        return placeholder
    }

    /// Returns the item that is elsewhere and of which a path is a part: the path itself, or a package above it.
    ///
    /// - Parameters:
    ///   - path: an absolute path.
    ///   - container: the directory above which nothing is looked for.
    /// - Returns: nil if the item is here, or nothing stands for it.
    package static func item(of path: FilePath, in container: FilePath) -> FilePath? {
        var place = path
        let files = LinuxFileLayer()
        // What is here needs one look.
        guard (try? files.kind(of: place)) == .some(nil) else { return nil }
        while place != container, place.starts(with: container) {
            if (try? files.kind(of: place)) != .some(nil) { return nil }
            if standing(for: place) != nil { return place }
            place.removeLastComponent()
        }
        return nil
    }
}
