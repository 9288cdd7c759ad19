internal import COpenSSL

/// Makes the hash of bytes that come one after the other.
///
/// OpenSSL computes it, with the processor's instructions for SHA-256 where it has them.
package final class ContentHasher {
    private let context: OpaquePointer

    /// The algorithm, looked up once, because OpenSSL searches its providers for it.
    ///
    /// Nothing changes it afterwards, and OpenSSL lets threads share it (EVP_MD_fetch(3)).
    nonisolated(unsafe) private static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

    /// Begins a hash.
    package init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex2(context, Self.algorithm, nil) == 1 else {
            fatalError("OpenSSL has no SHA-256, or no memory for it")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Takes in the next bytes.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else { fatalError("OpenSSL could not hash bytes") }
    }

    /// Takes in the next bytes.
    package func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    /// The hash of all bytes so far.
    package var value: ContentHash {
        let copy = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(copy) }
        return withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { bytes in
            guard EVP_MD_CTX_copy_ex(copy, context) == 1, EVP_DigestFinal_ex(copy, bytes.baseAddress, nil) == 1 else {
                fatalError("OpenSSL could not finish a hash")
            }
            return ContentHash(bytes: UnsafeRawBufferPointer(bytes))!
        }
    }
}
