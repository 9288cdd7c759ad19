internal import COpenSSL

/// A public key for Ed25519 signatures (RFC 8032).
package struct PublicKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The 32 bytes of the key.
    ///
    /// Any 32 bytes are a key. A signature under bytes that are no point of the curve is never valid.
    private let stored: ContentHash

    /// The 32 bytes of the key.
    package var bytes: [UInt8] { stored.bytes }

    /// Creates a key from 32 bytes.
    ///
    /// Returns nil for another count.
    package init?(bytes: some Collection<UInt8>) {
        guard let stored = ContentHash(bytes: bytes) else { return nil }
        self.stored = stored
    }

    /// Reads the 52 digits of a key in base 32.
    ///
    /// Returns nil for anything else.
    package init?(_ text: some StringProtocol) {
        guard let bytes = Base32.decode(text) else { return nil }
        self.init(bytes: bytes)
    }

    /// The 52 digits of the key in base 32.
    package var description: String { Base32.encode(bytes) }

    package static func < (left: Self, right: Self) -> Bool { left.stored < right.stored }

    /// Returns whether a signature is this key's for a message.
    ///
    /// OpenSSL verifies without the cofactor and refuses an S that is not below the group order. Test vectors pin its
    /// answers, because readers that differ on a crafted signature would show different records.
    package func isValid(_ signature: Signature, for message: [UInt8]) -> Bool {
        guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, 32) else { return false }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { fatalError("OpenSSL has no memory for a signature") }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
        return EVP_DigestVerify(context, signature.bytes, signature.bytes.count, message, message.count) == 1
    }
}

/// A private key for Ed25519 signatures.
///
/// No description, report or error shows its bytes.
package struct PrivateKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The 32 secret bytes.
    package let bytes: [UInt8]
    /// The key that verifies.
    package let publicKey: PublicKey

    /// Creates a random key.
    package init() {
        // The generator reads the kernel's random bytes (getrandom(2)).
        var generator = SystemRandomNumberGenerator()
        self.init(bytes: (0..<32).map { _ in .random(in: 0...255, using: &generator) })!
    }

    /// Creates a key from its 32 secret bytes.
    ///
    /// Returns nil for another count.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, bytes, 32) else {
            fatalError("OpenSSL has no Ed25519, or no memory for it")
        }
        defer { EVP_PKEY_free(key) }
        var (own, count) = ([UInt8](repeating: 0, count: 32), 32)
        guard EVP_PKEY_get_raw_public_key(key, &own, &count) == 1, let publicKey = PublicKey(bytes: own) else {
            fatalError("OpenSSL could not compute a public key")
        }
        (self.bytes, self.publicKey) = (bytes, publicKey)
    }

    /// Returns the signature of a message.
    package func signature(for message: [UInt8]) -> Signature {
        guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, bytes, 32), let context = EVP_MD_CTX_new() else {
            fatalError("OpenSSL has no memory for a signature")
        }
        defer {
            EVP_PKEY_free(key)
            EVP_MD_CTX_free(context)
        }
        var (signature, count) = ([UInt8](repeating: 0, count: Signature.size), Signature.size)
        guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1, EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        else { fatalError("OpenSSL could not sign") }
        return Signature(bytes: signature)!
    }

    package var description: String { "the private key of \(publicKey)" }
    package var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}

/// A signature of Ed25519.
package struct Signature: Hashable, Sendable {
    /// The number of bytes.
    package static let size = 64
    /// The 64 bytes.
    package let bytes: [UInt8]

    /// Creates a signature from 64 bytes.
    ///
    /// Returns nil for another count.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = Array(bytes)
    }
}
