/// A log: an immutable file that holds one or several saves of one peer.
///
/// It contains magic bytes (8), the length of the header (4 bytes, little-endian), the header, and the body up to the
/// end. The name contains the hash of all bytes.
package struct LogFile: Sendable {
    /// The first byte and the line ends tell programs that convert text that this file is not text.
    package static let magic: [UInt8] = [0x89] + Array("UBLOG".utf8) + [0x0D, 0x0A]

    /// The size in bytes of the largest log that is read.
    ///
    /// A small device lacks the memory to check a larger one.
    package static let limit = 1 << 30

    /// The author, the predecessor and the knowledge of the log.
    package let header: LogHeader
    /// The changes.
    package let body: ArraySlice<UInt8>

    /// The log without its changes.
    var withoutBody: LogFile { LogFile(header: header) }

    private init(header: LogHeader) { (self.header, body) = (header, []) }

    package static func encode(_ header: LogHeader, body: [UInt8]) -> [UInt8] {
        let head = header.encoded()
        var writer = WireWriter(reserving: magic.count + 4 + head.count + body.count)
        writer.raw(magic)
        withUnsafeBytes(of: UInt32(head.count).littleEndian) { writer.raw($0) }
        writer.raw(head)
        writer.raw(body)
        return writer.bytes
    }

    /// Reads the bytes of a log, whatever the name of its file.
    ///
    /// - Parameter bytes: the whole file.
    /// - Throws: `LogFault`.
    package init(decoding bytes: [UInt8]) throws(LogFault) {
        guard bytes.starts(with: Self.magic) else {
            throw .damaged(bytes.count < Self.magic.count ? "it is truncated" : "it is not a log")
        }
        let start = Self.magic.count + 4
        guard bytes.count >= start else { throw .damaged("it is truncated") }
        var length = 0
        for byte in bytes[Self.magic.count..<start].reversed() { length = length << 8 | Int(byte) }
        guard length <= bytes.count - start else { throw .damaged("it is truncated") }
        header = try LogHeader(decoding: bytes[start..<start + length])
        body = bytes[(start + length)...]
    }

    /// Returns the end of the header in bytes, or nil if the bytes do not begin a log or are too few.
    package static func headerEnd(of bytes: some Collection<UInt8>) -> Int? {
        let start = magic.count + 4
        guard bytes.count >= start, bytes.starts(with: magic) else { return nil }
        return start + bytes.dropFirst(magic.count).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Reads the bytes of a log and checks them against the file's name.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - name: the name of the file.
    /// - Throws: `LogFault`, also if hash or sequence differ.
    package init(decoding bytes: [UInt8], named name: LogFileName) throws(LogFault) {
        guard ContentHash(of: bytes) == name.hash else {
            throw .damaged("its bytes do not have the hash in its name: it is truncated, altered, or still arriving")
        }
        try self.init(decoding: bytes)
        guard header.sequence == name.sequence else { throw .damaged("its header has the sequence \(header.sequence)") }
    }
}
