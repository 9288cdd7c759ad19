/// A log: an immutable file that holds one or several saves of one peer.
///
/// It contains magic bytes (8), the length of the header (4 bytes, little-endian), the header, and the body up to the
/// end. The name contains the hash of all bytes.
///
/// A log with rights ends with a signature (64 bytes), which the hash in the name does not cover. The log can be named,
/// and its successor can name it, before it is signed. Because each log names its predecessor by hash, a valid signature
/// also proves all logs before it.
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
    /// The author's signature, in a published log with rights.
    package let signature: Signature?

    /// The log without its changes.
    var withoutBody: LogFile { LogFile(header: header, signature: signature) }

    private init(header: LogHeader, signature: Signature?) { (self.header, body, self.signature) = (header, [], signature) }

    /// Returns the bytes of a log.
    ///
    /// The bytes of a log with rights lack the signature.
    package static func encode(_ header: LogHeader, body: [UInt8]) -> [UInt8] {
        let head = header.encoded()
        var writer = WireWriter(reserving: magic.count + 4 + head.count + body.count)
        writer.raw(magic)
        withUnsafeBytes(of: UInt32(head.count).littleEndian) { writer.raw($0) }
        writer.raw(head)
        writer.raw(body)
        return writer.bytes
    }

    /// Returns the bytes of a log with rights, with its signature.
    ///
    /// - Parameters:
    ///   - bytes: the log without its signature.
    ///   - hash: the hash of these bytes, which the log's name contains.
    ///   - key: the private key of the author's device.
    ///   - container: the container that the log's rights name.
    /// - Returns: the bytes of the file.
    package static func signed(_ bytes: [UInt8], _ hash: ContentHash, with key: PrivateKey, in container: ScopeIdentifier) -> [UInt8] {
        bytes + key.signature(for: SignedMessage("log", hash, in: container).bytes).bytes
    }

    /// Returns whether the log's signature is a key's, for the container that the log's rights name.
    ///
    /// - Parameters:
    ///   - key: the key of the author's device.
    ///   - hash: the hash in the log's name, which has been checked.
    /// - Returns: false also for a log without rights.
    package func isSigned(by key: PublicKey, _ hash: ContentHash) -> Bool {
        guard let rights = header.rights, let signature else { return false }
        return key.isValid(signature, for: SignedMessage("log", hash, in: rights.container).bytes)
    }

    /// Reads the bytes of a log, whatever the name of its file.
    ///
    /// - Parameter bytes: the whole file.
    /// - Throws: `LogFault`.
    package init(decoding bytes: [UInt8]) throws(LogFault) { try self.init(bytes, hasSignature: true) }

    /// Reads the bytes of a log that a store has sealed and not published, so that a log with rights has no signature yet.
    ///
    /// - Parameter bytes: the whole log.
    /// - Throws: `LogFault`.
    package init(unsigned bytes: [UInt8]) throws(LogFault) { try self.init(bytes, hasSignature: false) }

    private init(_ bytes: [UInt8], hasSignature: Bool) throws(LogFault) {
        guard bytes.starts(with: Self.magic) else {
            throw .damaged(bytes.count < Self.magic.count ? "it is truncated" : "it is not a log")
        }
        let start = Self.magic.count + 4
        guard bytes.count >= start else { throw .damaged("it is truncated") }
        var length = 0
        for byte in bytes[Self.magic.count..<start].reversed() { length = length << 8 | Int(byte) }
        guard length <= bytes.count - start else { throw .damaged("it is truncated") }
        header = try LogHeader(decoding: bytes[start..<start + length])
        guard header.rights != nil, hasSignature else {
            (body, signature) = (bytes[(start + length)...], nil)
            return
        }
        let end = bytes.count - Signature.size
        guard end >= start + length else { throw .damaged("it is truncated: its signature is missing") }
        (body, signature) = (bytes[start + length..<end], Signature(bytes: bytes[end...]))
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
        let log = Result { () throws(LogFault) in try LogFile(decoding: bytes) }
        let end = (try? log.get().signature) == nil ? bytes.endIndex : bytes.endIndex - Signature.size
        guard ContentHash(of: bytes[..<end]) == name.hash else {
            throw .damaged("its bytes do not have the hash in its name: it is truncated, altered, or still arriving")
        }
        self = try log.get()
        guard header.sequence == name.sequence else { throw .damaged("its header has the sequence \(header.sequence)") }
    }
}
