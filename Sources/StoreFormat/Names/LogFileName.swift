/// The name of a log's file: `<sequence>.<content hash>.ublog`.
///
/// The sequence has twelve digits, so that names sort as numbers do.
package struct LogFileName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of the log among its peer's logs in this epoch, from 1.
    package let sequence: Int64
    /// The hash of the file's bytes.
    package let hash: ContentHash

    private static let suffix = ".ublog"

    /// Creates a name.
    package init(sequence: Int64, hash: ContentHash) {
        self.sequence = sequence
        self.hash = hash
    }

    /// Creates the name of the log at a position of its author.
    package init(_ position: Knowledge.Position) { self.init(sequence: position.sequence, hash: position.hash) }

    /// Reads a file name.
    ///
    /// Returns nil for anything but the one valid spelling.
    package init?(_ name: some StringProtocol) {
        guard let position = Knowledge.Position(fileName: name, suffix: Self.suffix) else { return nil }
        self.init(position)
    }

    /// Reads a file name; other modules call this directly, and the generic one by its witnesses.
    package init?(_ name: String) {
        guard let position = Knowledge.Position(fileName: name, suffix: Self.suffix) else { return nil }
        self.init(position)
    }

    /// Reads the bytes of a file name, which may be any bytes.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard let position = Knowledge.Position(fileBytes: bytes, suffix: Self.suffix) else { return nil }
        self.init(position)
    }

    /// Compares in the order of the file names.
    package static func < (left: Self, right: Self) -> Bool { left.position < right.position }

    /// The position of the log, for any peer.
    package var position: Knowledge.Position { .init(sequence: sequence, hash: hash) }

    /// The name of the file.
    package var description: String { position.fileName(suffix: Self.suffix) }
}

extension Knowledge.Position {
    private static let digits = 12
    /// The largest sequence that has a name.
    package static let lastSequence: Int64 = 999_999_999_999

    /// Reads `<sequence>.<content hash><suffix>`.
    ///
    /// Returns nil for anything but the one valid spelling.
    init?(fileName name: some StringProtocol, suffix: String) {
        var name = String(name)
        guard let position = name.withUTF8({ Self(fileBytes: UnsafeRawBufferPointer($0), suffix: suffix) }) else { return nil }
        self = position
    }

    /// Reads the bytes of a file name, to list a hundred thousand names quickly.
    init?(fileBytes bytes: UnsafeRawBufferPointer, suffix: String) {
        guard bytes.count == Self.digits + 1 + ContentHash.digits + suffix.utf8.count, bytes[Self.digits] == UInt8(ascii: "."),
            bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8),
            let hash = ContentHash(hexadecimal: UnsafeRawBufferPointer(rebasing: bytes[(Self.digits + 1)...].prefix(ContentHash.digits)))
        else { return nil }
        var sequence: Int64 = 0
        for digit in bytes[..<Self.digits] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            sequence = sequence * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        guard sequence > 0 else { return nil }
        self.init(sequence: sequence, hash: hash)
    }

    /// Returns `<sequence>.<content hash><suffix>`.
    func fileName(suffix: String) -> String {
        let number = String(sequence)
        return String(repeating: "0", count: max(0, Self.digits - number.count)) + number + ".\(hash)" + suffix
    }
}
