internal import Glibc
package import SystemPackage

/// The SHA-256 hash of a file's bytes.
///
/// A log has it in its name, the next log names it, and a bulletin of the cloud lists it.
public struct ContentHash: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The bytes are stored inline, because there is a hash for every log of a container.
    private let words: Words

    private struct Words: Hashable {
        var first: UInt64 = 0, second: UInt64 = 0, third: UInt64 = 0, fourth: UInt64 = 0
    }

    /// The 32 bytes.
    public var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

    /// Creates a hash from 32 bytes.
    ///
    /// Returns nil for another count.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.init(exactly: bytes)
    }

    /// Creates a hash from 32 bytes in memory, as a column of a database returns them.
    ///
    /// Returns nil for another count.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 32 else { return nil }
        var words = Words()
        withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
        self.words = words
    }

    /// Reads 64 hexadecimal digits in lower case.
    ///
    /// Returns nil for anything else.
    public init?(hexadecimal text: some StringProtocol) {
        var text = String(text)
        guard let hash = text.withUTF8({ Self(hexadecimal: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = hash
    }

    /// Reads 64 hexadecimal digits in lower case.
    ///
    /// It is not generic: a listing of a hundred thousand logs took most of its time in the witnesses of a collection.
    package init?(hexadecimal digits: UnsafeRawBufferPointer) {
        guard digits.count == Self.digits else { return nil }
        var words = Words()
        let isWhole = withUnsafeMutableBytes(of: &words) { bytes in
            var place = 0
            while place < Self.digits {
                guard let high = Self.value(digits[place]), let low = Self.value(digits[place + 1]) else { return false }
                bytes[place / 2] = high << 4 | low
                place += 2
            }
            return true
        }
        guard isWhole else { return nil }
        self.words = words
    }

    /// The number of hexadecimal digits.
    package static let digits = 64

    /// Computes the hash of bytes.
    public init(of data: [UInt8]) {
        let hash = ContentHasher()
        hash.update(data)
        self = hash.value
    }

    /// Computes the hash of bytes.
    package init(of data: ArraySlice<UInt8>) {
        let hash = ContentHasher()
        data.withUnsafeBytes { hash.update($0) }
        self = hash.value
    }

    /// Computes the hash of a regular file, in pieces.
    ///
    /// - Parameter file: the path of the file. A symbolic link is not followed.
    /// - Throws: `Errno`.
    package init(ofFile file: FilePath) throws(Errno) {
        let descriptor = open(file.string, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        defer { close(descriptor) }
        let hash = ContentHasher()
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { piece.deallocate() }
        while true {
            let count = Glibc.read(descriptor, piece.baseAddress!, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Errno(rawValue: errno) }
            if count == 0 { break }
            hash.update(UnsafeRawBufferPointer(rebasing: piece[..<count]))
        }
        self = hash.value
    }

    fileprivate init(exactly bytes: some Collection<UInt8>) {
        var words = Words()
        withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes) }
        self.words = words
    }

    /// Compares by bytes, in the order of file names.
    public static func < (left: Self, right: Self) -> Bool {
        withUnsafeBytes(of: left.words) { first in
            withUnsafeBytes(of: right.words) { second in first.lexicographicallyPrecedes(second) }
        }
    }

    /// The 64 hexadecimal digits.
    public var description: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(64)
        for byte in bytes {
            digits.append(Self.digit(byte >> 4))
            digits.append(Self.digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

/// A hash is coded as its hexadecimal digits.
extension ContentHash: Codable {
    /// Reads the hexadecimal digits.
    ///
    /// - Parameter decoder: the decoder.
    /// - Throws: `DecodingError` for anything else.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let hash = Self(hexadecimal: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "It is no hash of 64 hexadecimal digits.")
        }
        self = hash
    }

    /// Writes the hexadecimal digits.
    ///
    /// - Parameter encoder: the encoder.
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
