/// A signed file: a payload, the key that signs, and the signature.
///
/// It contains magic bytes (8), the format (1 byte), the kind (1 byte), the public key (32 bytes), the length of the
/// payload (4 bytes, little-endian), the payload, and the signature (64 bytes). The file's hash covers all bytes before
/// the signature, and the signature covers the kind, the container and that hash. Nothing is encoded again to verify it.
package struct Envelope: Hashable, Sendable {
    /// What a signed file is about.
    package enum Kind: UInt8, CaseIterable, Sendable {
        case policy = 1
        case account = 2
        case enrolment = 3
        case admittance = 4
        case baseline = 5
        case receipt = 6
        case head = 7

        /// The name of the kind in the signed message.
        var name: String {
            switch self {
            case .policy: "policy"
            case .account: "account"
            case .enrolment: "enrolment"
            case .admittance: "admittance"
            case .baseline: "baseline"
            case .receipt: "receipt"
            case .head: "head"
            }
        }
    }

    /// The first byte and the line ends tell programs that convert text that this file is not text.
    package static let magic: [UInt8] = [0x89] + Array("UBSIG".utf8) + [0x0D, 0x0A]
    /// The size in bytes of the largest signed file that is read.
    package static let limit = 1 << 24
    private static let format: UInt8 = 1
    private static let headSize = 8 + 1 + 1 + 32 + 4

    /// What the payload is.
    package let kind: Kind
    /// The key that signs.
    package let signer: PublicKey
    /// The payload as it is stored.
    package let payload: ArraySlice<UInt8>
    /// The hash of the bytes before the signature.
    package let hash: ContentHash
    /// The signature.
    package let signature: Signature

    /// Reads a signed file without verifying the signature.
    ///
    /// - Parameter bytes: the whole file.
    /// - Throws: `LogFault`.
    package init(decoding bytes: [UInt8]) throws(LogFault) {
        guard bytes.starts(with: Self.magic) else {
            throw .damaged(bytes.count < Self.magic.count ? "it is truncated" : "it is not a signed file")
        }
        guard bytes.count >= Self.headSize + Signature.size else { throw .damaged("it is truncated") }
        guard bytes[8] == Self.format else { throw .newer("it has format \(bytes[8])") }
        guard let kind = Kind(rawValue: bytes[9]) else { throw .newer("it is of kind \(bytes[9])") }
        let length = bytes[42..<46].reversed().reduce(0) { $0 << 8 | Int($1) }
        let end = bytes.count - Signature.size
        guard length == end - Self.headSize else {
            throw .damaged(length > end - Self.headSize ? "it is truncated" : "it has bytes after its signature")
        }
        self.kind = kind
        signer = PublicKey(bytes: bytes[10..<42])!
        payload = bytes[Self.headSize..<end]
        hash = ContentHash(of: bytes[..<end])
        signature = Signature(bytes: bytes[end...])!
    }

    /// Whether the signature is the signer's, in a container.
    package func isGenuine(in container: ScopeIdentifier) -> Bool {
        signer.isValid(signature, for: SignedMessage(kind.name, hash, in: container).bytes)
    }
}

extension Envelope {
    /// The bytes of a signed file before its signature.
    package struct Draft: Hashable, Sendable {
        private let kind: Kind
        private let bytes: [UInt8]
        /// The hash of the signed file.
        package let hash: ContentHash

        package init(_ kind: Kind, _ payload: [UInt8], by signer: PublicKey) {
            var writer = WireWriter(reserving: Envelope.headSize + payload.count + Signature.size)
            writer.raw(Envelope.magic)
            writer.byte(Envelope.format)
            writer.byte(kind.rawValue)
            writer.raw(signer.bytes)
            withUnsafeBytes(of: UInt32(payload.count).littleEndian) { writer.raw($0) }
            writer.raw(payload)
            self.kind = kind
            bytes = writer.bytes
            hash = ContentHash(of: bytes)
        }

        /// Returns the whole file.
        ///
        /// - Parameters:
        ///   - key: the private key of the signer that the draft names.
        ///   - container: the container that the file is for.
        /// - Returns: the bytes of the file.
        package func signed(with key: PrivateKey, in container: ScopeIdentifier) -> [UInt8] {
            bytes + key.signature(for: SignedMessage(kind.name, hash, in: container).bytes).bytes
        }
    }
}

/// What a signature covers: the kind of a file, the container that it is for, and the hash of its bytes.
package struct SignedMessage: Hashable, Sendable {
    /// `ubiquity/<kind>/1`, a zero byte, the container's identifier (32 bytes), and the hash (32 bytes).
    package let bytes: [UInt8]

    package init(_ kind: String, _ hash: ContentHash, in container: ScopeIdentifier) {
        bytes = Array("ubiquity/\(kind)/1".utf8) + [0] + container.hash.bytes + hash.bytes
    }
}
